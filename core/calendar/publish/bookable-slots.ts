import type { Schedule, Slot } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { serviceTypeOf } from '../../fhir/reference.ts';
import { formatKey, type PublishedKey, payerKindsOf } from '../../fhir/scheduling/slot-marks.ts';
import { type Interval, subtract, union } from '../../time/interval.ts';
import { nextMidnight } from '../../time/local-day.ts';
import { changeOfOffset, DAY, offsetAt } from '../../time/time-zone.ts';
import type { Alignment } from '../parameters/parameter-values.ts';
import type { ServiceCalendar } from '../parameters/schedule-calendar.ts';
import { type Checked, sound } from '../problem.ts';
import { periodInterval } from '../time/not-available.ts';
import { openIntervals } from '../time/weekly-hours.ts';

const MINUTE = 60_000;

/** The longest appointment with its buffers, in milliseconds. */
const MAX_LENGTH = 3 * DAY;

/** The longest time that a Schedule is published ahead, whatever its planning horizon: two years, in milliseconds. */
export const FURTHEST = 2 * 366 * DAY;

/**
 * The period for which a Schedule is published: its planning horizon, else `horizonWeeks`, up to the end of a local
 * day. It begins in the past, so that opening hours that have already begun are complete.
 */
export function publishedPeriod(
  { planningHorizon }: Schedule,
  timeZone: string,
  now: number,
  horizonWeeks: number,
): Checked<Interval> {
  const rolling = { start: now - MAX_LENGTH, end: nextMidnight(now + horizonWeeks * 7 * DAY, timeZone) };
  if (!planningHorizon?.start && !planningHorizon?.end) {
    return sound(rolling);
  }
  const { value, problems } = periodInterval(planningHorizon, timeZone, 'Schedule.planningHorizon');
  return value
    ? sound({
        start: Math.max(rolling.start, value.start),
        end: planningHorizon.end ? Math.min(value.end, nextMidnight(now + FURTHEST, timeZone)) : rolling.end,
      })
    : { value, problems };
}

/** The longest first part of a period within one local day and one offset. */
function evenPart({ start, end }: Interval, timeZone: string): Interval & { readonly offset: number } {
  const offset = offsetAt(timeZone, start);
  const midnight = (Math.floor((start + offset) / DAY) + 1) * DAY - offset;
  const until = Math.min(end, midnight);
  const isEven = offsetAt(timeZone, until - 1) === offset;
  return { start, end: isEven ? until : changeOfOffset(timeZone, start, until - 1), offset };
}

/** The remainder with the sign of the divisor, unlike `%`. */
function modulo(value: number, divisor: number): number {
  return ((value % divisor) + divisor) % divisor;
}

/**
 * The possible starts of appointments in a period: local times that are a multiple of the alignment interval after
 * midnight, shifted by its offset. An appointment of `length` milliseconds must end within the period.
 */
function alignedStarts(period: Interval, { interval, offset, timeZone }: Alignment, length: number): number[] {
  const starts: number[] = [];
  const latest = period.end - length;
  for (let rest = period; rest.start <= latest; ) {
    const part = evenPart({ start: rest.start, end: rest.end }, timeZone);
    const local = part.start + part.offset - offset * MINUTE;
    const first = part.start + modulo(-local, interval * MINUTE);
    for (let start = first; start < part.end && start <= latest; start += interval * MINUTE) {
      starts.push(start);
    }
    rest = { start: part.end, end: period.end };
  }
  return starts;
}

export interface WantedSlot extends Interval {
  readonly key: string;
  readonly resource: Slot;
}

/** A free Slot with the identifier (`LocalPublishedSlot`) under which it is found again. */
function slotToPublish(
  schedule: string,
  key: PublishedKey,
  { start, end }: Interval,
  config: PublicConfig,
): WantedSlot {
  const value = formatKey(key);
  return {
    key: value,
    start,
    end,
    resource: {
      resourceType: 'Slot',
      meta: { profile: [artefactUri(config, 'LocalSlot')] },
      identifier: [{ system: artefactUri(config, 'LocalPublishedSlot'), value }],
      schedule: { reference: `Schedule/${schedule}` },
      status: 'free',
      start: formatInstant(start),
      end: formatInstant(end),
    },
  };
}

function bookableSlot(
  schedule: Schedule & { readonly id: string },
  { service }: ServiceCalendar,
  interval: Interval,
  lane: number,
  config: PublicConfig,
): WantedSlot {
  const key: PublishedKey = {
    kind: 'bookable',
    schedule: schedule.id,
    service: service.id,
    start: interval.start,
    lane,
  };
  const { resource, ...rest } = slotToPublish(schedule.id, key, interval, config);
  const payers = payerKindsOf(service, config);
  const url = artefactUri(config, 'LocalPayerKind');
  return {
    ...rest,
    resource: {
      ...resource,
      ...(payers.length > 0 && { extension: payers.map((valueCoding) => ({ url, valueCoding })) }),
      ...(service.category?.length && { serviceCategory: service.category }),
      serviceType: serviceTypeOf(service),
      ...(service.specialty?.length && { specialty: service.specialty }),
    },
  };
}

/** A Slot that blocks a Schedule on closed days of the installation; Medplum's `$find` respects it, too. */
export function closedSlot(
  schedule: Schedule & { readonly id: string },
  interval: Interval,
  description: string | undefined,
  config: PublicConfig,
): WantedSlot {
  const { resource, ...rest } = slotToPublish(
    schedule.id,
    { kind: 'closed', schedule: schedule.id, ...interval },
    interval,
    config,
  );
  return {
    ...rest,
    resource: { ...resource, status: 'busy-unavailable', ...(description && { comment: description }) },
  };
}

/**
 * The Slots of one service by its opening hours, in every lane, without regard to busy time. An appointment with its
 * buffers lies within the opening hours and `period`, as `$find` demands. Starts are from `from` to before `until`.
 */
export function wantedSlots(
  schedule: Schedule & { readonly id: string },
  calendar: ServiceCalendar,
  period: Interval,
  { start: from, end: until }: Interval,
  config: PublicConfig,
): WantedSlot[] {
  const { duration, bufferBefore, bufferAfter, alignment, capacity, hours, timeZone, closed } = calendar.parameters;
  const length = duration * MINUTE;
  const open = subtract(openIntervals(hours, timeZone, period), union(closed));
  const starts = open
    .flatMap(({ start, end }) => {
      const first = Math.max(start + bufferBefore * MINUTE, from);
      const last = Math.min(end - bufferAfter * MINUTE, until + length);
      return alignedStarts({ start: first, end: last }, alignment, length);
    })
    .filter((start) => start < until);
  const lanes = Array.from({ length: capacity }, (_, index) => index + 1);
  return lanes.flatMap((lane) =>
    starts.map((start) => bookableSlot(schedule, calendar, { start, end: start + length }, lane, config)),
  );
}
