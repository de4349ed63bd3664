import { useTexts } from './use-texts.ts';

/** Says so as long as the page does not learn of changes. */
export function Behind({ isBehind }: { readonly isBehind: boolean }) {
  const { behind } = useTexts();
  return (
    <div role="status" className="behind">
      {isBehind && <p>{behind}</p>}
    </div>
  );
}
