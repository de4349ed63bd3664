import type { FhirPathOperation } from './fhirpath-operations.ts';

/**
 * What the operations of one FHIRPath Patch may cost together: elements looked at, each once for every step of a path. A
 * hundred simple operations on an appointment with two hundred elements in lists stay below it.
 */
export const MOST_COST = 100_000;

/** The number of entries in all lists of a JSON value: how many elements a path may have to visit. */
function entriesIn(value: unknown): number {
  let count = 0;
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const one = rest.pop();
    if (typeof one === 'object' && one !== null) {
      const inner: readonly unknown[] = Object.values(one);
      count += Array.isArray(one) ? inner.length : 0;
      for (const child of inner) {
        rest.push(child);
      }
    }
  }
  return count;
}

const stepPattern = /[A-Za-z_][A-Za-z0-9_]*/g;

/**
 * What the paths of a patch cost at most, known before any of them is evaluated.
 *
 * @param document - as it is before the first operation; the values of the operations count, too
 */
export function costOf(document: unknown, operations: readonly FhirPathOperation[]): number {
  const entries = 1 + entriesIn(document) + entriesIn(operations.map(({ value }) => value?.value));
  return operations.reduce((cost, { path }) => cost + (path.match(stepPattern)?.length ?? 0) * entries, 0);
}
