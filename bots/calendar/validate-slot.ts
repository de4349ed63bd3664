import type { BotEvent, MedplumClient } from '@medplum/core';
import type { OperationOutcome, Slot } from '@medplum/fhirtypes';
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

/** How many Slots are looked at: a block of many weeks withholds the nearest, and the Slots follow it within seconds. */
const COUNT = '500';

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

/** The Slots of a Schedule that the time concerns, with the longest buffers that there can be. */
async function readSlots(medplum: MedplumClient, schedule: string, { start, end }: Interval): Promise<Slot[]> {
  const query = new URLSearchParams({
    schedule: `Schedule/${schedule}`,
    _filter: `(start lt "${formatInstant(end + DAY)}" and end gt "${formatInstant(start - DAY)}")`,
    status: 'free,busy,busy-tentative,busy-unavailable',
    _sort: 'start',
    _count: COUNT,
  });
  const [found] = await readInTransaction(medplum, [`Slot?${query}`]);
  return ofType('Slot', found);
}

/** Reads, decides and withholds once. */
async function attempt(medplum: MedplumClient, taking: Slot, schedule: string, time: Interval) {
  const [slots, buffers] = await Promise.all([readSlots(medplum, schedule, time), readBuffers(medplum, schedule)]);
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
  diagnostics: 'Others book this time at the same moment. Nothing was written; try again.',
  expression: 'Slot',
};

/**
 * Looks at a Slot that takes time from the start before Medplum stores it: one that a person, an import or Medplum's own
 * `$book` and `$hold` write. Medplum runs it inside the transaction that writes the Slot, so that of a booking and of what
 * takes the same time one fails.
 *
 * @param event - input: the Slot as it would be stored
 * @returns `true` to allow the write, or the OperationOutcome with which Medplum refuses it
 * @throws Error when the calendar could not be read or written: the write fails
 * @see https://www.medplum.com/docs/bots/bot-pre-commit
 */
export async function handler(
  medplum: MedplumClient,
  { input: taking, headers }: BotEvent<Slot>,
): Promise<true | OperationOutcome> {
  const schedule = idIn(taking.schedule, 'Schedule');
  const [start, end] = [parseInstant(taking.start), parseInstant(taking.end)];
  if (headers?.[DELETION] !== undefined || schedule === undefined || start === undefined || end === undefined) {
    return true;
  }
  const { kind, issues } = await retryOvertaken(
    () => attempt(medplum, taking, schedule, { start, end }),
    (result) => result.kind === 'overtaken',
    { most: config.maxAttempts, within: 4000 },
  );
  const found = kind === 'overtaken' ? [contested] : issues;
  return found.length > 0 ? toOperationOutcome(found, config, 'patch') : true;
}
