import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, OperationOutcome, Resource } from '@medplum/fhirtypes';
import { type Patients, validateChange, validateCreation } from '../../core/booking/appointment/change.ts';
import { isMoved, leftCalendarIssues, withSubmitted } from '../../core/booking/appointment/elements.ts';
import { hasEnded } from '../../core/booking/appointment/expiry.ts';
import { holdsSlots, mayBecome } from '../../core/booking/appointment/status.ts';
import { mustBeAlone, overbookingIssue, takesTime, timesTaken } from '../../core/booking/appointment/synchronize.ts';
import { formatInstant, timeOf } from '../../core/fhir/instant.ts';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { formatReference, parseReference } from '../../core/fhir/reference.ts';
import { isSameJson, updateEntry, withoutEmpty } from '../../core/fhir/resource.ts';
import { threadOf, threadSearch, threadTask, visitThreadSearch } from '../../core/messages/thread.ts';
import { deletionTask } from '../../core/notifications/events/event.ts';
import { creation } from '../../core/rows/row.ts';
import type { Act } from '../../core/slots/reservation.ts';
import { type CalendarSlot, isTaken, slotIdsOf } from '../../core/slots/slot.ts';
import { type Interval, overlaps } from '../../core/time/interval.ts';
import { notifiedGroupOf } from '../../core/visits/visit.ts';
import { readForChange, readTaken } from '../lib/booking/related-reads.ts';
import { contested, isDeletion, mayBeReserved, reserve, withdraw } from '../lib/calendar/guard.ts';
import { config } from '../lib/config.ts';
import { retryOvertaken } from '../lib/medplum.ts';
import { ofType, readInTransaction } from '../lib/read.ts';
import { writeRows } from '../lib/rows.ts';

/**
 * Creates the Task that records the coming deletion of an appointment.
 * @param more - reads further entries for the same transaction, again at each attempt
 * @throws Error when it could not be written: then the appointment must not be deleted
 */
async function rememberDeletion(
  medplum: MedplumClient,
  { id = '' }: Appointment,
  more: () => Promise<BundleEntry[]> = async () => [],
): Promise<void> {
  const what = `The deletion of Appointment/${id}`;
  const write = async () => writeRows(medplum, [creation(deletionTask(id, config)), ...(await more())], what);
  if (!(await retryOvertaken(write, (row) => row === undefined))) {
    throw new Error(`${what} was overtaken: delete it again.`);
  }
}

/** The requestor id of writes in Medplum, which have no requestor. */
const NOBODY = '';

/** The issue of deleting an appointment that is still open: it must be cancelled first. */
function deletionIssues(appointment: Appointment): Issue[] {
  const diagnostics = `The appointment is ${appointment.status} and holds its slots: cancel it before deleting it.`;
  return mayBecome(appointment, 'cancelled', 'staff')
    ? [{ code: 'transition-not-allowed', diagnostics, expression: 'Appointment.status' }]
    : [];
}

/** The issues of Slots that another open appointment holds. */
function holderIssues(created: Appointment, others: readonly Appointment[], slots: readonly CalendarSlot[]): Issue[] {
  const holding = others.filter(
    (appointment) =>
      appointment.id !== created.id && holdsSlots(appointment) && !hasEnded(appointment, Date.now(), config),
  );
  return slots.flatMap((slot) => {
    const holder = holding.find((appointment) => slotIdsOf(appointment).includes(slot.id));
    return holder
      ? [overbookingIssue(created, slot, `Slot/${slot.id} is held by Appointment/${holder.id}`, config)]
      : [];
  });
}

const tooLong: Issue = {
  code: 'period-invalid',
  diagnostics: 'The appointment excludes too many Slots of its calendar: block the time by a Slot instead.',
  expression: 'Appointment.end',
};

/** A write of an appointment, as an act of its author, with its Slots before and after. */
const actOf = (input: Appointment, stored?: Appointment): Act => ({
  id: `Appointment/${input.id}`,
  author: input.meta?.author?.reference ?? `Appointment/${input.id}`,
  slots: [...new Set([...slotIdsOf(input), ...slotIdsOf(stored)])],
});

/** Whether an interval lies directly before or after another, as a buffer does. */
const isBeside = (interval: Interval, other: Interval): boolean =>
  interval.end === other.start || other.end === interval.start;

/** The issues of Slots that a changed appointment adds at another time than its own; none for a new appointment. */
function elsewhereIssues(input: Appointment, stored: Appointment | undefined, slots: readonly CalendarSlot[]): Issue[] {
  const time = timeOf(input);
  const storedIds = slotIdsOf(stored);
  const isElsewhere = (slot: CalendarSlot): boolean =>
    stored !== undefined &&
    !storedIds.includes(slot.id) &&
    slot.status !== 'busy-unavailable' &&
    time !== undefined &&
    !overlaps(slot, time) &&
    !(slot.isNew && isBeside(slot, time));
  return slots.filter(isElsewhere).map(({ id }) => ({
    code: 'slot-mismatch',
    diagnostics: `Slot/${id} does not lie at the time of the appointment.`,
    expression: `Appointment.slot[${slotIdsOf(input).indexOf(id)}]`,
  }));
}

/** The issue of replacing all Slots of an appointment by others at the same time in the same calendars. */
async function ontoItselfIssues(
  medplum: MedplumClient,
  input: Appointment,
  stored: Appointment | undefined,
  newSlots: readonly CalendarSlot[],
): Promise<Issue[]> {
  const [oldTime, newTime, oldIds] = [timeOf(stored), timeOf(input), slotIdsOf(stored)];
  const isSameTime = oldTime?.start === newTime?.start && oldTime?.end === newTime?.end;
  if (!stored || !isSameTime || newSlots.length === 0 || newSlots.some(({ id }) => oldIds.includes(id))) {
    return [];
  }
  const oldSlots = (await readTaken(medplum, stored)).named;
  const calendarsOf = (slots: readonly CalendarSlot[]) => [...new Set(slots.map(({ schedule }) => schedule))].sort();
  const holdsOldSlots = oldSlots.length === oldIds.length && oldSlots.every(isTaken);
  return holdsOldSlots && isSameJson(calendarsOf(oldSlots), calendarsOf(newSlots))
    ? [
        {
          code: 'slot-mismatch',
          diagnostics: 'The appointment has this time already: move it to another time, or into another calendar.',
          expression: 'Appointment.slot',
        },
      ]
    : [];
}

/** Reserves the time of an appointment, or returns the conflicts; `taken` as `readForChange` has read it. */
async function externalSlotIssues(
  medplum: MedplumClient,
  input: Appointment,
  stored: Appointment | undefined,
  taken: readonly (readonly Resource[])[],
): Promise<Issue[]> {
  if (!takesTime(input)) {
    return [];
  }
  const { named, appointments, schedules: found, isKnown: isComplete } = await readTaken(medplum, input, taken);
  // Without known new Slots, a moved appointment is validated in its current calendars.
  const schedules = found.length > 0 || !stored ? found : (await readTaken(medplum, stored)).schedules;
  const mustNotOverlap = mustBeAlone(input, named, config);
  const held = mustNotOverlap ? holderIssues(input, appointments, named) : [];
  const elsewhere = [
    ...elsewhereIssues(input, stored, named),
    ...(await ontoItselfIssues(medplum, input, stored, named)),
  ];
  if (held.length + elsewhere.length > 0) {
    return [...held, ...elsewhere];
  }
  const act = actOf(input, stored);
  const against = mustNotOverlap ? 'everything' : 'nothing';
  const externals = timesTaken(input, named, schedules, isComplete, config).map(
    (slot) => ({ ...slot, against }) as const,
  );
  const issues: Issue[] = [];
  for (const [schedule, slotsOfSchedule] of Map.groupBy(externals, ({ from }) => from.schedule)) {
    const { serviceType = [] } = schedules.find((calendar) => calendar.schedule.id === schedule)?.schedule ?? {};
    const reserved = await reserve(medplum, schedule, slotsOfSchedule, act, serviceType);
    if (reserved.kind === 'taken') {
      const { by, from } = reserved;
      const what = `Slot/${by.id} takes the time from ${formatInstant(by.start)} to ${formatInstant(by.end)}`;
      issues.push(overbookingIssue(input, from, what, config));
    } else if (reserved.kind === 'too-long') {
      issues.push(tooLong);
    } else if (reserved.kind === 'overtaken') {
      issues.push(contested('Appointment.slot'));
    }
  }
  return issues;
}

/** When the messages about an appointment that is being deleted are due, in milliseconds: by then it is gone. */
const GONE_WITHIN = 10_000;

/**
 * The entries that make the messages about a deleted appointment due: the scheduled Bot searches changed appointments,
 * not deleted ones. A message that is being sent is checked after its lease.
 */
async function notNotifiedEntries(medplum: MedplumClient, deleted: Appointment): Promise<BundleEntry[]> {
  const group = notifiedGroupOf(deleted, config);
  const search = group === undefined ? threadSearch(deleted.id ?? '', config) : visitThreadSearch(group, config);
  const [rows] = config.messages.from === undefined ? [] : await readInTransaction(medplum, [search]);
  return ofType('Task', rows).flatMap((row) => {
    const thread = threadOf(row);
    const isPending = thread.due !== undefined && thread.known?.status !== 'cancelled';
    const due = Date.now() + GONE_WITHIN;
    return isPending && row.status === 'ready' ? [updateEntry(row, threadTask({ ...thread, due }, config, row))] : [];
  });
}

/** The issues of an open appointment that leaves the calendars of its Slots. */
async function leavingIssues(medplum: MedplumClient, stored: Appointment, input: Appointment): Promise<Issue[]> {
  const actors = ({ participant }: Appointment) => participant.map(({ actor }) => actor?.reference);
  return takesTime(input) && !isSameJson(actors(stored), actors(input))
    ? leftCalendarIssues(
        stored,
        input,
        (await readTaken(medplum, stored)).schedules.map(({ schedule }) => schedule),
      )
    : [];
}

/** Ends the reservations of a stored appointment and its Slots once it no longer takes that time. */
async function withdrawReservations(medplum: MedplumClient, stored: Appointment): Promise<void> {
  const act = actOf(stored);
  const ids = [act.id, ...act.slots.map((id) => `Slot/${id}`)];
  await (mayBeReserved(stored) && withdraw(medplum, act, ({ id }) => ids.includes(id)));
}

/** The issues of a change. Withdraws reservations that no longer apply; reserves the time of a moved appointment. */
async function changeIssues(medplum: MedplumClient, stored: Appointment, input: Appointment, patients: Patients) {
  const issues = validateChange(stored, input, 'staff', patients, Date.now(), config, true);
  if (issues.length > 0) {
    return issues;
  }
  const hasMoved = isMoved(stored, input, config.baseUrl);
  await ((hasMoved || !takesTime(input)) && withdrawReservations(medplum, stored));
  return hasMoved ? externalSlotIssues(medplum, input, stored, []) : leavingIssues(medplum, stored, input);
}

/** Shortens references to Slots to `Slot/id`: no search finds absolute or versioned references. */
function withSlotIds(medplum: MedplumClient, appointment: Appointment): Appointment {
  const bases = [config.baseUrl, medplum.fhirUrl().toString().replace(/\/$/, '')];
  const slot = appointment.slot?.map((reference) => {
    const [found] = bases.flatMap((base) => parseReference(reference.reference, base, ['Slot']) ?? []);
    return found ? { ...reference, reference: formatReference(found) } : reference;
  });
  return { ...appointment, ...(slot && { slot }) };
}

/**
 * The issues of a write, and the appointment to store instead if the write changes elements that the requestor sent.
 */
async function validateWrite(
  medplum: MedplumClient,
  { input: sent, headers }: BotEvent<Appointment>,
): Promise<{ readonly issues: readonly Issue[]; readonly noted?: Appointment }> {
  if (isDeletion({ headers })) {
    return { issues: deletionIssues(sent) };
  }
  const input = withSlotIds(medplum, withoutEmpty(sent));
  const isSame = isSameJson(input.slot, sent.slot);
  const { stored, patients, taken } = await readForChange(medplum, input);
  if (stored) {
    const noted = withSubmitted(input, stored, NOBODY, config);
    const issues = await changeIssues(medplum, stored, input, patients);
    return { issues, ...(!(isSame && isSameJson(noted.meta, input.meta)) && { noted }) };
  }
  const issues = validateCreation(input, patients, config);
  return {
    issues: issues.length > 0 ? issues : await externalSlotIssues(medplum, input, undefined, taken),
    ...(!isSame && { noted: input }),
  };
}

/**
 * Checks every write to an Appointment before Medplum stores it: by staff in Medplum's app, through its API, or by its
 * own operations. A deletion is recorded, so that slots and subscribers follow it in any case. Writes by the Bots of
 * the service are not checked here, because the Bots apply the same rules themselves.
 * @param event - input: the Appointment as it would be stored, or as it is if it is to be deleted
 * @returns `true` to allow the write, or the Appointment to allow it with a new note of what its requestor has sent, or the
 *   OperationOutcome with which Medplum refuses it
 * @see specification section 3 and 4.5; https://www.medplum.com/docs/bots/bot-pre-commit
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<Appointment>,
): Promise<true | Appointment | OperationOutcome> {
  const { issues, noted = true } = await validateWrite(medplum, event);
  if (issues.length > 0) {
    await withdraw(medplum, actOf(event.input));
    return toOperationOutcome(issues, config, 'patch');
  }
  if (isDeletion(event)) {
    await rememberDeletion(medplum, event.input, () => notNotifiedEntries(medplum, event.input));
  }
  return noted;
}
