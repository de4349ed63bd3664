import { useEffect, useState } from 'react';
import type { Presentation } from '../../clinic/presentation.ts';
import { FRONT_DESK_PATH } from '../../settings.ts';
import { useTexts } from '../parts/use-texts.ts';

/** How long nothing is typed before it is shown, in milliseconds. */
const PAUSE = 300;

/** The portal's first page as patients would see it with what is typed. Nothing in it runs or leads anywhere. */
export function Preview({ typed, bring }: { readonly typed: Presentation; readonly bring: string }) {
  const { clinic: words, language } = useTexts();
  const [page, setPage] = useState('');
  const body = JSON.stringify({ ...typed, bring, language });
  useEffect(() => {
    const ending = new AbortController();
    const show = async (): Promise<void> => {
      const headers = { 'content-type': 'application/json' };
      const { signal } = ending;
      const answer = await fetch(`${FRONT_DESK_PATH}/clinic-preview`, { method: 'POST', headers, body, signal });
      const shown = answer.ok ? await answer.json() : undefined;
      setPage((before) => (typeof shown?.page === 'string' ? shown.page : before));
    };
    const timer = setTimeout(() => void show().catch(() => undefined), PAUSE);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [body]);
  return <iframe className="preview" title={words.preview} srcDoc={page} sandbox="allow-same-origin" />;
}
