import type { SearchParam } from '../parameters/param.ts';

/** Whether a search asks for the number of matches alone; `_count=0` is the same as `_summary=count`. */
function isCountOnly(params: readonly SearchParam[]): boolean {
  return params.some(
    ({ name, value }) => (name === '_summary' && value === 'count') || (name === '_count' && Number(value) === 0),
  );
}

/**
 * Asks Medplum to count, which it does only where it is told to. A client that wants no count says `_total=none`, or
 * `estimate`.
 *
 * @param params - of a search as Medplum understands it
 * @see https://hl7.org/fhir/R4/search.html#total
 */
export function withTotal(params: readonly SearchParam[]): readonly SearchParam[] {
  const accurate: SearchParam = { name: '_total', value: 'accurate' };
  if (isCountOnly(params)) {
    return [...params.filter(({ name }) => name !== '_total'), accurate];
  }
  return params.some(({ name }) => name === '_total') ? params : [...params, accurate];
}
