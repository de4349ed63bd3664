import type { Appointment, Slot } from '@medplum/fhirtypes';
import { holdsSlots } from '../../../core/booking/appointment/status.ts';
import { publishedPeriod } from '../../../core/calendar/publish/offers.ts';
import { planSlots } from '../../../core/calendar/publish/publish.ts';
import { periodInterval } from '../../../core/calendar/time/not-available.ts';
import { openIntervals } from '../../../core/calendar/time/weekly-hours.ts';
import type { BookingConfig } from '../../../core/config/config.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { covers, subtract, union } from '../../../core/time/interval-set.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { slotsNamedBy, timeOf } from '../day/entries.ts';
import { closuresIn, type HoursData, publishingIn, servicesIn } from './calendars.ts';

/** The part of the configuration that a preview depends on. */
export type PreviewConfig = Pick<BookingConfig, 'uris' | 'calendar' | 'smallestBooking'>;

/** What was read of one Schedule for a preview. */
export interface Stored {
  /** All Slots but those that ended at least a day ago. */
  readonly slots: readonly Slot[];
  /** The appointments from now on, of all Schedules. */
  readonly appointments: readonly Appointment[];
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
}

/** What a change of opening hours would do to one Schedule. */
export interface Preview {
  /** Starts of the free times that would come and go, in milliseconds since 1970 UTC, in order. */
  readonly published: readonly number[];
  readonly withdrawn: readonly number[];
  /** Appointments that would lie outside the opening hours. They stay. */
  readonly outside: readonly Appointment[];
  /** Why nothing is published. */
  readonly problems: readonly string[];
}

type StoredSchedule = HoursData['schedules'][number];

/** The appointments that hold time of a Schedule. */
function appointmentsOf(slots: readonly Slot[], appointments: readonly Appointment[]): Appointment[] {
  const own = new Set(slots.map(({ id }) => id));
  return appointments.filter((one) => holdsSlots(one) && slotsNamedBy(one).some((id) => own.has(id)));
}

/** The appointments of a Schedule that its opening hours do not cover. */
function outsideOf(schedule: StoredSchedule, data: HoursData, stored: Stored, config: PreviewConfig): Appointment[] {
  const publishing = publishingIn(schedule, data, config);
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const [first] = calendars;
  if (!first) {
    return [];
  }
  const booked = appointmentsOf(stored.slots, stored.appointments).flatMap((appointment) => {
    const time = timeOf(appointment);
    return time && time.end > stored.now ? [{ appointment, time }] : [];
  });
  const window = { start: stored.now - DAY, end: Math.max(stored.now, ...booked.map(({ time }) => time.end)) + DAY };
  const closures = closuresIn(data, config).flatMap(
    ({ period, path }) => periodInterval(period, first.parameters.timeZone, path).value ?? [],
  );
  const hours = calendars.flatMap(({ parameters: { hours: weekly, timeZone, closed } }) =>
    subtract(openIntervals(weekly, timeZone, window), union(closed)),
  );
  const open = subtract(union(hours), union(closures));
  return booked.filter(({ time }) => !covers(open, time)).map(({ appointment }) => appointment);
}

/** What the service would publish and withdraw of a Schedule, decided by its own rules on what is stored now. */
export function previewOf(schedule: StoredSchedule, data: HoursData, stored: Stored, config: PreviewConfig): Preview {
  const { slots, appointments, now } = stored;
  const { horizonWeeks } = config.calendar;
  const publishing = publishingIn(schedule, data, config);
  const ends = (publishing.kind === 'on' ? publishing.calendars : []).map(
    ({ parameters }) => publishedPeriod(schedule, parameters.timeZone, now, horizonWeeks).value?.end ?? now,
  );
  const last = slots.flatMap(({ end }) => parseInstant(end) ?? []);
  const plan = planSlots(
    {
      schedule,
      services: servicesIn(schedule, data),
      publishing,
      closedDays: closuresIn(data, config),
      slots,
      held: new Set(appointmentsOf(slots, appointments).flatMap(slotsNamedBy)),
      window: { start: now - DAY, end: Math.max(now, ...last, ...ends) + DAY },
      now,
      horizonWeeks,
    },
    config,
  );
  const isFree = (slot: Slot | undefined): boolean => slot?.status === 'free';
  const starts = (isMeant: (before: Slot | undefined, after: Slot) => boolean): number[] =>
    plan.changes
      .filter(({ stored: before, resource }) => isMeant(before, resource))
      .flatMap(({ resource }) => parseInstant(resource.start) ?? [])
      .toSorted((one, other) => one - other);
  return {
    published: starts((before, after) => !isFree(before) && isFree(after)),
    withdrawn: starts((before, after) => isFree(before) && !isFree(after)),
    outside: outsideOf(schedule, data, stored, config),
    problems: plan.problems.map(({ expression, diagnostics }) => `${expression}: ${diagnostics}`),
  };
}
