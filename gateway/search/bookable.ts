import type { Bundle } from '@medplum/fhirtypes';
import { bookableFilter } from '../../core/booking/policy/judge.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { isSuccess, upstreamProblem } from '../medplum/errors.ts';
import type { ServedTypeName } from '../served-types.ts';
import { type CalendarList, MOST } from './calendars.ts';
import { type SearchParam, searchIssue } from './parameters/param.ts';
import { isForFree } from './parameters/strings.ts';

/** The Schedules that a search for Slots names, if it names any. */
function idsNamed(params: readonly SearchParam[]): string | undefined {
  const named = params.filter(({ name }) => name === 'schedule').flatMap(({ value }) => value.split(','));
  return named.length > 0 ? named.map((one) => one.replace(/^Schedule\//, '')).join(',') : undefined;
}

/** A search, and its first page if it has been carried out. */
interface Narrowed {
  readonly params: readonly SearchParam[];
  readonly slots?: Bundle;
}

/**
 * Narrows a search for free Slots to those that the caller can book now: none of an inactive Schedule, and none that a
 * booking policy would refuse. Medplum evaluates the conditions, so that pages and totals are right. Any other search is
 * left unchanged.
 *
 * The search itself is carried out in the call that reads the policies, narrowed by those remembered. What it finds counts
 * only if the policies as they are now narrow it in the same way.
 *
 * @param params - of a rewritten search, without chains
 * @param queryOf - the query to send for the narrowed search; without it, nothing is searched
 * @returns the parameters (the same list if nothing is added), or the answer to give instead
 */
export async function onlyBookable(
  type: ServedTypeName,
  params: readonly SearchParam[],
  exchange: FhirRequest,
  context: GatewayContext,
  now: number,
  queryOf?: (params: readonly SearchParam[]) => string,
): Promise<Narrowed | FhirResponse> {
  const { caller } = exchange;
  if (type !== 'Slot' || !isForFree(params) || !caller) {
    return { params };
  }
  const { config, calendars } = context;
  const narrowedBy = ({ schedules, services, rows }: CalendarList): readonly SearchParam[] => {
    const value = bookableFilter(schedules, services, rows, caller.role, now, config);
    return value ? [...params, { name: '_filter', value }] : params;
  };
  const urlOf = (list: readonly SearchParam[]): string => `Slot?${queryOf?.(list)}`;
  const found = await calendars.read(
    idsNamed(params),
    exchange.upstreamHeaders,
    queryOf && ((remembered) => urlOf(narrowedBy(remembered))),
  );
  if (!('services' in found)) {
    return isSuccess(found) ? problem('bad-gateway') : upstreamProblem(found, config);
  }
  if (!found.isWhole) {
    const diagnostics = `There are more than ${MOST} schedules: use the parameter schedule to name those to search.`;
    return refusal([searchIssue('schedule', diagnostics)], config);
  }
  const narrowed = narrowedBy(found);
  const { searched } = found;
  return { params: narrowed, ...(searched?.url === urlOf(narrowed) && { slots: searched.bundle }) };
}
