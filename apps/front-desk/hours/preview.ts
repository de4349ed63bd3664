import type { Appointment, Slot } from '@medplum/fhirtypes';
import { holdersOf } from '../../../core/booking/appointment/reads.ts';
import { type OpeningHours, openingHoursOf } from '../../../core/calendar/opening-hours.ts';
import { type Preview, previewOf } from '../../../core/calendar/publish/preview.ts';
import { periodInterval } from '../../../core/calendar/time/not-available.ts';
import { openIntervals } from '../../../core/calendar/time/weekly-hours.ts';
import type { PublicConfig } from '../../../core/fhir/artefacts.ts';
import type { HoursData } from '../../../core/fhir/scheduling/hours-data.ts';
import { covers, subtract, union } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { timeOf } from '../day/entries.ts';

interface Stored {
  /** All Slots but those that ended at least a day ago. */
  readonly slots: readonly Slot[];
  /** The appointments from now on, of all Schedules. */
  readonly appointments: readonly Appointment[];
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
}

/** The effect of changed opening hours on one Schedule. */
export interface ChangePreview extends Preview {
  /** Appointments outside the new opening hours. They stay. */
  readonly outside: readonly Appointment[];
}

function outsideOf({ publishing, closedDays }: OpeningHours, { slots, appointments, now }: Stored): Appointment[] {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const [first] = calendars;
  if (!first) {
    return [];
  }
  const holders = holdersOf(appointments);
  const booked = [...new Set(slots.flatMap(({ id = '' }) => holders.get(id) ?? []))].flatMap((appointment) => {
    const time = timeOf(appointment);
    return time && time.end > now ? [{ appointment, time }] : [];
  });
  const window = { start: now - DAY, end: Math.max(now, ...booked.map(({ time }) => time.end)) + DAY };
  const closures = closedDays.flatMap(
    ({ period, path }) => periodInterval(period, first.parameters.timeZone, path).value ?? [],
  );
  const hours = calendars.flatMap(({ parameters: { hours: weekly, timeZone, closed } }) =>
    subtract(openIntervals(weekly, timeZone, window), union(closed)),
  );
  const open = subtract(union(hours), union(closures));
  return booked.filter(({ time }) => !covers(open, time)).map(({ appointment }) => appointment);
}

/** The Slots that the service would publish and withdraw, by its own rules and the stored data. */
export function previewChange(
  schedule: HoursData['schedules'][number],
  data: HoursData,
  stored: Stored,
  config: PublicConfig,
): ChangePreview {
  const hours = openingHoursOf(schedule, data, config);
  const held = new Set(holdersOf(stored.appointments).keys());
  return { ...previewOf(hours, { ...stored, held }, config), outside: outsideOf(hours, stored) };
}
