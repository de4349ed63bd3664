import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, OperationOutcome, Resource } from '@medplum/fhirtypes';
import { validateChange, validateCreation } from '../../core/booking/appointment/change.ts';
import { leftCalendarIssues } from '../../core/booking/appointment/elements.ts';
import { hasEnded } from '../../core/booking/appointment/expiry.ts';
import { mustBeAlone, overbookingIssue, takesTime, timesTaken } from '../../core/booking/appointment/overbooking.ts';
import { holdsSlots, mayBecome } from '../../core/booking/appointment/status.ts';
import { withSubmitted } from '../../core/booking/appointment/submitted.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isSameJson } from '../../core/fhir/json.ts';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { formatReference, parseReference } from '../../core/fhir/reference.ts';
import { updateEntry, withoutEmpty } from '../../core/fhir/resource.ts';
import { threadOf, threadSearch, threadTask, visitThreadSearch } from '../../core/messages/thread.ts';
import { type CalendarSlot, calendarOf, slotIdsOf } from '../../core/slots/slot.ts';
import { toldGroupOf } from '../../core/visits/group.ts';
import { readForChange, readTaken } from '../lib/booking/related-reads.ts';
import { announce, contested, isDeletion } from '../lib/calendar/guard.ts';
import { config } from '../lib/config.ts';
import { rememberDeletion } from '../lib/notifications/events/deletions.ts';
import { ofType, readInTransaction } from '../lib/read.ts';

/** Whoever writes in Medplum is not the requestor. */
const NOBODY = '';

function deletionIssues(appointment: Appointment): Issue[] {
  const diagnostics = `The appointment is ${appointment.status} and holds its slots: cancel it before deleting it.`;
  return mayBecome(appointment, 'cancelled', 'repository')
    ? [{ code: 'transition-not-allowed', diagnostics, expression: 'Appointment.status' }]
    : [];
}

/** What holds a Slot already, if another open appointment does. */
function holderIssues(created: Appointment, others: readonly Appointment[], slots: readonly CalendarSlot[]): Issue[] {
  const holding = others.filter(
    (one) => one.id !== created.id && holdsSlots(one) && !hasEnded(one, Date.now(), config),
  );
  return slots.flatMap((slot) => {
    const holder = holding.find((one) => slotIdsOf(one).includes(slot.id));
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

/** Announces the time that a new appointment takes, or says what takes it already. */
async function takingIssues(
  medplum: MedplumClient,
  created: Appointment,
  known: readonly (readonly Resource[])[],
): Promise<Issue[]> {
  if (!takesTime(created)) {
    return [];
  }
  const { slots, appointments, schedules, isKnown } = await readTaken(medplum, created, known);
  const named = [...calendarOf(slots, config).values()];
  const isAlone = mustBeAlone(created, config);
  const held = isAlone ? holderIssues(created, appointments, named) : [];
  const issues: Issue[] = [...held];
  for (const { from, start, end } of timesTaken(created, named, schedules, isKnown, config)) {
    if (held.length > 0) {
      break;
    }
    const against = isAlone ? 'everything' : 'nothing';
    const { serviceType = [] } = schedules.find(({ schedule }) => schedule.id === from.schedule)?.schedule ?? {};
    const taking = { from, start, end, against } as const;
    const announced = await announce(medplum, taking, `Appointment/${created.id}`, serviceType);
    if (announced.kind === 'taken') {
      const { by } = announced;
      const what = `Slot/${by.id} takes the time from ${formatInstant(by.start)} to ${formatInstant(by.end)}`;
      issues.push(overbookingIssue(created, from, what, config));
    } else if (announced.kind === 'too-long') {
      issues.push(tooLong);
    } else if (announced.kind === 'overtaken') {
      issues.push(contested('Appointment.slot'));
    }
  }
  return issues;
}

/** When the messages about an appointment that is being deleted are due, in milliseconds: by then it is gone. */
const GONE_WITHIN = 10_000;

/**
 * The entries that make messages due: the clock does not find what is gone among what has changed. What is being sent is
 * looked at when its lease is over.
 */
async function untoldEntries(medplum: MedplumClient, deleted: Appointment): Promise<BundleEntry[]> {
  const group = toldGroupOf(deleted, config);
  const search = group === undefined ? threadSearch(deleted.id ?? '', config) : visitThreadSearch(group, config);
  const [rows] = config.messages.from === undefined ? [] : await readInTransaction(medplum, [search]);
  return ofType('Task', rows).flatMap((row) => {
    const thread = threadOf(row);
    const isUntold = thread.due !== undefined && thread.known?.status !== 'cancelled';
    const due = Date.now() + GONE_WITHIN;
    return isUntold && row.status === 'ready' ? [updateEntry(row, threadTask({ ...thread, due }, config, row))] : [];
  });
}

/** What an appointment that stays open may not leave: the calendars that its Slots are in. */
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

/** An appointment that names its Slots by their ids: no search finds those that it names by the server's address or version. */
function withSlotIds(medplum: MedplumClient, appointment: Appointment): Appointment {
  const bases = [config.baseUrl, medplum.fhirUrl().toString().replace(/\/$/, '')];
  const slot = appointment.slot?.map((one) => {
    const [found] = bases.flatMap((base) => parseReference(one.reference, base, ['Slot']) ?? []);
    return found ? { ...one, reference: formatReference(found) } : one;
  });
  return { ...appointment, ...(slot && { slot }) };
}

/** What is wrong with a write, and what is to be stored instead where it changes what the requestor had sent. */
async function judge(
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
    const changes = validateChange(stored, input, 'repository', patients, Date.now(), config);
    const issues = changes.length > 0 ? changes : await leavingIssues(medplum, stored, input);
    return { issues, ...(!(isSame && isSameJson(noted.meta, input.meta)) && { noted }) };
  }
  const issues = validateCreation(input, patients, config);
  return {
    issues: issues.length > 0 ? issues : await takingIssues(medplum, input, taken),
    ...(!isSame && { noted: input }),
  };
}

/**
 * Checks every write to an Appointment before Medplum stores it: by staff in Medplum's app, through its API, or by its
 * own operations. A deletion is recorded, so that slots and subscribers follow it in any case. Writes by the Bots of the
 * service are not checked here, because the Bots apply the same rules themselves.
 *
 * @param event - input: the Appointment as it would be stored, or as it is if it is to be deleted
 * @returns `true` to allow the write, or the Appointment to allow it with a new note of what its requestor has sent, or the
 *   OperationOutcome with which Medplum refuses it
 * @see specification section 3 and 4.5; https://www.medplum.com/docs/bots/bot-pre-commit
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<Appointment>,
): Promise<true | Appointment | OperationOutcome> {
  const { issues, noted = true } = await judge(medplum, event);
  if (issues.length > 0) {
    return toOperationOutcome(issues, config, 'patch');
  }
  if (isDeletion(event)) {
    await rememberDeletion(medplum, event.input, () => untoldEntries(medplum, event.input));
  }
  return noted;
}
