import type { Bundle, BundleEntry, Identifier, ResourceType } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../config/config.ts';
import { idIn, isId, serviceIdsOf } from '../../fhir/reference.ts';
import { requestorQuery } from '../../fhir/tags.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../../rows/resource-set.ts';
import { rowSearch } from '../../rows/row.ts';
import { identifierQuery, readsById, type SearchQuery, search, searchByIds } from '../../rows/search.ts';
import type { Interval } from '../../time/interval.ts';
import { visitGroupOf } from '../../visits/group.ts';
import { isOffer, offeredFor } from '../appointment/expiry.ts';
import { atTime, inTheWay } from '../appointment/reads.ts';
import { type BookRequest, eachOf } from '../request/request.ts';
import { answersReferredTo } from '../request/supporting-information.ts';

/** How many free slots at the time of an appointment are looked at when only a schedule is named. */
export const MOST_OFFERS = 500;

/** How many Slots at a time one search finds: as many as Medplum finds and includes, less what is included. */
const AT_THE_TIME = '950';

const withSchedule: SearchQuery = [
  ['_include', 'Slot:schedule'],
  ['_include:iterate', 'Schedule:actor'],
];

const withSlots: SearchQuery = [
  ['_include', 'Appointment:slot'],
  ['_include', 'Appointment:patient'],
  ['_include:iterate', 'Slot:schedule'],
  ['_include:iterate', 'Schedule:actor'],
];

function offers({ schedule, slots, interval }: BookRequest): BundleEntry[] {
  return schedule && interval && slots.length === 0
    ? [
        search('Slot', [
          ['schedule', `Schedule/${schedule.value}`],
          ['status', 'free'],
          ...atTime(interval),
          ['_sort', 'start'],
          ['_count', String(MOST_OFFERS)],
        ]),
      ]
    : [];
}

/**
 * One search for the slots with their schedules and everything that may be in their way.
 *
 * @param schedules - ids of the schedules, if they are known: it takes Medplum half of the time to find them
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
    ['_count', AT_THE_TIME],
    ...withSchedule,
  ]);
}

/** What may be in the way in a Schedule that is named without slots. */
function takenIn({ schedule, interval }: BookRequest, config: PublicConfig): BundleEntry[] {
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

const named = ({ slots }: BookRequest): string[] => slots.map(({ value }) => value);

/**
 * The search for the rows with the reservations of the Schedules that a request leads to. It comes after those for their
 * Slots: what is reserved between the two is seen.
 */
function rowReads(request: BookRequest, config: PublicConfig): BundleEntry[] {
  const { schedule, leads } = request;
  const ids = named(request).filter(isId);
  const known = [...(schedule ? [schedule.value] : []), ...(ids.length > 0 ? (leads?.schedules ?? []) : [])];
  const query: Record<string, string> | undefined =
    known.length > 0
      ? { focus: known.map((id) => `Schedule/${id}`).join(',') }
      : ids.length > 0
        ? { 'focus:Schedule._has:Slot:schedule:_id': ids.join(',') }
        : undefined;
  return query ? [{ request: { method: 'GET', url: rowSearch(['publish'], query, config) } }] : [];
}

/** The entries of a batch, each once. */
const uniqueEntries = (entries: readonly BundleEntry[]): BundleEntry[] => [
  ...new Map(entries.map((entry) => [entry.request?.url, entry])).values(),
];

/** The search for slots by their ids alone, whatever their time and status. */
const slotsById = (ids: readonly string[]): BundleEntry[] => searchByIds('Slot', ids, withSchedule);

/** The reads for the slots that a request names, by their ids and, where a time is named, at that time. */
function slotReads(request: BookRequest, config: PublicConfig): BundleEntry[] {
  const ids = named(request).filter(isId);
  return request.interval && ids.length > 0
    ? [slotsAt(ids.join(','), request.interval, config, request.leads?.schedules)]
    : slotsById(named(request));
}

/**
 * The search for the slots that a request names and `bookingReads` did not find, because they are not at the time of the
 * appointment or do not exist.
 *
 * @param state - what was found
 */
export const missingSlotReads = (request: BookRequest, state: ResourceSet): BundleEntry[] =>
  slotsById(
    eachOf(request)
      .flatMap(named)
      .filter((id) => !state.has(`Slot/${id}`)),
  );

/**
 * The searches for what an offer would replace and for its waitlist entry, if the request is to accept one; and for what was
 * booked together with the appointments that it moves or replaces.
 */
export function furtherReads(request: BookRequest, state: ResourceSet, config: PublicConfig): BundleEntry[] {
  const found = eachOf(request)
    .flatMap(({ appointment, replaced }) => [appointment.value.id, ...replaced.map(({ value }) => value)])
    .flatMap((id) => (id === undefined ? [] : (findResource(state, 'Appointment', id) ?? [])));
  const offered = found.filter((one) => isOffer(one, config)).flatMap((one) => offeredFor(one, config));
  const groups = [...new Set(found.flatMap((one) => visitGroupOf(one, config) ?? []))];
  const system = artefactUri(config, 'LocalVisitGroup');
  return [
    ...searchByIds('Appointment', offered, withSlots),
    ...groups.map((group) =>
      search('Appointment', [['identifier', `${system}|${group}`], ['_count', '100'], ...withSlots]),
    ),
  ];
}

/** Whether the request leads to other Schedules than those of the slots that it names, so that these must be read anew. */
export const isMisled = (request: BookRequest, state: ResourceSet): boolean =>
  (request.leads?.schedules ?? []).length > 0 &&
  eachOf(request)
    .flatMap(named)
    .some((id) => {
      const slot = findResource(state, 'Slot', id);
      return slot !== undefined && !request.leads?.schedules.includes(idIn(slot.schedule, 'Schedule') ?? '');
    });

/**
 * The services that the Schedules of a request name, if it leads to all of them.
 *
 * @param read - what `leads` gave, read with the caller's rights
 */
export function servicesLedTo({ leads }: BookRequest, state: ResourceSet, read: ResourceSet): ResourceSet | undefined {
  const named = resourcesOfType(state, 'Schedule').flatMap(serviceIdsOf);
  return named.every((id) => leads?.services.includes(id)) ? read : undefined;
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
 * Everything that must be known to decide about a booking, as one batch. It must be sent with the caller's own credentials:
 * what the caller may not see does not exist for its booking.
 *
 * @param requestor - id of the requestor's profile, whose earlier bookings and patients are looked for
 * @see https://hl7.org/fhir/R4/http.html#transaction
 */
export function bookingReads(request: BookRequest, requestor: string, config: PublicConfig): Bundle {
  const tag = requestorQuery(requestor, config);
  const entry = eachOf(request).flatMap((one) => readsOf({ ...one, leads: request.leads }, tag, config));
  return { resourceType: 'Bundle', type: 'batch', entry: uniqueEntries(entry) };
}

/** What must be known to decide about one appointment of a request. */
function readsOf(request: BookRequest, tag: string, config: PublicConfig): BundleEntry[] {
  const { appointment, patient, relatedPerson, schedule, replaced, participants } = request;
  const patientIds = participants.map(({ actor }) => (actor.kind === 'patient' ? actor.id : undefined));
  return [
    ...slotReads(request, config),
    ...searchByIds('Schedule', [schedule?.value], [['_include', 'Schedule:actor']]),
    ...offers(request),
    ...takenIn(request, config),
    ...rowReads(request, config),
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
