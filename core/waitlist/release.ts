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

/** The default of the shortest notice, in milliseconds: time that begins sooner is not offered. */
const NOTICE = 2 * HOUR;

/** The default length of a personal offer: a share of the time until the appointment, with bounds in milliseconds. */
const stands = { share: 0.1, least: 15 * MINUTE, most: DAY } as const;

/** The age, in milliseconds, from which personal offers count as those of an earlier release. */
const ROUND = 15 * DAY;

/** The most people who get a personal offer of one time, one at a time. After them, anybody can book it. */
export const MAX_ASKED = 5;

const intervalOf = ({ start, end }: Period): Interval => ({
  start: parseInstant(start) ?? 0,
  end: parseInstant(end) ?? 0,
});

/** The time that the change of a Slot frees; `undefined` if none. */
function released({ stored, resource }: SlotChange, isPublishing: boolean): Interval | undefined {
  const isFree = resource.status === 'free' && (stored ? stored.status !== 'free' : isPublishing);
  // A freed part may be joined with its neighbour.
  const isJoined = stored !== undefined && isTaken(stored) && resource.status === 'entered-in-error';
  return isFree ? intervalOf(resource) : isJoined ? intervalOf(stored) : undefined;
}

/** Whether the freed time of a Schedule is offered to the people on the waitlist. */
export const usesWaitlist = ({ policy, isReadable }: EffectivePolicy): boolean => isReadable && policy.refill === 1;

/**
 * The rows that record freed time. They are written in the transaction that frees it: one for each Schedule whose
 * policy uses the waitlist.
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

/** Freed time of a Schedule, and the moment of its next personal offer. */
export interface WaitlistRelease extends Interval {
  /** Id of the Schedule. */
  readonly schedule: string;
  /** Milliseconds since 1970 UTC; `undefined` if the row is completed. */
  readonly due: number | undefined;
  /**
   * Ids of a Slot and of an entry. Entries up to this one were passed over for the Slot; for earlier Slots all were.
   */
  readonly after?: { readonly slot: string; readonly entry: string } | undefined;
}

/** The Task that stores a release, for a scheduled Bot. */
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
  return newRow('release', more, config, stored);
}

/** Reads the row of a release; `undefined` if it is completed. */
export function releaseOf({ status, focus, executionPeriod, restriction, input }: Task): WaitlistRelease | undefined {
  const schedule = idIn(focus, 'Schedule');
  const due = parseInstant(restriction?.period?.start);
  const [slot, entry] = valueIn(input, 'after')?.valueString?.split('/') ?? [];
  const after = slot && entry ? { slot, entry } : undefined;
  return status === 'requested' && schedule !== undefined && due !== undefined
    ? { schedule, due, after, ...intervalOf(executionPeriod ?? {}) }
    : undefined;
}

/** The row that asks staff to call about a personal offer, because no message reaches its person. It ends with it. */
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
export const openReleases = (config: PublicConfig): string => rowSearch(['release'], { status: 'requested' }, config);

/** The earliest start of time that may be offered now. */
export const earliestOfferStart = ({ policy }: EffectivePolicy, now: number): number =>
  now + (policy.refillNotice ?? NOTICE);

function lengthOf({ policy }: EffectivePolicy, start: number, now: number): number {
  return policy.offerFor ?? Math.min(stands.most, Math.max(stands.least, (start - now) * stands.share));
}

/** The end of a personal offer that is made now, at most the start of the appointment. */
export const offerEnd = (policy: EffectivePolicy, start: number, now: number): number =>
  Math.min(start, now + lengthOf(policy, start, now));

/**
 * The end of a personal offer of freed time that is made now. All personal offers of one time last at most twice the
 * length of one.
 * @param earlier - the personal offers of this time so far
 * @returns `undefined` if too little is left: then anybody can book it
 */
export function nextOfferEnd(
  policy: EffectivePolicy,
  start: number,
  now: number,
  earlier: readonly Appointment[],
  config: PublicConfig,
): number | undefined {
  const length = lengthOf(policy, start, now);
  const durations = earlier.map((appointment) => {
    const [from, end] = [parseInstant(appointment.created) ?? now, endOf('offer', appointment, config) ?? now];
    const ended =
      appointment.status === 'cancelled' ? Math.min(end, parseInstant(appointment.meta?.lastUpdated) ?? end) : end;
    return from < now - ROUND ? 0 : Math.max(0, ended - from);
  });
  const left = 2 * length - durations.reduce((sum, duration) => sum + duration, 0);
  return left < length / 2 ? undefined : Math.min(start, now + Math.min(length, left));
}

/**
 * The part of a free Slot to offer: the released part, no longer than an appointment.
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

/** The search for the appointments at a time, with their Slots; `earlierOffers` picks the personal offers. */
export const askedSearch = ({ start, end }: Interval): string =>
  searchUrl('Appointment', [
    ['date', `ge${formatInstant(start)}`],
    ['date', `lt${formatInstant(end)}`],
    ['_include', 'Appointment:slot'],
    ['_count', '500'],
  ]);

/** The earlier personal offers of a time of a Schedule, whatever their outcome, among the results of `askedSearch`. */
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
