import { Button } from '@mantine/core';
import { UnsentReason } from '../appointment/actions.tsx';
import { useTexts } from '../parts/use-texts.ts';

/** What is left of a request that was open when it went: what was typed, and the way to what became of it. */
export function Gone({ id, onShow }: { readonly id: string; readonly onShow: () => void }) {
  const { requests: words } = useTexts();
  return (
    <div className="pane">
      <p role="status">{words.gone}</p>
      <UnsentReason id={id} />
      <Button variant="default" onClick={onShow}>
        {words.inCalendar}
      </Button>
    </div>
  );
}
