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

/** A time to book, and its free Slot. */
export interface Wanted extends Interval {
  readonly slot: Slot;
}

/** An alternative that the service proposed for a refused Slot, as a wanted time. */
export function wantedOf({ slot, start, end }: Alternative, refused: Slot): Wanted {
  const id = idIn({ reference: slot }, 'Slot') ?? '';
  return { slot: { ...refused, id, start: formatInstant(start), end: formatInstant(end) }, start, end };
}

/** The chosen Slot if it contains the time. Otherwise the service chooses Slots of the Schedule. */
function slotReferenceOf({ slot, start, end }: Wanted): Pick<Appointment, 'slot'> | undefined {
  const time = timeOf(slot);
  return time && contains(time, { start, end }) ? { slot: [{ reference: `Slot/${slot.id}` }] } : undefined;
}

function requestOf(appointment: Appointment, wanted: Wanted, more: NonNullable<Parameters['parameter']>): Parameters {
  const slotReference = slotReferenceOf(wanted);
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'appt-resource', resource: { ...appointment, ...slotReference } },
      ...(slotReference ? [] : [{ name: 'schedule', valueReference: wanted.slot.schedule }]),
      ...more,
    ],
  };
}

/** The services of a free Slot, or else of its Schedule. Services without a name or a coding are left out. */
export function servicesOffered(slot: Slot, schedule: Schedule | undefined): CodeableConcept[] {
  const own = slot.serviceType ?? schedule?.serviceType;
  return listOf(own)
    .filter((concept) => conceptText(concept) !== '' && Array.isArray(concept.coding))
    .map(({ coding, text }) => ({ ...(coding && { coding }), ...(text && { text }) }));
}

/**
 * Whether a free Slot offers the service of an appointment. If neither Slot nor Schedule names a service, all are
 * offered. A service without a coding cannot be compared and fits. The booking service applies the same rule.
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

/** A new patient, as typed by staff. */
export interface NewPatient {
  readonly given: string;
  readonly family: string;
  readonly birthDate: string;
  readonly phone: string;
  readonly email: string;
}

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

const IDENTIFIER_SYSTEM = 'urn:ietf:rfc:3986';

/** The identifier that makes a repeated request idempotent. */
export const identifierOf = (uuid: string) => [{ system: IDENTIFIER_SYSTEM, value: `urn:uuid:${uuid}` }];

/** The search for the resource that was created with this id. */
export const foundBy = (uuid: string): string =>
  `identifier=${encodeURIComponent(`${IDENTIFIER_SYSTEM}|urn:uuid:${uuid}`)}`;

/** The body of `$book` for a booking by telephone. Repeated requests have the same `uuid`. */
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
    // The clinic sends the messages about appointments that it books itself.
    extension: [{ url: artefactUri(config, 'LocalMessages'), valueBoolean: true }],
    start: formatInstant(wanted.start),
    end: formatInstant(wanted.end),
    ...(comment && { comment }),
    ...(service && { serviceType: [service] }),
    participant: [{ actor, status: 'accepted' }],
  };
  return requestOf(appointment, wanted, isKnown ? [] : [{ name: 'patient', resource: patientResource(who) }]);
}

/** A new patient with an identifier that makes repeated requests idempotent. */
export const patientFor = (who: NewPatient, uuid: string): Patient => {
  const { id: _, ...patient } = patientResource(who);
  return { ...patient, identifier: identifierOf(uuid) };
};

interface OnPurpose extends Interval {
  readonly schedule: Schedule;
  readonly who: { readonly id: string; readonly name: string };
  readonly service: CodeableConcept | undefined;
  readonly comment: string;
  /** Id of the booking: equal in repeated requests. */
  readonly uuid: string;
  /** Whether the time may overlap busy time. */
  readonly isOverbooking: boolean;
}

/** The Slot and Appointment of a booking outside bookable slots. Busy time is refused, unless it may be overbooked. */
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
  // Medplum replaces this URL everywhere in the transaction, so the identifier must be a different UUID.
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

/** The moved appointment as `$book` expects it (docs/portals.md), without its new time. */
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

/** The body of `$book` that moves an appointment. */
export function moveRequest(moved: Appointment, patientName: string, wanted: Wanted): Parameters {
  const time = { start: formatInstant(wanted.start), end: formatInstant(wanted.end) };
  return requestOf({ ...movedOf(moved, patientName), ...time }, wanted, []);
}

/** The body of `$book` that moves several appointments together, each to its proposal. */
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

/** A personal offer as it is sent to accept it for the patient. */
export function acceptance({ meta: _, extension: __, ...offer }: Appointment): Appointment {
  return { ...offer, status: 'proposed' };
}

/** The default length of an appointment in a Slot: that of the moved one, or else of the Slot, but at most an hour. */
export function lengthWithin(slot: Interval, moved: Interval | undefined): number {
  return moved ? moved.end - moved.start : Math.min(slot.end - slot.start, 3_600_000);
}
