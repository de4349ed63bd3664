import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { isClosedDays } from '../../fhir/scheduling/closed-days.ts';
import { type Interval, intersection, overlaps } from '../../time/interval.ts';
import { daysOf } from '../../time/local-day.ts';
import { DAY } from '../../time/time-zone.ts';
import { type CalendarProblem, type Checked, faulty } from '../problem.ts';
import { type Closure, periodInterval, serviceClosures } from '../time/not-available.ts';
import { closedSlot, type WantedSlot } from './bookable-slots.ts';

/** The longest closure, in milliseconds. */
const MAX_LENGTH = 366 * DAY;

/** The days on which the whole installation is closed. */
export function closedDays(services: readonly HealthcareService[], config: PublicConfig): Closure[] {
  return services
    .filter((service) => isClosedDays(service, config))
    .flatMap((service) => serviceClosures(service, `HealthcareService/${service.id}`));
}

/** The time of closed days. A missing start or end is a problem, but the value is valid nevertheless. */
export function closedTime({ period, path }: Closure, timeZone: string): Checked<Interval> {
  const time = periodInterval(period, timeZone, path);
  const length = time.value ? time.value.end - time.value.start : 0;
  const rule = Number.isFinite(length) ? 'can last at most a year' : 'must have a start and an end';
  const { problems } = length > MAX_LENGTH ? faulty('period-invalid', `Closed days ${rule}.`, path) : time;
  return { ...time, problems };
}

interface ClosedSlots {
  readonly value: readonly WantedSlot[];
  readonly problems: readonly CalendarProblem[];
  readonly isComplete: boolean;
}

/**
 * The Slots that block a Schedule on closed days of the installation, one a day, in the time zone of the Schedule. A
 * closure with a problem still closes the time that can be read.
 */
export function closedSlots(
  schedule: Schedule & { readonly id: string },
  closures: readonly Closure[],
  timeZone: string,
  period: Interval,
  config: PublicConfig,
): ClosedSlots {
  // The result has whole days, although the period may begin within a day.
  const around = { start: period.start - 2 * DAY, end: period.end + 2 * DAY };
  const all = closures.map((closure) => {
    const { value, problems } = closedTime(closure, timeZone);
    const time = value && intersection(value, around);
    const near = time ? [...daysOf(time, timeZone)].filter((day) => overlaps(day, period)) : [];
    const slots = near.map((day) => closedSlot(schedule, day, closure.description, config));
    return { slots, problems, isRead: value !== undefined };
  });
  return {
    value: all.flatMap(({ slots }) => slots),
    problems: all.flatMap(({ problems }) => problems),
    isComplete: all.every(({ isRead }) => isRead),
  };
}
