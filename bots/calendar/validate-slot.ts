import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, OperationOutcome, Slot } from '@medplum/fhirtypes';
import { hasOtherTime, heldSlotIssues, holderOf, holdersUrl } from '../../core/booking/appointment/held.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { serviceIdsOf } from '../../core/fhir/reference.ts';
import { isBuffer, isOverbooking } from '../../core/fhir/scheduling/slot-marks.ts';
import { isByService } from '../../core/fhir/tags.ts';
import { type ExternalSlot, externalBusySlot, givesBack } from '../../core/slots/guard.ts';
import type { Act } from '../../core/slots/reservation.ts';
import {
  calendarOf,
  calendarSlot,
  isBooked,
  isTaken,
  slotIdsOf,
  takenInLane,
  withMarks,
} from '../../core/slots/slot.ts';
import type { Interval } from '../../core/time/interval.ts';
import {
  aroundUrl,
  contested,
  isDeletion,
  mayBeReserved,
  reservationSearches,
  reserve,
  takenTime,
  withdraw,
} from '../lib/calendar/guard.ts';
import { config } from '../lib/config.ts';
import { ofType, readAhead, readInTransaction } from '../lib/read.ts';

function overbooked(slot: Slot, { id, start, end }: Interval & { readonly id: string }): Issue {
  const url = artefactUri(config, 'LocalOverbooking');
  return {
    code: 'schedule-overbooked',
    diagnostics: `Slot/${id} takes the time from ${formatInstant(start)} to ${formatInstant(end)}: look at the calendar again. To overbook on purpose, add the extension ${url} with valueBoolean true.`,
    expression: slot.id ? `Slot.where(id = '${slot.id}')` : 'Slot',
  };
}

/** A write of a Slot, as an act of its author; without one, the Slot itself counts as the author. */
const actOf = ({ id = '', meta }: Slot): Act => ({
  id: `Slot/${id}`,
  author: meta?.author?.reference ?? `Slot/${id}`,
  slots: [id],
});

/** The services that a Slot names, as those that are published do. */
const servicesNamedBy = ({ serviceType }: Slot): Slot['serviceType'] =>
  serviceIdsOf({ serviceType }).length > 0 ? serviceType : undefined;

/**
 * The kinds of time that a Slot must not overlap, unless it is marked as an overbooking: none for a block. A new booked
 * Slot must avoid reservations only: the rest is validated with its appointment.
 */
function againstWhat(slot: Slot, isBookable: boolean): ExternalSlot['against'] {
  const isBlock = !isBooked(slot) && !isBuffer(slot);
  return isBlock ? 'nothing' : isBookable ? 'appointments' : 'reservations';
}

/** The issues of a Slot. `lane` is set for an external busy slot that takes one lane only. */
interface SlotValidation {
  readonly issues: readonly Issue[];
  readonly lane?: string | undefined;
}

/** Reserves the time that a Slot makes busy, unless the stored Slot covers it already; or returns the conflict. */
async function validateSlotWrite(
  medplum: MedplumClient,
  slot: Slot,
  stored: Slot | undefined,
  holder: Appointment | undefined,
): Promise<SlotValidation> {
  const { schedule, start, end } = takenTime(slot) ?? {};
  if (schedule === undefined || start === undefined || end === undefined) {
    return { issues: [] };
  }
  const storedSlot = stored && calendarSlot(stored, config);
  const current = storedSlot?.schedule === schedule ? storedSlot : undefined;
  if (current && isTaken(current) && current.start <= start && end <= current.end) {
    return { issues: [] };
  }
  const newSlot = externalBusySlot(schedule, { start, end }, slot);
  const from =
    current?.role === 'bookable' ? current : current ? { ...newSlot, lane: current.lane, capacity: 1 } : newSlot;
  // Its appointment moves with it, so the rules of appointments apply.
  const against = holder ? 'everything' : againstWhat(slot, current?.role === 'bookable');
  const isOnPurpose = [slot, ...(holder ? [holder] : [])].some((resource) => isOverbooking(resource, config));
  const external: ExternalSlot = {
    ...{ from, start, end, against: isOnPurpose ? 'nothing' : against },
    ...(holder && { types: holder.serviceType ?? [] }),
  };
  const act = { ...actOf(slot), slots: [...new Set([slot.id ?? '', ...slotIdsOf(holder)])] };
  const reserved = await reserve(medplum, schedule, [external], act, servicesNamedBy(slot));
  if (reserved.kind === 'reserved') {
    return { issues: [], lane: from.role === 'external' ? reserved.lane : undefined };
  }
  return { issues: [reserved.kind === 'taken' ? overbooked(slot, reserved.by) : contested('Slot')] };
}

/** Ends the reservation of a stored Slot once it no longer takes that time. */
async function withdrawReservation(medplum: MedplumClient, stored: Slot): Promise<void> {
  const act = actOf(stored);
  const mayHaveReservation = isTaken(stored) && !isByService(stored.meta, config) && mayBeReserved(stored);
  await (mayHaveReservation && withdraw(medplum, act, ({ id }) => id === act.id));
}

/** The form in which to store a Slot that is set free: entered-in-error if its time goes back to bookable slots. */
async function asSetFree(medplum: MedplumClient, slot: Slot, stored: Slot): Promise<Slot> {
  const former = slot.status === 'free' ? calendarSlot(stored, config) : undefined;
  if (!former || former.role === 'bookable') {
    return slot;
  }
  const [around] = await readInTransaction(medplum, [aroundUrl(former.schedule, slot)]);
  const isEnded = givesBack(former, slot, calendarOf(ofType('Slot', around), config), config);
  return isEnded ? { ...slot, status: 'entered-in-error' } : slot;
}

/**
 * Before Medplum stores it, checks a Slot that somebody else writes: a person, an import, or Medplum's own `$book` and
 * `$hold`. Medplum runs this Bot before the write, so that if a booking and another write take the same time, one of
 * them fails. Only the service itself may offer a Slot again while an appointment holds it; and only the service
 * changes the marks that say what a Slot is.
 * @param event - input: the Slot as it would be stored
 * @returns `true` or the Slot with its marks to allow the write, or the OperationOutcome with which Medplum refuses it
 * @throws Error when the calendar could not be read or written: the write fails
 * @see https://www.medplum.com/docs/bots/bot-pre-commit
 */
export async function handler(
  medplum: MedplumClient,
  { input: slot, headers }: BotEvent<Slot>,
): Promise<true | Slot | OperationOutcome> {
  if (isDeletion({ headers })) {
    await withdrawReservation(medplum, slot);
    return true;
  }
  const { id } = slot;
  const time = takenTime(slot);
  const storedSearches = id === undefined ? [] : [holdersUrl(id), `Slot?_id=${id}`];
  const reservationUrls = time ? reservationSearches(time.schedule, time, servicesNamedBy(slot)) : [];
  const reader = await readAhead(medplum, [...storedSearches, ...reservationUrls]);
  const found = (await readInTransaction(reader, storedSearches)).flat();
  const stored = id === undefined ? undefined : ofType('Slot', found).find((candidate) => candidate.id === id);
  const now = Date.now();
  const issues = heldSlotIssues(slot, stored, found, now, config);
  const holder = stored && hasOtherTime(slot, stored) ? holderOf(found, now, config) : undefined;
  const validated = issues.length > 0 ? { issues } : await validateSlotWrite(reader, slot, stored, holder);
  if (validated.issues.length > 0) {
    return toOperationOutcome(validated.issues, config, 'patch');
  }
  await (stored && !time && withdrawReservation(reader, stored));
  const inLane = validated.lane === undefined ? slot : takenInLane(slot, validated.lane, config);
  return stored ? withMarks(await asSetFree(reader, inLane, stored), stored, config) : inLane === slot || inLane;
}
