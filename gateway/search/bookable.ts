import type { Bundle, Resource } from '@medplum/fhirtypes';
import { bookableFilter } from '../../core/booking/policy/offers.ts';
import { isResource } from '../../core/fhir/resource.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { isSuccess, upstreamProblem } from '../medplum/errors.ts';
import { isBundle } from '../medplum/public-resources.ts';
import type { ServedTypeName } from '../served-types.ts';
import { type SearchParam, searchIssue } from './parameters/param.ts';

/** Medplum's limit of one page. */
const MOST = 1000;

/** The Schedules that a search for Slots names, if it names any. */
function idsNamed(params: readonly SearchParam[]): string | undefined {
  const named = params.filter(({ name }) => name === 'schedule').flatMap(({ value }) => value.split(','));
  return named.length > 0 ? named.map((one) => one.replace(/^Schedule\//, '')).join(',') : undefined;
}

function pageOf({ entry = [] }: Bundle, index: number): { resources: Resource[]; isWhole: boolean } {
  const page = entry[index]?.resource;
  const found = isResource(page, 'Bundle') ? page : undefined;
  const resources = (found?.entry ?? []).flatMap(({ resource }) => resource ?? []);
  return { resources, isWhole: found !== undefined && !found.link?.some(({ relation }) => relation === 'next') };
}

/** The Schedules and services that the caller may read and whose policies count, in one call. */
function readCalendars(params: readonly SearchParam[], { upstreamHeaders }: FhirRequest, { upstream }: GatewayContext) {
  const ids = idsNamed(params);
  const schedules = new URLSearchParams({ ...(ids && { _id: ids }), _count: String(MOST) });
  const urls = [`Schedule?${schedules}`, `HealthcareService?_count=${MOST}`];
  const entry = urls.map((url) => ({ request: { method: 'GET', url } }));
  return upstream.call({
    method: 'POST',
    path: 'fhir/R4',
    headers: { ...upstreamHeaders, 'content-type': 'application/fhir+json' },
    body: JSON.stringify({ resourceType: 'Bundle', type: 'batch', entry }),
  });
}

/**
 * Narrows a search for free Slots to those that the caller can book now: none of an inactive Schedule, none that a
 * booking policy would refuse. Medplum carries the conditions out, so that
 * pages and totals are right. Every other search stays as it is.
 *
 * @param params - of a rewritten search, without chains
 * @returns the parameters (the same list if nothing is added), or the answer to give instead
 */
export async function onlyBookable(
  type: ServedTypeName,
  params: readonly SearchParam[],
  exchange: FhirRequest,
  context: GatewayContext,
  now: number,
): Promise<readonly SearchParam[] | FhirResponse> {
  const isForFree = params.some(({ name, value }) => name === 'status' && value === 'free');
  const { caller } = exchange;
  if (type !== 'Slot' || !isForFree || !caller) {
    return params;
  }
  const { config } = context;
  const answer = await readCalendars(params, exchange, context);
  if (!isSuccess(answer)) {
    return upstreamProblem(answer, config);
  }
  if (!isBundle(answer.body)) {
    return problem('bad-gateway');
  }
  const [schedules, services] = [pageOf(answer.body, 0), pageOf(answer.body, 1)];
  if (!schedules.isWhole || !services.isWhole) {
    const diagnostics = `There are more than ${MOST} schedules: name those in which you search, by the parameter schedule.`;
    return refusal([searchIssue('schedule', diagnostics)], config);
  }
  const filter = bookableFilter(
    schedules.resources.filter((one) => one.resourceType === 'Schedule'),
    services.resources.filter((one) => one.resourceType === 'HealthcareService'),
    caller.role,
    now,
    config,
  );
  return filter ? [...params, { name: '_filter', value: filter }] : params;
}
