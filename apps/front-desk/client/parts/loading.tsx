import { Loader } from '@mantine/core';
import { Problem } from './problem.tsx';
import type { Loaded } from './use-loaded.ts';
import { useTexts } from './use-texts.ts';

/** The state of loading: outdated, refused, or in progress. */
export function Loading({ of }: { readonly of: readonly (Loaded<object> & { readonly isBehind?: boolean })[] }) {
  const { loading, behind } = useTexts();
  const refusal = of.map((one) => one.refusal).find((one) => one !== undefined);
  return (
    <>
      {of.some(({ isBehind }) => isBehind !== undefined) && (
        <div role="status" className="behind">
          {of.some(({ isBehind }) => isBehind) && <p>{behind}</p>}
        </div>
      )}
      {refusal && <Problem refusal={refusal} onReload={() => of.forEach(({ reload }) => void reload())} />}
      {!refusal && of.some(({ value }) => !value) && <Loader aria-label={loading} />}
    </>
  );
}
