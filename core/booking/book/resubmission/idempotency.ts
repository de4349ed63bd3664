import type { Appointment, AppointmentParticipant, Patient } from '@medplum/fhirtypes';

import { parseInstant } from '../../../fhir/instant.ts';
import { belongsTo } from '../../../fhir/tags.ts';
import { slotIdsOf } from '../../appointment/slot-use.ts';
import { isHolding } from '../../hold/hold.ts';
import { hasCommonIdentifier } from '../../patient/identity.ts';
import { findResource, idIn, type ResourceSet, resourcesOfType } from '../../resource-set.ts';
import type { Calendar } from '../../slots/calendar.ts';
import type { BookRequest } from '../request/request.ts';
import type { ResolvedParticipants } from '../resolve-participants.ts';
import type { Situation } from '../situation.ts';

const patientIds = (participants: readonly AppointmentParticipant[]): string[] =>
  participants.flatMap(({ actor }) => idIn(actor, 'Patient') ?? []).sort();

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  JSON.stringify([...one].sort()) === JSON.stringify([...other].sort());

/** Whether every submitted element of a patient equals that of a stored patient. */
function says(submitted: Patient, stored: Patient | undefined): boolean {
  const { id: _, meta: __, text: ___, ...elements } = submitted;
  const known: Readonly<Record<string, unknown>> = { ...stored };
  return (
    stored !== undefined &&
    Object.entries(elements).every(([name, value]) => JSON.stringify(value) === JSON.stringify(known[name]))
  );
}

/** Whether the patients are the same; a submitted patient without a known identifier is compared by its elements. */
function isForSamePatients(
  { patient }: BookRequest,
  resolved: ResolvedParticipants,
  booked: Appointment,
  state: ResourceSet,
): boolean {
  const stored = patientIds(booked.participant);
  const isNew = resolved.entries.some(({ resource }) => resource?.resourceType === 'Patient');
  return isNew && patient
    ? stored.some((id) => says(patient.value, findResource(state, 'Patient', id)))
    : isSame(stored, patientIds(resolved.participants));
}

/** Whether the slots are the same; a slot that was split in the meantime is recognized by its origin. */
function isInSameSlots({ slots, schedule }: BookRequest, booked: Appointment, calendar: Calendar): boolean {
  const held = slotIdsOf(booked).map((id) => calendar.get(id));
  if (slots.length === 0) {
    return held.every((slot) => slot !== undefined && idIn(slot.resource.schedule, 'Schedule') === schedule?.value);
  }
  const originsOf = (ids: readonly string[]) => [...new Set(ids.map((id) => calendar.get(id)?.origin ?? id))];
  return isSame(originsOf(slotIdsOf(booked)), originsOf(slots.map(({ value }) => value)));
}

/** What of an appointment is compared in other ways than word by word, or is the repository's. */
const otherwise = new Set(['id', 'meta', 'text', 'status', 'start', 'end', 'slot', 'participant']);

/** Whether a request is the repetition of the one that an appointment came from: by an identifier, or word by word. */
function isRepeated(submitted: Appointment, booked: Appointment): boolean {
  if (submitted.id !== booked.id) {
    return hasCommonIdentifier(booked.identifier, submitted.identifier);
  }
  const known: Readonly<Record<string, unknown>> = { ...booked };
  return Object.entries(submitted).every(
    ([name, value]) => otherwise.has(name) || JSON.stringify(value) === JSON.stringify(known[name]),
  );
}

/**
 * Finds the appointment that an earlier, identical request has made: a requestor that lost the first answer gets it
 * again instead of booking twice. Identical means the same requestor, one of the same identifiers (or, sent again
 * under its id, the same in every word), and the same time, slots and patients.
 */
export function findExistingBooking({ request, resolved, state, stored, context }: Situation): Appointment | undefined {
  const { requestor, config, now, purpose } = context;
  const { appointment, interval } = request;
  const isDone = (booked: Appointment): boolean =>
    purpose === 'hold'
      ? isHolding(booked, now, config) && booked.id !== appointment.value.id
      : booked.status === 'booked' || booked.status === 'pending';
  return resourcesOfType(state, 'Appointment').find(
    (booked) =>
      isDone(booked) &&
      belongsTo(booked, requestor, config) &&
      isRepeated(appointment.value, booked) &&
      parseInstant(booked.start) === interval?.start &&
      parseInstant(booked.end) === interval?.end &&
      isForSamePatients(request, resolved, booked, state) &&
      isInSameSlots(request, booked, stored),
  );
}
