import { formatInstant } from '../../core/fhir/instant.ts';
import type { ServedTypeName } from '../served-types.ts';
import type { SearchParam } from './parameters/param.ts';

/**
 * The condition added to a search for free Slots without `start`: no past Slots, because they cannot be booked.
 *
 * @param sent - the parameters as the client sent them
 * @param params - the same as Medplum understands them
 * @param now - milliseconds since 1970 UTC
 */
export function upcomingOnly(
  type: ServedTypeName,
  sent: readonly SearchParam[],
  params: readonly SearchParam[],
  now: number,
): readonly SearchParam[] {
  const isForFree = params.some(({ name, value }) => name === 'status' && value === 'free');
  const hasStart = sent.some(({ name }) => name.split(':', 1)[0] === 'start');
  return type === 'Slot' && isForFree && !hasStart ? [{ name: 'start', value: `ge${formatInstant(now)}` }] : [];
}
