import type { Bundle } from '@medplum/fhirtypes';
import { bookableFilter } from '../../core/booking/policy/policy.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { isSuccess, upstreamProblem } from '../medplum/errors.ts';
import type { ServedTypeName } from '../served-types.ts';
import { type CalendarList, MAX_SCHEDULES } from './calendars.ts';
import { type SearchParam, searchIssue } from './parameters/param.ts';
import { isForFree } from './parameters/strings.ts';

/** The Schedule ids in a search for Slots, separated by commas; `undefined` if it names none. */
function scheduleIdsIn(params: readonly SearchParam[]): string | undefined {
  const schedules = params.filter(({ name }) => name === 'schedule').flatMap(({ value }) => value.split(','));
  return schedules.length > 0
    ? schedules.map((reference) => reference.replace(/^Schedule\//, '')).join(',')
    : undefined;
}

/** A search, and its result if it has been carried out. */
interface Narrowed {
  readonly params: readonly SearchParam[];
  readonly found?: Bundle | FhirResponse;
}

/**
 * Narrows a search for free Slots to those that the caller can book now: none of an inactive Schedule, and none that a
 * booking policy would refuse. Medplum evaluates the conditions, so that pages and totals are right. Any other search
 * is left unchanged.
 *
 * The search runs while the policies are read, narrowed by the remembered policies. Its result is used only if the
 * current policies narrow it in the same way.
 *
 * @param params - of a rewritten search, without chains
 * @param find - carries out the narrowed search; without it, nothing is searched
 * @returns the parameters (the same list if nothing is added), or the response to send instead
 */
export async function onlyBookable(
  type: ServedTypeName,
  params: readonly SearchParam[],
  exchange: FhirRequest,
  context: GatewayContext,
  now: number,
  find?: (params: readonly SearchParam[]) => Promise<Bundle | FhirResponse>,
): Promise<Narrowed | FhirResponse> {
  const { caller, upstreamHeaders } = exchange;
  if (type !== 'Slot' || !isForFree(params) || !caller) {
    return { params };
  }
  const { config, calendars } = context;
  const filterBy = ({ schedules, services, rows }: CalendarList): string | undefined =>
    bookableFilter(schedules, services, rows, caller.role, now, config);
  const narrowedBy = (value: string | undefined): readonly SearchParam[] =>
    value ? [...params, { name: '_filter', value }] : params;
  const ids = scheduleIdsIn(params);
  const remembered = find && calendars.recall(ids, upstreamHeaders);
  const rememberedFilter = remembered && filterBy(remembered);
  const [current, found] = await Promise.all([
    calendars.read(ids, upstreamHeaders),
    remembered?.isWhole ? find?.(narrowedBy(rememberedFilter)) : undefined,
  ]);
  if (!('services' in current)) {
    return isSuccess(current) ? problem('bad-gateway') : upstreamProblem(current, config);
  }
  if (!current.isWhole) {
    const diagnostics = `There are more than ${MAX_SCHEDULES} schedules: use the parameter schedule to name those to search.`;
    return refusal([searchIssue('schedule', diagnostics)], config);
  }
  const filter = filterBy(current);
  return { params: narrowedBy(filter), ...(found && filter === rememberedFilter && { found }) };
}
