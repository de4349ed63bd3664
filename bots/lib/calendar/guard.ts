import type { BotEvent, MedplumClient } from '@medplum/core';
import type { BundleEntry, Resource, Slot, Task } from '@medplum/fhirtypes';
import { hasEnded } from '../../../core/booking/appointment/expiry.ts';
import { searchUrl } from '../../../core/booking/search.ts';
import { atTime, holderSearch, holdersOf } from '../../../core/booking/slots/reads.ts';
import { publicationIn, publicationOf, rowEntry } from '../../../core/calendar/publish/publication.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { planTaking, type Taking } from '../../../core/slots/guard.ts';
import { intentEntry, isWithheld, withIntent } from '../../../core/slots/intent.ts';
import { type Calendar, type CalendarSlot, calendarOf } from '../../../core/slots/slot.ts';
import { reachOf, termsFor } from '../../../core/slots/terms.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { config } from '../config.ts';
import { retryOvertaken, writeUnlessOvertaken } from '../medplum.ts';
import { ofType, readAhead, readInBatch, readInTransaction } from '../read.ts';
import { hoursSearches, type KeyedHours, readOpeningHours } from './opening-hours.ts';

/** How many Slots are read, and on how many a taking is announced: of a block of many weeks the others follow within seconds. */
const [MOST, ANNOUNCED] = ['1000', 500];

/** How far around a taking its Slots are read before the buffers of its services are known, in milliseconds. */
const REACH = 2 * 60 * 60_000;

/** What became of the announcement of a taking. */
type Announced =
  | { readonly kind: 'announced' }
  /** Something takes that time already. */
  | { readonly kind: 'taken'; readonly by: CalendarSlot }
  /** Something else is about to take it, or other requests wrote the same offers at each attempt. */
  | { readonly kind: 'overtaken' }
  /** An appointment excludes more offers than can be written together. */
  | { readonly kind: 'too-long' };

/** Whether a pre-commit Bot is asked about a deletion, not about a change. */
export const isDeletion = ({ headers }: Pick<BotEvent, 'headers'>): boolean =>
  headers?.['X-Medplum-Deleted-Resource'] !== undefined;

/** The refusal of a write that others have overtaken. */
export const contested = (expression: 'Slot' | 'Appointment.slot'): Issue => ({
  code: 'booking-conflict',
  diagnostics: 'Other requests booked this time at the same moment. Nothing was written; try again.',
  expression,
});

/** A calendar in which Slots of ended holds and requests are free, as far as they are in the way. */
async function withoutEnded(medplum: MedplumClient, calendar: Calendar): Promise<Calendar> {
  const tentative = [...calendar.values()].filter(({ status }) => status === 'busy-tentative');
  const ids = tentative.map(({ id }) => id);
  const [found] = await readInBatch(medplum, ids.length > 0 ? [holderSearch(ids)] : []);
  const holders = holdersOf(ofType('Appointment', found));
  const isOver = ({ id }: CalendarSlot): boolean =>
    holders.get(id)?.every((one) => hasEnded(one, Date.now(), config)) ?? false;
  const ended = tentative.filter(isOver).map((slot) => [slot.id, { ...slot, status: 'free' as const }] as const);
  return new Map([...calendar, ...ended]);
}

/** Publishing creates no offer at that time that does not know what is about to take it: both write the row of the Schedule. */
function rowEntries(
  row: Task | undefined,
  taking: Taking,
  excluded: readonly CalendarSlot[],
  by: string,
  now: number,
): BundleEntry[] {
  const publication = row && publicationIn(row);
  const isPublished = publication?.status === 'completed' && taking.end <= (publication.from ?? 0);
  return row && publication && (!isPublished || excluded.length === 0)
    ? [rowEntry(row, withIntent(row, taking, by, now, config))]
    : [];
}

/** The search for the Slots of a Schedule within reach of some time. */
const slotsNear = (schedule: string, { start, end }: Interval, reach: number): string =>
  searchUrl('Slot', [
    ['schedule', `Schedule/${schedule}`],
    ...atTime({ start: start - reach, end: end + reach }),
    ['_sort', 'start'],
    ['_count', MOST],
  ]);

/** The search for the Slots of a Schedule on which a Slot may be announced. */
export const aroundUrl = (schedule: string, { start, end }: Slot): string =>
  slotsNear(schedule, { start: parseInstant(start) ?? 0, end: parseInstant(end) ?? 0 }, REACH);

/** What was found by the searches for a calendar: its Slots, and its publication. */
type Found = readonly Resource[];

async function attempt(
  medplum: MedplumClient,
  hours: KeyedHours,
  taking: Taking,
  by: string,
  found: Found,
): Promise<Announced> {
  const { schedule } = hours;
  const now = Date.now();
  const termsOf = termsFor([hours], config);
  const calendar = calendarOf(ofType('Slot', found), config);
  // An offer that somebody has deleted meanwhile can no longer be taken.
  if (!taking.from.isNew && !calendar.has(taking.from.id)) {
    return { kind: 'overtaken' };
  }
  let plan = planTaking(taking, calendar, termsOf, config);
  if (plan.conflict?.status === 'busy-tentative') {
    plan = planTaking(taking, await withoutEnded(medplum, calendar), termsOf, config);
  }
  if (plan.conflict) {
    return { kind: 'taken', by: plan.conflict };
  }
  if (taking.against === 'everything' && plan.excluded.length > ANNOUNCED) {
    return { kind: 'too-long' };
  }
  const offers = [...plan.excluded, ...[...calendar.values()].filter(({ id }) => id === taking.from.id)];
  if (taking.against !== 'nothing' && offers.some((slot) => isWithheld(slot, taking, now, config, by))) {
    return { kind: 'overtaken' };
  }
  const intents = plan.excluded.slice(0, ANNOUNCED).flatMap((slot) => intentEntry(slot, taking, by, now, config));
  const [row] = ofType('Task', found);
  const entry = [...intents, ...rowEntries(row, taking, plan.excluded, by, now)];
  if (entry.length === 0) {
    return { kind: 'announced' };
  }
  const written = await writeUnlessOvertaken(medplum, entry, `The offers of Schedule/${schedule.id}`);
  return { kind: written ? 'announced' : 'overtaken' };
}

/**
 * The searches that `announce` begins with, to be read ahead. Where they do not find the services, the Slots are read again
 * with these: what has changed between their reading and the writing makes the attempt fail.
 *
 * @param schedule - id
 * @param named - the services of the Schedule, as far as they are known
 */
export const announcementSearches = (schedule: string, time: Interval, named: Slot['serviceType']): string[] => [
  slotsNear(schedule, time, REACH),
  ...hoursSearches(schedule, named),
];

/**
 * Announces time that somebody is about to take in Medplum, past the service: every offer that it excludes is written with
 * the intent first, so that of it and a simultaneous booking one fails.
 *
 * @param by - what is about to be stored, `Type/id`
 * @param named - as in `announcementSearches`
 * @throws Error when the calendar could not be read or written
 */
export async function announce(
  medplum: MedplumClient,
  taking: Taking,
  by: string,
  named: Slot['serviceType'],
): Promise<Announced> {
  const { schedule } = taking.from;
  const first = await readAhead(medplum, announcementSearches(schedule, taking, named));
  const near = slotsNear(schedule, taking, REACH);
  const { hours, row, reader } = await readOpeningHours(first, schedule, named, [near]);
  if (!hours) {
    return { kind: 'announced' };
  }
  const reach = Math.max(REACH, reachOf([hours], config));
  let known: readonly Task[] | undefined = row ? [row] : [];
  return retryOvertaken(
    async () => {
      const rows = known ? [] : [publicationOf(schedule, config)];
      const found = await readInTransaction(reader, [slotsNear(schedule, taking, reach), ...rows]);
      const all = [...(known ?? []), ...found.flat()];
      known = undefined;
      return attempt(medplum, hours, taking, by, all);
    },
    ({ kind }) => kind === 'overtaken',
    { within: 4000 },
  );
}
