import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { Location, Mutant } from '@stryker-mutator/api/core';

/** A mutant that behaves as the original does, so that no test can notice it. */
export interface Equivalent {
  /** Relative to the root of the repository. */
  readonly file: string;
  /** The line of the source in which it begins, without indentation. */
  readonly line: string;
  /** What it replaces, up to the end of that line, and by what. */
  readonly from: string;
  readonly to: string;
  /** Why nothing changes. */
  readonly reason: string;
}

/** The equivalents that are known. */
export const equivalents: readonly Equivalent[] = JSON.parse(
  readFileSync(new URL('equivalents.json', import.meta.url), 'utf8'),
);

/**
 * Where a mutant is, in words that survive changes elsewhere in the file.
 *
 * @param location - lines and columns from 0
 */
export function placeOf({ start, end }: Location, source: string): Pick<Equivalent, 'line' | 'from'> {
  const line = source.split('\n')[start.line] ?? '';
  return { line: line.trim(), from: line.slice(start.column, start.line === end.line ? end.column : undefined) };
}

/** Whether a mutant is listed as equivalent. */
export function isEquivalent({ fileName, location, replacement }: Mutant, source: string): boolean {
  const place = placeOf(location, source);
  const file = relative('.', fileName);
  return equivalents.some(
    (known) =>
      known.file === file && known.line === place.line && known.from === place.from && known.to === replacement,
  );
}
