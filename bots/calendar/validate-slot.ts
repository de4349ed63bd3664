import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome, Slot } from '@medplum/fhirtypes';
import { heldSlotIssues, holdersUrl } from '../../core/booking/slots/held.ts';
import { isTaken } from '../../core/calendar/slots/slot-role.ts';
import { type Buffers, planTaking, withholdEntries } from '../../core/calendar/slots/withhold.ts';
import { formatInstant, parseInstant } from '../../core/fhir/instant.ts';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { idIn } from '../../core/fhir/reference/reference.ts';
import type { Interval } from '../../core/time/interval.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { readOpeningHours } from '../lib/calendar/opening-hours.ts';
import { config } from '../lib/config.ts';
import { retryOvertaken, sendTransaction } from '../lib/medplum.ts';
import { ofType, readInTransaction } from '../lib/read.ts';

/**
 * How many Slots are read: those that the Slot overlaps (`under`), of which a block of many weeks withholds the nearest,
 * while the others follow within seconds; and the nearest on either side (`beside`), which buffers may reach.
 */
const MOST = { under: '1000', beside: '500' } as const;

const MINUTE = 60_000;

/** The header by which Medplum distinguishes a deletion from a change. */
const DELETION = 'X-Medplum-Deleted-Resource';

/** The longest buffers that the services of a Schedule ask for. */
async function readBuffers(medplum: MedplumClient, schedule: string): Promise<Buffers> {
  const hours = await readOpeningHours(medplum, schedule);
  const calendars = hours?.publishing.kind === 'on' ? hours.publishing.calendars : [];
  const longest = (values: readonly number[]): number => Math.max(0, ...values) * MINUTE;
  return {
    before: longest(calendars.map(({ parameters }) => parameters.bufferBefore)),
    after: longest(calendars.map(({ parameters }) => parameters.bufferAfter)),
  };
}

/** The Slots of a Schedule that overlap a time, or lie so near that the longest possible buffers reach them. */
async function readSlots(medplum: MedplumClient, schedule: string, { start, end }: Interval): Promise<Slot[]> {
  const [from, to] = [formatInstant(start), formatInstant(end)];
  const search = (filter: string, _sort: string, _count: string): string => {
    const status = 'free,busy,busy-tentative,busy-unavailable';
    return `Slot?${new URLSearchParams({ schedule: `Schedule/${schedule}`, _filter: `(${filter})`, status, _sort, _count })}`;
  };
  const found = await readInTransaction(medplum, [
    search(`start lt "${to}" and end gt "${from}"`, 'start', MOST.under),
    search(`end le "${from}" and end gt "${formatInstant(start - DAY)}"`, '-end', MOST.beside),
    search(`start ge "${to}" and start lt "${formatInstant(end + DAY)}"`, 'start', MOST.beside),
  ]);
  return ofType('Slot', found.flat());
}

/** Why the appointment that holds a Slot forbids writing it. */
async function readHeld(medplum: MedplumClient, slot: Slot): Promise<readonly Issue[]> {
  const [found] = await readInTransaction(medplum, slot.id === undefined ? [] : [holdersUrl(slot.id)]);
  const stored = ofType('Slot', found).find(({ id }) => id === slot.id);
  return heldSlotIssues(slot, stored, ofType('Appointment', found), Date.now(), config);
}

/** Reads, decides and withholds once. */
async function attempt(medplum: MedplumClient, taking: Slot, schedule: string, time: Interval) {
  const [slots, buffers, held] = await Promise.all([
    readSlots(medplum, schedule, time),
    readBuffers(medplum, schedule),
    readHeld(medplum, taking),
  ]);
  if (held.length > 0) {
    return { kind: 'decided' as const, issues: held };
  }
  const now = Date.now();
  const plan = planTaking(taking, slots, buffers, now, config);
  const { issues } = plan;
  if (plan.withheld.length === 0) {
    return { kind: 'decided' as const, issues };
  }
  const written = await sendTransaction(medplum, withholdEntries(plan, now, config));
  if (written.kind !== 'done' && written.kind !== 'overtaken') {
    throw new Error(`The free Slots of Schedule/${schedule} could not be withheld (${written.kind}).`);
  }
  return { kind: written.kind === 'done' ? ('decided' as const) : ('overtaken' as const), issues };
}

const contested: Issue = {
  code: 'booking-conflict',
  diagnostics: 'Other requests booked this time at the same moment. Nothing was written; try again.',
  expression: 'Slot',
};

/** Withholds the time that a Slot takes, or says why the Slot cannot be written. */
async function issuesOf(medplum: MedplumClient, slot: Slot): Promise<readonly Issue[]> {
  const schedule = idIn(slot.schedule, 'Schedule');
  const [start, end] = [parseInstant(slot.start), parseInstant(slot.end)];
  if (!isTaken(slot) || schedule === undefined || start === undefined || end === undefined) {
    return readHeld(medplum, slot);
  }
  const { kind, issues } = await retryOvertaken(
    () => attempt(medplum, slot, schedule, { start, end }),
    (result) => result.kind === 'overtaken',
    { most: config.maxAttempts, within: 4000 },
  );
  return kind === 'overtaken' ? [contested] : issues;
}

/**
 * Before Medplum stores it, checks a Slot that takes time from its creation on: one written by a person, an import, or
 * Medplum's own `$book` and `$hold`. Medplum runs this Bot inside the transaction that writes the Slot, so that if a
 * booking and another write take the same time, one of them fails. Only the service itself may offer a Slot again, or
 * move it, while an appointment holds it.
 *
 * @param event - input: the Slot as it would be stored
 * @returns `true` to allow the write, or the OperationOutcome with which Medplum refuses it
 * @throws Error when the calendar could not be read or written: the write fails
 * @see https://www.medplum.com/docs/bots/bot-pre-commit
 */
export async function handler(
  medplum: MedplumClient,
  { input: slot, headers }: BotEvent<Slot>,
): Promise<true | OperationOutcome> {
  if (headers?.[DELETION] !== undefined) {
    return true;
  }
  const found = await issuesOf(medplum, slot);
  return found.length > 0 ? toOperationOutcome(found, config, 'patch') : true;
}
