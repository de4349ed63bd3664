import type { BundleEntry, Identifier, ResourceType } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { idIn, isId } from '../../fhir/reference.ts';
import { requestorQuery } from '../../fhir/tags.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../../rows/resource-set.ts';
import { rowSearch } from '../../rows/row.ts';
import { identifierQuery, readsById, type SearchQuery, search, searchByIds, serviceReads } from '../../rows/search.ts';
import type { Interval } from '../../time/interval.ts';
import { isPersonalOffer, offeredFor } from '../appointment/expiry.ts';
import { atTime, inTheWay } from '../appointment/reads.ts';
import type { AppointmentRequest, Leads } from '../request/request.ts';
import { answersReferredTo } from '../request/supporting-information.ts';

/** The most free slots at the time of an appointment that are read when only a schedule is named. */
export const MAX_FREE_SLOTS = 500;

/** The page size of a search with includes: Medplum's maximum of 1000, less the included resources. */
const SLOTS_PER_PAGE = '950';

const withSchedule: SearchQuery = [
  ['_include', 'Slot:schedule'],
  ['_include:iterate', 'Schedule:actor'],
];

export const withSlots: SearchQuery = [
  ['_include', 'Appointment:slot'],
  ['_include', 'Appointment:patient'],
  ['_include:iterate', 'Slot:schedule'],
  ['_include:iterate', 'Schedule:actor'],
];

/** The search for free slots; none if the request names slots, or has no schedule or no time. */
function freeSlotReads({ schedule, slots, interval }: AppointmentRequest): BundleEntry[] {
  return schedule && interval && slots.length === 0
    ? [
        search('Slot', [
          ['schedule', `Schedule/${schedule.value}`],
          ['status', 'free'],
          ...atTime(interval),
          ['_sort', 'start'],
          ['_count', String(MAX_FREE_SLOTS)],
        ]),
      ]
    : [];
}

/**
 * One search for the slots with their schedules and all Slots that may prevent the booking.
 * @param schedules - ids of the schedules, if they are known: they halve Medplum's time for the search
 */
function slotsAt(
  ids: string,
  interval: Interval,
  config: PublicConfig,
  schedules: readonly string[] = [],
): BundleEntry {
  return search('Slot', [
    schedules.length > 0
      ? ['schedule', schedules.map((id) => `Schedule/${id}`).join(',')]
      : ['schedule:Schedule._has:Slot:schedule:_id', ids],
    ...inTheWay(config, ids),
    ...atTime(interval),
    ['_count', SLOTS_PER_PAGE],
    ...withSchedule,
  ]);
}

/** The search for the Slots of the named schedule that may prevent the booking; none without schedule or time. */
function hinderingSlotReads({ schedule, interval }: AppointmentRequest, config: PublicConfig): BundleEntry[] {
  return schedule && interval
    ? [
        search('Slot', [
          ['schedule', `Schedule/${schedule.value}`],
          ...inTheWay(config),
          ...atTime(interval),
          ['_count', '1000'],
        ]),
      ]
    : [];
}

const slotIdsNamed = ({ slots }: AppointmentRequest): string[] => slots.map(({ value }) => value);

/**
 * The search for the rows with the reservations of the request's Schedules. It comes after the searches for Slots, so
 * that a reservation made between the two is seen.
 */
function rowReads(request: AppointmentRequest, leads: Leads | undefined, config: PublicConfig): BundleEntry[] {
  const { schedule } = request;
  const ids = slotIdsNamed(request).filter(isId);
  const known = [...(schedule ? [schedule.value] : []), ...(ids.length > 0 ? (leads?.schedules ?? []) : [])];
  const query: Record<string, string> | undefined =
    known.length > 0
      ? { focus: known.map((id) => `Schedule/${id}`).join(',') }
      : ids.length > 0
        ? { 'focus:Schedule._has:Slot:schedule:_id': ids.join(',') }
        : undefined;
  return query ? [{ request: { method: 'GET', url: rowSearch(['publish'], query, config) } }] : [];
}

const slotsById = (ids: readonly string[]): BundleEntry[] => searchByIds('Slot', ids, withSchedule);

/** The reads for the named slots of a request, by their ids and, if the request has a time, at that time. */
function slotReads(request: AppointmentRequest, leads: Leads | undefined, config: PublicConfig): BundleEntry[] {
  const ids = slotIdsNamed(request).filter(isId);
  return request.interval && ids.length > 0
    ? [slotsAt(ids.join(','), request.interval, config, leads?.schedules)]
    : slotsById(slotIdsNamed(request));
}

function searchByIdentifier(
  type: ResourceType,
  identifiers: readonly Identifier[] | undefined,
  tag: string,
  include: SearchQuery = [],
): BundleEntry[] {
  const query = identifierQuery(identifiers, tag);
  return query ? [search(type, [...query, ...include])] : [];
}

/**
 * The searches for all resources that an appointment to book names, as entries of a batch. They must use the caller's
 * own credentials: resources that the caller may not see do not exist for its booking.
 * @param requestor - id of the requestor's profile; its earlier bookings and patients are searched for
 * @param leads - Schedules and services that the gateway remembers
 */
export function namedReads(
  request: AppointmentRequest,
  requestor: string,
  config: PublicConfig,
  leads?: Leads,
): BundleEntry[] {
  const tag = requestorQuery(requestor, config);
  const { appointment, patient, relatedPerson, schedule, replaced, participants } = request;
  const patientIds = participants.map(({ actor }) => (actor.kind === 'patient' ? actor.id : undefined));
  return [
    ...slotReads(request, leads, config),
    ...searchByIds('Schedule', [schedule?.value], [['_include', 'Schedule:actor']]),
    ...freeSlotReads(request),
    ...hinderingSlotReads(request, config),
    ...rowReads(request, leads, config),
    ...readsById('Patient', [...patientIds, patient?.value.id]),
    ...readsById(
      'QuestionnaireResponse',
      answersReferredTo(appointment.value, config.baseUrl).map(({ id }) => id),
    ),
    ...searchByIdentifier('Patient', patient?.value.identifier, tag),
    ...searchByIdentifier('RelatedPerson', relatedPerson?.value.identifier, tag),
    ...searchByIdentifier('Appointment', appointment.value.identifier, tag, withSlots),
    ...searchByIds('Appointment', [appointment.value.id, ...replaced.map(({ value }) => value)], withSlots),
  ];
}

/** Whether the slots belong to other Schedules than the gateway remembers. */
const isMisled = (request: AppointmentRequest, leads: Leads | undefined, state: ResourceSet): boolean =>
  (leads?.schedules ?? []).length > 0 &&
  slotIdsNamed(request).some((id) => {
    const slot = findResource(state, 'Slot', id);
    return slot !== undefined && !leads?.schedules.includes(idIn(slot.schedule, 'Schedule') ?? '');
  });

/**
 * The searches for related resources that `namedReads` did not find: slots at another time, the appointments and the
 * waitlist entry that a personal offer would replace, and the services of the Schedules.
 * @param state - the resources found so far
 */
export function leadingReads(
  request: AppointmentRequest,
  state: ResourceSet,
  config: PublicConfig,
  leads?: Leads,
): BundleEntry[] {
  const { id } = request.appointment.value;
  const previous = id === undefined ? undefined : findResource(state, 'Appointment', id);
  const isMissing = (type: ResourceType) => (one: string) => !state.has(`${type}/${one}`);
  const offered = previous && isPersonalOffer(previous, config) ? offeredFor(previous, config) : [];
  return [
    ...(isMisled(request, leads, state)
      ? [...slotReads(request, undefined, config), ...rowReads(request, undefined, config)]
      : []),
    ...slotsById(slotIdsNamed(request).filter(isMissing('Slot'))),
    ...searchByIds('Appointment', offered.filter(isMissing('Appointment')), withSlots),
    ...serviceReads(resourcesOfType(state, 'Schedule'), state),
  ];
}
