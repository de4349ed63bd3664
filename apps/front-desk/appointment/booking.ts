import type {
  Appointment,
  BundleEntry,
  CodeableConcept,
  Parameters,
  Patient,
  Schedule,
  Slot,
} from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { idIn, isSameService } from '../../../core/fhir/reference.ts';
import { contains, type Interval } from '../../../core/time/interval.ts';
import { listOf } from '../../../packages/web/elements.ts';
import type { Alternative } from '../../../packages/web/refusal.ts';
import { timeOf } from '../day/entries.ts';
import { conceptText, patientIdOf } from './people.ts';

/** The time that is wanted, and where. */
export interface Wanted extends Interval {
  /** The free Slot that was chosen. */
  readonly slot: Slot;
}

/** A time that the service has proposed instead of another one in a Slot. */
export function wantedOf({ slot, start, end }: Alternative, refused: Slot): Wanted {
  const id = idIn({ reference: slot }, 'Slot') ?? '';
  return { slot: { ...refused, id, start: formatInstant(start), end: formatInstant(end) }, start, end };
}

/** The chosen Slot, if the time lies within it; otherwise the service chooses Slots of its Schedule. */
function positionOf({ slot, start, end }: Wanted): Pick<Appointment, 'slot'> | undefined {
  const time = timeOf(slot);
  return time && contains(time, { start, end }) ? { slot: [{ reference: `Slot/${slot.id}` }] } : undefined;
}

function requestOf(appointment: Appointment, wanted: Wanted, more: NonNullable<Parameters['parameter']>): Parameters {
  const place = positionOf(wanted);
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource: { ...appointment, ...place } },
      ...(place ? [] : [{ name: 'schedule', valueReference: wanted.slot.schedule }]),
      ...more,
    ],
  };
}

/** The services for which a free Slot can be booked: its own, else those of its calendar; only what people can read. */
export function servicesOffered(slot: Slot, schedule: Schedule | undefined): CodeableConcept[] {
  const own = slot.serviceType ?? schedule?.serviceType;
  return listOf(own)
    .filter((concept) => conceptText(concept) !== '' && Array.isArray(concept.coding))
    .map(({ coding, text }) => ({ ...(coding && { coding }), ...(text && { text }) }));
}

/**
 * Whether a free Slot can take an appointment: it offers the same service. Where neither Slot nor calendar names any, all are
 * offered; what is only text cannot be compared. The service decides by the same rule.
 */
export function canTake({ serviceType }: Appointment, slot: Slot, schedule: Schedule): boolean {
  const offered = slot.serviceType ?? schedule.serviceType;
  const wanted = listOf(serviceType).filter(({ coding }) => coding);
  return (
    !Array.isArray(offered) ||
    wanted.length === 0 ||
    wanted.some((concept) => offered.some((other) => isSameService(concept, other)))
  );
}

/** What staff fill in for a new patient. */
export interface NewPatient {
  readonly given: string;
  readonly family: string;
  readonly birthDate: string;
  readonly phone: string;
  readonly email: string;
}

/** A new patient as it is created with the booking. */
function patientResource({ given, family, birthDate, phone, email }: NewPatient): Patient {
  const telecom = [
    ...(phone ? [{ system: 'phone' as const, value: phone }] : []),
    ...(email ? [{ system: 'email' as const, value: email }] : []),
  ];
  return {
    resourceType: 'Patient',
    id: 'patient',
    active: true,
    name: [{ family, given: given.split(/\s+/).filter(Boolean) }],
    ...(birthDate && { birthDate }),
    ...(telecom.length > 0 && { telecom }),
  };
}

/** The system of the identifier by which a booking that is sent twice is made only once. */
const IDENTIFIER_SYSTEM = 'urn:ietf:rfc:3986';

/** The identifier by which what is sent twice is made only once. */
export const identifierOf = (uuid: string) => [{ system: IDENTIFIER_SYSTEM, value: `urn:uuid:${uuid}` }];

/** The search by which what was made with this id is found again. */
export const foundBy = (uuid: string): string =>
  `identifier=${encodeURIComponent(`${IDENTIFIER_SYSTEM}|urn:uuid:${uuid}`)}`;

/**
 * The request that books by telephone.
 *
 * @param who - a patient who has a record, or a new one
 * @param service - what it is for, if the calendar says
 * @param uuid - of this booking: the same however often it is sent
 */
export function bookingRequest(
  wanted: Wanted,
  who: { readonly id: string; readonly name: string } | NewPatient,
  service: CodeableConcept | undefined,
  comment: string,
  uuid: string,
  config: PublicConfig,
): Parameters {
  const isKnown = 'id' in who;
  const actor = isKnown
    ? { reference: `Patient/${who.id}`, display: who.name }
    : { reference: '#patient', display: `${who.given} ${who.family}`.trim() };
  const appointment: Appointment = {
    resourceType: 'Appointment',
    status: 'proposed',
    identifier: identifierOf(uuid),
    // Whom the clinic books, the clinic writes to.
    extension: [{ url: artefactUri(config, 'LocalMessages'), valueBoolean: true }],
    start: formatInstant(wanted.start),
    end: formatInstant(wanted.end),
    ...(comment && { comment }),
    ...(service && { serviceType: [service] }),
    participant: [{ actor, status: 'accepted' }],
  };
  return requestOf(appointment, wanted, isKnown ? [] : [{ name: 'patient', resource: patientResource(who) }]);
}

/** A new patient, with an id that is the same however often it is sent. */
export const patientFor = (who: NewPatient, uuid: string): Patient => {
  const { id: _, ...patient } = patientResource(who);
  return { ...patient, identifier: identifierOf(uuid) };
};

/** What staff book on purpose at a time that nobody offers. */
interface OnPurpose extends Interval {
  readonly schedule: Schedule;
  readonly who: { readonly id: string; readonly name: string };
  readonly service: CodeableConcept | undefined;
  readonly comment: string;
  /** Of this booking: the same however often it is sent. */
  readonly uuid: string;
  /** Whether it may lie on time that is taken. */
  readonly isOverbooking: boolean;
}

/** The Slot and the Appointment that book time which nobody offers; it is refused where taken, unless it may overbook. */
export function onPurpose(wanted: OnPurpose, config: PublicConfig): BundleEntry[] {
  const { schedule, who, service, comment, uuid, isOverbooking } = wanted;
  const marked = {
    identifier: identifierOf(uuid),
    start: formatInstant(wanted.start),
    end: formatInstant(wanted.end),
    ...(isOverbooking && { extension: [{ url: artefactUri(config, 'LocalOverbooking'), valueBoolean: true }] }),
    ...(comment && { comment }),
  };
  const { comment: _, ...ofSlot } = marked;
  // Medplum replaces it wherever it stands in the transaction: the identifier, by which all is found again, is another.
  const fullUrl = `urn:uuid:${crypto.randomUUID()}`;
  const slot: Slot = {
    ...ofSlot,
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${schedule.id}` },
    status: 'busy',
  };
  const calendar = schedule.actor.find(({ reference }) => reference);
  const appointment: Appointment = {
    ...marked,
    resourceType: 'Appointment',
    status: 'booked',
    ...(service && { serviceType: [service] }),
    slot: [{ reference: fullUrl }],
    participant: [
      { actor: { reference: `Patient/${who.id}`, display: who.name }, status: 'accepted' },
      ...(calendar ? [{ actor: calendar, status: 'accepted' as const }] : []),
    ],
  };
  return [
    {
      fullUrl,
      request: { method: 'POST', url: 'Slot', ifNoneExist: foundBy(uuid) },
      resource: slot,
    },
    { request: { method: 'POST', url: 'Appointment', ifNoneExist: foundBy(uuid) }, resource: appointment },
  ];
}

/** What is sent to `$book` again of an appointment that is moved, without its new time (docs/portals.md). */
function movedOf({ id, participant }: Appointment, patientName: string): Appointment {
  const patient = patientIdOf({ resourceType: 'Appointment', status: 'proposed', participant });
  return {
    resourceType: 'Appointment',
    ...(id && { id }),
    status: 'proposed',
    participant: [
      {
        actor: { ...(patient && { reference: `Patient/${patient}` }), ...(patientName && { display: patientName }) },
        status: 'accepted',
      },
    ],
  };
}

/** The request that moves an appointment. */
export function moveRequest(moved: Appointment, patientName: string, wanted: Wanted): Parameters {
  const time = { start: formatInstant(wanted.start), end: formatInstant(wanted.end) };
  return requestOf({ ...movedOf(moved, patientName), ...time }, wanted, []);
}

/** The request that moves several appointments as one, each to what is proposed for it. */
export const moveAllRequest = (
  moved: readonly Appointment[],
  patientName: string,
  proposal: readonly Appointment[],
): Parameters => ({
  resourceType: 'Parameters',
  parameter: moved.map((appointment, index) => {
    const { start, end, slot } = proposal[index] ?? {};
    const time = { ...(start && { start }), ...(end && { end }), ...(slot && { slot }) };
    return { name: 'appt-resource', resource: { ...movedOf(appointment, patientName), ...time } };
  }),
});

/** The request that accepts an offer for its person, as it is. */
export function acceptance({ meta: _, extension: __, ...offer }: Appointment): Appointment {
  return { ...offer, status: 'proposed' };
}

/** How long an appointment in a Slot is: as long as the one that is moved, else as long as the Slot, but at most an hour. */
export function lengthWithin(slot: Interval, moved: Interval | undefined): number {
  return moved ? moved.end - moved.start : Math.min(slot.end - slot.start, 3_600_000);
}
