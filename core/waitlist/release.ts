import type { Appointment, BundleEntry, CodeableConcept, Period, Slot, Task } from '@medplum/fhirtypes';
import { endOf, offeredFor } from '../booking/appointment/expiry.ts';
import { patientOf, timeText } from '../booking/jobs/confirmation-task.ts';
import { type EffectivePolicy, effectivePolicy } from '../booking/policy/policy.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';
import { idIn } from '../fhir/reference.ts';
import { creation, newRow, rowSearch, valueIn } from '../rows/row.ts';
import { searchUrl } from '../rows/search.ts';
import type { SlotChange } from '../slots/entries.ts';
import { isTaken, slotIdsOf } from '../slots/slot.ts';
import { granularityOf, type ScheduleServices } from '../slots/terms.ts';
import type { Interval } from '../time/interval.ts';
import { DAY } from '../time/time-zone.ts';

const [MINUTE, HOUR] = [60_000, 3_600_000];

/** Nobody is asked for a time that begins earlier than this from now, unless the policy says something else. */
const NOTICE = 2 * HOUR;

/** The share of the time that is left for which an offer stands, and its bounds, unless the policy says something else. */
const stands = { share: 0.1, least: 15 * MINUTE, most: DAY } as const;

/** Offers that were made longer ago are of an earlier release of the time, in milliseconds. */
const ROUND = 15 * DAY;

/** How many people are asked for one time, one after the other; then it is everybody's. */
export const MAX_ASKED = 5;

const intervalOf = ({ start, end }: Period): Interval => ({
  start: parseInstant(start) ?? 0,
  end: parseInstant(end) ?? 0,
});

/** The time that a change of a Slot gives to everybody, if it does. */
function released({ stored, resource }: SlotChange, isPublishing: boolean): Interval | undefined {
  const isFree = resource.status === 'free' && (stored ? stored.status !== 'free' : isPublishing);
  // A part that is given back may be joined with its neighbour.
  const isJoined = stored !== undefined && isTaken(stored) && resource.status === 'entered-in-error';
  return isFree ? intervalOf(resource) : isJoined ? intervalOf(stored) : undefined;
}

/** Whether the freed time of a Schedule is offered to those who wait. */
export const usesWaitlist = ({ policy, isReadable }: EffectivePolicy): boolean => isReadable && policy.refill === 1;

/**
 * The rows that say of which Schedules time was released: written in the transaction that releases it, one for each Schedule
 * whose policy wants it to be refilled.
 *
 * @param isPublishing - whether new Slots are new time, not parts of others
 */
export function releaseRows(
  changes: readonly SlotChange[],
  schedules: readonly ScheduleServices[],
  now: number,
  config: PublicConfig,
  isPublishing = false,
): BundleEntry[] {
  return schedules.flatMap(({ schedule, services }): BundleEntry[] => {
    const times = changes.flatMap((change) =>
      idIn(change.resource.schedule, 'Schedule') === schedule.id ? (released(change, isPublishing) ?? []) : [],
    );
    const time = { start: Math.min(...times.map(({ start }) => start)), end: Math.max(...times.map(({ end }) => end)) };
    return time.end > now && usesWaitlist(effectivePolicy(schedule, services, config))
      ? [creation(releaseRow({ schedule: schedule.id ?? '', due: now, ...time }, config))]
      : [];
  });
}

/** Time of a Schedule that was released, and when to offer it. */
export interface WaitlistRelease extends Interval {
  /** Id of the Schedule. */
  readonly schedule: string;
  /** Milliseconds since 1970 UTC; `undefined` if there is nothing left to do. */
  readonly due: number | undefined;
  /** Ids of a Slot, and of the entry up to which all were passed over for it: for Slots before it all were. */
  readonly after?: { readonly slot: string; readonly entry: string } | undefined;
}

/** The row of a release. */
export function releaseRow(
  { schedule, due, after, start, end }: WaitlistRelease,
  config: PublicConfig,
  stored?: Task,
): Task {
  const more = {
    status: due === undefined ? ('completed' as const) : ('requested' as const),
    description: 'Offer released time to those who wait for it',
    focus: { reference: `Schedule/${schedule}` },
    executionPeriod: { start: formatInstant(start), end: formatInstant(end) },
    ...(due !== undefined && { restriction: { period: { start: formatInstant(due) } } }),
    ...(after !== undefined && { input: [{ type: { text: 'after' }, valueString: `${after.slot}/${after.entry}` }] }),
  };
  return newRow('refill', more, config, stored);
}

/** What a row says; `undefined` if there is nothing left to do. */
export function releaseOf({ status, focus, executionPeriod, restriction, input }: Task): WaitlistRelease | undefined {
  const schedule = idIn(focus, 'Schedule');
  const due = parseInstant(restriction?.period?.start);
  const [slot, entry] = valueIn(input, 'after')?.valueString?.split('/') ?? [];
  const after = slot && entry ? { slot, entry } : undefined;
  return status === 'requested' && schedule !== undefined && due !== undefined
    ? { schedule, due, after, ...intervalOf(executionPeriod ?? {}) }
    : undefined;
}

/** The row by which staff call whoever is offered a time and hears of it in no other way; it is over when the offer is. */
export function callRow(offer: Appointment, focus: string, config: PublicConfig): Task {
  const patient = patientOf(offer);
  const end = formatInstant(endOf('offer', offer, config) ?? 0);
  const more = {
    status: 'requested' as const,
    description: `A time is free for somebody who waits: call, and note the answer by ${timeText({ start: end }, config.timeZone)}`,
    focus: { reference: focus },
    ...(patient && { for: patient }),
    restriction: { period: { end } },
  };
  return newRow('undelivered', more, config);
}

/** The search for the rows that are not done. */
export const openReleases = (config: PublicConfig): string => rowSearch(['refill'], { status: 'requested' }, config);

/** The earliest start of what may be offered now. */
export const earliestOfferStart = ({ policy }: EffectivePolicy, now: number): number =>
  now + (policy.refillNotice ?? NOTICE);

function lengthOf({ policy }: EffectivePolicy, start: number, now: number): number {
  return policy.offerFor ?? Math.min(stands.most, Math.max(stands.least, (start - now) * stands.share));
}

/** Until when an offer stands that is made now, at most until the appointment begins. */
export const offerEnd = (policy: EffectivePolicy, start: number, now: number): number =>
  Math.min(start, now + lengthOf(policy, start, now));

/**
 * Until when an offer of freed time stands that is made now. All offers of one time together stand no
 * longer than two.
 *
 * @param before - the offers that were made of the time
 * @returns `undefined` if too little is left: then it is everybody's
 */
export function nextOfferEnd(
  policy: EffectivePolicy,
  start: number,
  now: number,
  before: readonly Appointment[],
  config: PublicConfig,
): number | undefined {
  const length = lengthOf(policy, start, now);
  const stood = before.map((appointment) => {
    const [from, end] = [parseInstant(appointment.created) ?? now, endOf('offer', appointment, config) ?? now];
    const ended =
      appointment.status === 'cancelled' ? Math.min(end, parseInstant(appointment.meta?.lastUpdated) ?? end) : end;
    return from < now - ROUND ? 0 : Math.max(0, ended - from);
  });
  const left = 2 * length - stood.reduce((sum, one) => sum + one, 0);
  return left < length / 2 ? undefined : Math.min(start, now + Math.min(length, left));
}

/**
 * What of a free Slot is offered: what was released, no longer than an appointment.
 *
 * @returns `undefined` if it begins too early, or nothing of it was released
 */
export function offeredTime(
  slot: Slot,
  { start, end }: Interval,
  { schedule, services }: ScheduleServices,
  earliest: number,
  config: PublicConfig,
): (Interval & { readonly types: readonly CodeableConcept[] }) | undefined {
  const own = intervalOf(slot);
  const from = Math.max(own.start, start);
  const { longest = Number.POSITIVE_INFINITY } = granularityOf(schedule, services, config);
  const to = Math.min(own.end, end, from + longest);
  const types = slot.serviceType?.length ? slot.serviceType : (schedule.serviceType ?? []);
  return from >= earliest && from < to ? { start: from, end: to, types } : undefined;
}

/** The search for those who were asked for a time, with the Slots that were offered. */
export const askedSearch = ({ start, end }: Interval): string =>
  searchUrl('Appointment', [
    ['date', `ge${formatInstant(start)}`],
    ['date', `lt${formatInstant(end)}`],
    ['_include', 'Appointment:slot'],
    ['_count', '500'],
  ]);

/** The offers that were made of a time of a Schedule before, whatever came of them, among what `askedSearch` finds. */
export function earlierOffers(
  found: readonly Appointment[],
  slots: readonly Slot[],
  schedule: string,
  config: PublicConfig,
): Appointment[] {
  const others = new Set(
    slots.flatMap((slot) => (idIn(slot.schedule, 'Schedule') === schedule ? [] : (slot.id ?? []))),
  );
  return found.filter(
    (appointment) => offeredFor(appointment, config).length > 0 && slotIdsOf(appointment).some((id) => !others.has(id)),
  );
}
