import type { Bundle, BundleEntry, Identifier, ResourceType } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { requestorQuery, type TagConfig } from '../../fhir/tags.ts';
import { identifierQuery, readsById, type SearchQuery, search, searchByIds } from '../search.ts';
import { inTheWay, takenTimeReads } from '../slots/takings.ts';
import { answersReferredTo } from '../supporting-information.ts';
import type { BookRequest } from './request/request.ts';

/** How many free slots at the time of an appointment are looked at when only its schedule is named. */
export const MOST_OFFERS = 500;

/** How many Slots that are in the way of others are looked at: as many as Medplum finds at once. */
const CONTENDERS = '1000';

const withSchedule: SearchQuery = [
  ['_include', 'Slot:schedule'],
  ['_include:iterate', 'Schedule:actor'],
];

const withSlots: SearchQuery = [
  ['_include', 'Appointment:slot'],
  ['_include', 'Appointment:patient'],
  ['_include:iterate', 'Slot:schedule'],
];

function offers({ schedule, slots, interval }: BookRequest): BundleEntry[] {
  return schedule && interval && slots.length === 0
    ? [
        search('Slot', [
          ['schedule', `Schedule/${schedule.value}`],
          ['status', 'free'],
          ['start', `lt${formatInstant(interval.end)}`],
          ['end', `gt${formatInstant(interval.start)}`],
          ['_sort', 'start'],
          ['_count', String(MOST_OFFERS)],
        ]),
      ]
    : [];
}

/** What may be in the way of the slots, by one search. */
function contenders({ slots, interval }: BookRequest, config: TagConfig): BundleEntry[] {
  return interval && slots.length > 0
    ? [
        search('Slot', [
          ['schedule:Schedule._has:Slot:schedule:_id', slots.map(({ value }) => value).join(',')],
          ...inTheWay(config),
          ['start', `lt${formatInstant(interval.end)}`],
          ['end', `gt${formatInstant(interval.start)}`],
          ['_count', CONTENDERS],
        ]),
      ]
    : [];
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
 * Everything that must be known to decide about a booking, as one batch. It is to be sent with the caller's own
 * credentials: what the caller may not see does not exist for its booking.
 *
 * @param requestor - id of the requestor's profile, whose earlier bookings and patients are looked for
 * @see https://hl7.org/fhir/R4/http.html#transaction
 */
export function bookingReads(
  request: BookRequest,
  requestor: string,
  config: TagConfig & Pick<BookingConfig, 'baseUrl'>,
): Bundle {
  const { appointment, patient, relatedPerson, schedule, replaced, slots, participants } = request;
  const tag = requestorQuery(requestor, config);
  const patientIds = participants.map(({ actor }) => (actor.kind === 'patient' ? actor.id : undefined));
  return {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [
      ...searchByIds(
        'Slot',
        slots.map(({ value }) => value),
        withSchedule,
      ),
      ...searchByIds('Schedule', [schedule?.value], [['_include', 'Schedule:actor']]),
      ...offers(request),
      ...takenTimeReads(request.interval, [], schedule?.value),
      ...contenders(request, config),
      ...readsById('Patient', [...patientIds, patient?.value.id]),
      ...readsById(
        'QuestionnaireResponse',
        answersReferredTo(appointment.value, config.baseUrl).map(({ id }) => id),
      ),
      ...searchByIdentifier('Patient', patient?.value.identifier, tag),
      ...searchByIdentifier('RelatedPerson', relatedPerson?.value.identifier, tag),
      ...searchByIdentifier('Appointment', appointment.value.identifier, tag, withSlots),
      ...searchByIds('Appointment', [appointment.value.id, replaced?.value], withSlots),
    ],
  };
}
