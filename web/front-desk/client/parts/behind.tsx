import { useTexts } from './use-texts.ts';

/** A message that is shown as long as the page does not learn of changes. */
export function Behind({ isBehind }: { readonly isBehind: boolean }) {
  const { behind } = useTexts();
  return (
    <div role="status" className="behind">
      {isBehind && <p>{behind}</p>}
    </div>
  );
}
