import type { BundleEntry, CodeableConcept, Schedule } from '@medplum/fhirtypes';
import { formatInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference/reference.ts';
import { serviceIdsOf } from '../../fhir/reference/service-reference.ts';
import type { Interval } from '../../time/interval.ts';
import type { BookRequest } from '../book/request/request.ts';
import type { StartBounds } from '../policy/judge.ts';
import { findResource, type ResourceSet } from '../resource-set.ts';
import { type SearchQuery, search } from '../search.ts';

/** How many free Slots of a Schedule are looked at before the wanted time, and how many after it. */
const MOST_SLOTS_READ = '20';

/** How many Schedules of the same service are looked at. */
export const MOST_SCHEDULES = 8;

/**
 * The searches for the free Slots of a Schedule that are nearest to a time: one for those that begin before it, and one for
 * the others.
 *
 * @param bounds - when an appointment may start
 */
export function nearbyReads({ id }: Schedule, wanted: Interval, { earliest, latest }: StartBounds): BundleEntry[] {
  const from = Math.max(wanted.start, earliest);
  const until: SearchQuery = Number.isFinite(latest) ? [['start', `le${formatInstant(latest)}`]] : [];
  const common: SearchQuery = [
    ['schedule', `Schedule/${id}`],
    ['status', 'free'],
    ['_count', MOST_SLOTS_READ],
    ...until,
  ];
  return [
    search('Slot', [
      ...common,
      ['start', `lt${formatInstant(from)}`],
      ['end', `gt${formatInstant(earliest)}`],
      ['_sort', '-start'],
    ]),
    search('Slot', [...common, ['start', `ge${formatInstant(from)}`], ['_sort', 'start']]),
  ];
}

const escapeToken = (value: string): string => value.replace(/[\\,$|]/g, '\\$&');

const tokensOf = (concepts: readonly CodeableConcept[]): string[] =>
  concepts.flatMap(({ coding = [] }) =>
    coding.flatMap(({ system, code }) => (system && code ? `${escapeToken(system)}|${escapeToken(code)}` : [])),
  );

/** The service types that a request asks for: its own, else those of its slots, else those of its schedules. */
function wantedTypes({ appointment, slots }: BookRequest, schedules: readonly Schedule[], state: ResourceSet) {
  const ofSlots = slots.flatMap(({ value }) => findResource(state, 'Slot', value)?.serviceType ?? []);
  const found = [appointment.value.serviceType, ofSlots, schedules.flatMap(({ serviceType = [] }) => serviceType)];
  return found.find((types) => types && types.length > 0) ?? [];
}

/**
 * The searches for other Schedules that are open and offer the same service.
 *
 * @param schedules - those that the request names
 * @param state - what the caller may see of the resources that the request names
 */
export function sameServiceReads(
  request: BookRequest,
  schedules: readonly Schedule[],
  state: ResourceSet,
): BundleEntry[] {
  const actors = schedules.flatMap(({ actor }) => actor.flatMap((one) => idIn(one, 'HealthcareService') ?? []));
  const services = [...new Set([...actors, ...schedules.flatMap(serviceIdsOf)])];
  const types = tokensOf(wantedTypes(request, schedules, state));
  const query: SearchQuery = [
    ['active:not', 'false'],
    ['_include', 'Schedule:actor'],
    ['_sort', '_id'],
    ['_count', String(MOST_SCHEDULES + schedules.length)],
  ];
  return [
    ...(types.length > 0 ? [search('Schedule', [['service-type', types.join(',')], ...query])] : []),
    ...(services.length > 0
      ? [search('Schedule', [['actor', services.map((id) => `HealthcareService/${id}`).join(',')], ...query])]
      : []),
  ];
}
