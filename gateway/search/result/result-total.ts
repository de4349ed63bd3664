import type { Bundle } from '@medplum/fhirtypes';
import type { ServedTypeName } from '../../served-types.ts';
import type { SearchParam } from '../parameters/param.ts';
import { MAX_COUNT } from './result-parameters.ts';

/** Whether a search asks only for the number of matches; `_count=0` is the same as `_summary=count`. */
function isCountOnly(params: readonly SearchParam[]): boolean {
  return params.some(
    ({ name, value }) => (name === '_summary' && value === 'count') || (name === '_count' && Number(value) === 0),
  );
}

const accurate: SearchParam = { name: '_total', value: 'accurate' };
const none: SearchParam = { name: '_total', value: 'none' };

const asksForTotal = (params: readonly SearchParam[]): boolean => params.some(({ name }) => name === '_total');

/**
 * Whether counting may cost much more than finding a page: a search for Slots of every Schedule of a clinic. Such a
 * search is counted up to {@link MAX_COUNT}, unless the client asks for the number.
 *
 * @param params - of a search as the client sent it, with its chains
 */
export function isCountedInPart(type: ServedTypeName, params: readonly SearchParam[]): boolean {
  const isNarrow = params.some(({ name }) => name === 'schedule' || name === '_id' || name === 'identifier');
  return type === 'Slot' && !isNarrow && !asksForTotal(params) && !isCountOnly(params);
}

/**
 * Asks Medplum to count, which it does only when told to. A client that wants no count says `_total=none`, or `estimate`.
 *
 * @param params - of a search as Medplum understands it
 * @param isInPart - whether it is counted separately, up to a limit
 * @see https://hl7.org/fhir/R4/search.html#total
 */
export function withTotal(params: readonly SearchParam[], isInPart: boolean): readonly SearchParam[] {
  if (isCountOnly(params)) {
    return [...params.filter(({ name }) => name !== '_total'), accurate];
  }
  return asksForTotal(params) ? params : [...params, isInPart ? none : accurate];
}

/** A client that sends `_count` without a value wants to know how many there are. */
export function countAsked(sent: readonly SearchParam[], queries: readonly string[]): readonly SearchParam[] {
  const isAsked = queries.some((query) => new URLSearchParams(query).get('_count')?.trim() === '');
  return isAsked && !asksForTotal(sent) ? [...sent, accurate] : sent;
}

/** Parameters that shape a page and are not conditions. */
const shape: readonly string[] = ['_count', '_offset', '_cursor', '_sort', '_summary', '_elements', '_fields'];

const isShape = ({ name }: SearchParam): boolean => shape.includes(name) || /^_(rev)?include/.test(name);

/** The search whose first page tells the number of matches, if there are no more than {@link MAX_COUNT}. */
export const countingParams = (params: readonly SearchParam[]): readonly SearchParam[] => [
  ...params.filter((param) => !isShape(param)),
  { name: '_fields', value: 'id' },
  { name: '_count', value: String(MAX_COUNT) },
];

/** The number of all matches, if a page shows it because it is the only one. */
export function totalOf({ entry = [], link = [] }: Bundle, isFirst: boolean): number | undefined {
  const isLast = !link.some(({ relation }) => relation === 'next');
  return isFirst && isLast ? entry.filter(({ search }) => search?.mode !== 'include').length : undefined;
}
