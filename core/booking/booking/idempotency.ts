import type { Appointment, AppointmentParticipant, Patient } from '@medplum/fhirtypes';
import { parseInstant } from '../../fhir/instant.ts';
import { idIn, withoutServiceReference } from '../../fhir/reference.ts';
import { belongsTo } from '../../fhir/tags.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../../rows/resource-set.ts';
import { type Calendar, calendarOf, slotIdsOf } from '../../slots/slot.ts';
import type { Interval } from '../../time/interval.ts';
import { ruleOf } from '../appointment/elements.ts';
import { hasEnded, isHolding } from '../appointment/expiry.ts';
import { hasCommonIdentifier } from '../patients/identity.ts';
import type { AppointmentRequest } from '../request/request.ts';
import type { BookingDecision } from './booking-calendar.ts';
import type { ResolvedParticipants } from './resolve-participants.ts';

const patientIds = (participants: readonly AppointmentParticipant[]): string[] =>
  participants.flatMap(({ actor }) => idIn(actor, 'Patient') ?? []);

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  JSON.stringify([...one].sort()) === JSON.stringify([...other].sort());

/** Whether a stored patient has all submitted elements unchanged; `id`, `meta` and `text` do not count. */
function hasSubmittedElements(submitted: Patient, stored: Patient | undefined): boolean {
  const { id: _, meta: __, text: ___, ...elements } = submitted;
  const known: Readonly<Record<string, unknown>> = { ...stored };
  return (
    stored !== undefined &&
    Object.entries(elements).every(([name, value]) => JSON.stringify(value) === JSON.stringify(known[name]))
  );
}

/** Whether the patients are the same. A submitted patient without a known identifier is compared by its elements. */
function isForSamePatients(
  { patient }: AppointmentRequest,
  resolved: ResolvedParticipants,
  booked: Appointment,
  state: ResourceSet,
): boolean {
  const stored = patientIds(booked.participant);
  const isNew = resolved.entries.some(({ resource }) => resource?.resourceType === 'Patient');
  return isNew && patient
    ? stored.some((id) => hasSubmittedElements(patient.value, findResource(state, 'Patient', id)))
    : isSame(stored, patientIds(resolved.participants));
}

/** Whether the slots are the same. A slot that was split in the meantime is recognized by its origin. */
function isInSameSlots({ slots, schedule }: AppointmentRequest, booked: Appointment, calendar: Calendar): boolean {
  const held = slotIdsOf(booked).map((id) => calendar.get(id));
  if (slots.length === 0) {
    return held.every((slot) => slot !== undefined && idIn(slot.resource.schedule, 'Schedule') === schedule?.value);
  }
  const originsOf = (ids: readonly string[]) => [...new Set(ids.map((id) => calendar.get(id)?.origin ?? id))];
  return isSame(originsOf(slotIdsOf(booked)), originsOf(slots.map(({ value }) => value)));
}

/**
 * Whether a request can be a repetition of the one that created an appointment: both have a common identifier or, under
 * the same id, the same elements that a re-submission keeps.
 */
function isRepeated(submitted: Appointment, booked: Appointment): boolean {
  if (submitted.id !== booked.id) {
    return hasCommonIdentifier(booked.identifier, submitted.identifier);
  }
  const plain = ({ serviceType, ...rest }: Appointment) => ({
    ...rest,
    ...(serviceType && { serviceType: serviceType.map(withoutServiceReference) }),
  });
  const known: Readonly<Record<string, unknown>> = plain(booked);
  return Object.entries(plain(submitted)).every(
    ([name, value]) => ruleOf(name).isSetAnew || JSON.stringify(value) === JSON.stringify(known[name]),
  );
}

/** Whether an appointment still has the result of such a request: a running hold, or else booked or pending. */
function isStillBooked(appointment: Appointment, { context: { purpose, now, config } }: BookingDecision): boolean {
  const isBooked = appointment.status === 'booked' || appointment.status === 'pending';
  return purpose === 'hold' ? isHolding(appointment, now, config) : isBooked && !hasEnded(appointment, now, config);
}

/** The caller's appointments that may be the result of an earlier, identical request. */
function candidates(decision: BookingDecision): Appointment[] {
  const { request, state, context } = decision;
  const { value } = request.appointment;
  const isHeldAgain = (appointment: Appointment): boolean => context.purpose === 'hold' && appointment.id === value.id;
  return resourcesOfType(state, 'Appointment')
    .filter((appointment) => isStillBooked(appointment, decision) && !isHeldAgain(appointment))
    .filter(
      (appointment) => belongsTo(appointment, context.requestor, context.config) && isRepeated(value, appointment),
    );
}

const isAt = ({ start, end }: Appointment, interval: Interval | undefined): boolean =>
  parseInstant(start) === interval?.start && parseInstant(end) === interval?.end;

/** Whether an appointment, or a version of it, has the requested time, patients and slots. */
function isAskedFor(
  appointment: Appointment,
  { request, resolved, state }: BookingDecision,
  calendar: Calendar,
): boolean {
  return (
    isAt(appointment, request.interval) &&
    isForSamePatients(request, resolved, appointment, state) &&
    isInSameSlots(request, appointment, calendar)
  );
}

/** The slots of earlier versions, besides the current ones. */
function calendarThen({ stored, known, context: { config } }: BookingDecision): Calendar {
  const slots = known.histories?.slots ?? [];
  return new Map([...calendarOf(slots, config), ...stored]);
}

/** Whether an earlier version matches the request. The appointment has since been moved, or its patient merged. */
function wasAskedFor(appointment: Appointment, decision: BookingDecision): boolean {
  const versions = decision.known.histories?.versions.get(appointment.id ?? '') ?? [];
  const calendar = calendarThen(decision);
  return versions.some((version) => version.status !== 'cancelled' && isAskedFor(version, decision, calendar));
}

const isUnderItsId = ({ request }: BookingDecision, { id }: Appointment): boolean =>
  request.appointment.value.id === id;

/**
 * Finds the appointment that an earlier, identical request created. A requestor that lost the first response gets it
 * again instead of booking twice. Identical requests have the same requestor, a common identifier (or the same id and
 * elements), and the same time, slots and patients. An earlier version of the appointment may match, too, because it
 * may have been moved since.
 */
export function findExistingBooking(decision: BookingDecision): Appointment | undefined {
  const found = candidates(decision);
  return (
    found.find((appointment) => isAskedFor(appointment, decision, decision.stored)) ??
    found.find((appointment) => !isUnderItsId(decision, appointment) && wasAskedFor(appointment, decision))
  );
}

/** The ids of the appointments whose history must be read to find an earlier, identical request. */
export function perhapsMoved(decision: BookingDecision): string[] {
  return candidates(decision).flatMap((appointment) =>
    appointment.id === undefined ||
    isUnderItsId(decision, appointment) ||
    isAskedFor(appointment, decision, decision.stored)
      ? []
      : appointment.id,
  );
}

/** The ids of the Slots of earlier versions at these times, to be compared with the requested slots. */
export function slotsOfVersions(versions: readonly Appointment[], intervals: readonly Interval[]): string[] {
  const isThen = (version: Appointment): boolean => intervals.some((interval) => isAt(version, interval));
  return [...new Set(versions.filter(isThen).flatMap(slotIdsOf))];
}
