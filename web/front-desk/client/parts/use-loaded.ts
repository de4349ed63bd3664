import { useCallback, useEffect, useRef, useState } from 'react';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';

/** What was loaded, or why it was not. What was loaded before stays while it is loaded again. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly refusal: Refusal | undefined;
  /** When it was loaded, in milliseconds since 1970 UTC. */
  readonly at: number | undefined;
  readonly reload: () => Promise<void>;
}

/**
 * Loads something, and loads it anew when its key changes. An answer that comes after the key has changed is dropped.
 *
 * @param key - says what is loaded
 */
export function useLoaded<T extends object>(key: string, load: () => Promise<T | Refusal>): Loaded<T> {
  const [state, setState] = useState<{ key: string; value?: T; refusal?: Refusal; at?: number }>({ key });
  const current = useRef({ key, load });
  current.current = { key, load };
  const reload = useCallback(async () => {
    const asked = current.current.key;
    const answer = await current.current.load();
    if (asked !== current.current.key) {
      return;
    }
    setState((before) => {
      const kept = before.key === asked ? before : { key: asked };
      return isRefusal(answer) ? { ...kept, refusal: answer } : { key: asked, value: answer as T, at: Date.now() };
    });
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says what is loaded.
  useEffect(() => void reload(), [key, reload]);
  const isCurrent = state.key === key;
  return {
    value: isCurrent ? state.value : undefined,
    refusal: isCurrent ? state.refusal : undefined,
    at: isCurrent ? state.at : undefined,
    reload,
  };
}

/** What was loaded and is watched. */
export interface Watched<T> extends Loaded<T> {
  /** Whether nobody knows at the moment if it still stands so. */
  readonly isBehind: boolean;
}

/** How often a page asks whether something has changed, in milliseconds. */
const PAUSE = 4_000;

/** After how many questions without an answer the page is behind. */
const LOST = 2;

/**
 * Asks again and again, while the page can be seen, whether something has changed.
 *
 * @param key - says what is watched
 * @param look - tells how it stands now, or `undefined` if that is not known
 * @param onChange - called when it stands otherwise than before
 * @returns whether the last answers have not come
 */
export function useWatch(key: string, look: () => Promise<string | undefined>, onChange: () => void): boolean {
  const [isBehind, setBehind] = useState(false);
  const current = useRef({ look, onChange });
  current.current = { look, onChange };
  // biome-ignore lint/correctness/useExhaustiveDependencies: another key is watched from the beginning.
  useEffect(() => {
    let known: string | undefined;
    let isOver = false;
    let lost = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      clearTimeout(timer);
      const isSeen = !document.hidden;
      const seen = isSeen ? await current.current.look() : undefined;
      if (isOver) {
        return;
      }
      if (isSeen) {
        lost = seen === undefined ? lost + 1 : 0;
        setBehind(lost >= LOST);
      }
      if (seen !== undefined && known !== undefined && seen !== known) {
        current.current.onChange();
      }
      known = seen ?? known;
      clearTimeout(timer);
      timer = setTimeout(() => void ask(), PAUSE);
    };
    const askAtOnce = (): void => void (document.hidden || ask());
    document.addEventListener('visibilitychange', askAtOnce);
    void ask();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', askAtOnce);
    };
  }, [key]);
  return isBehind;
}
