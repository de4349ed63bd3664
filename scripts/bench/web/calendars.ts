import type { Schedule } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../../core/config/config.ts';
import { DAY, instantOf, localTimeOf } from '../../../core/time/time-zone.ts';
import { createPatient, createSchedule, createSlots, freeSlot } from '../create.ts';
import type { Installation } from '../installation.ts';
import { measure } from '../measure.ts';
import { bookByTransaction } from '../targets.ts';

/** A week of a large clinic. */
export interface Week {
  /** Its Monday, for example `2027-01-11`. */
  readonly monday: string;
  /** Ids of the calendars. */
  readonly schedules: readonly string[];
}

const HALF_HOUR = 1_800_000;

/** From eight to four. */
const OPENS = 16;
const TIMES = 16;

/** Every third time is booked. */
const BOOKED = 3;

function mondayAfter(now: number, timeZone: string): string {
  const local = localTimeOf(timeZone, now);
  const weekday = new Date(local).getUTCDay();
  return new Date(local + ((8 - weekday) % 7 || 7) * DAY).toISOString().slice(0, 10);
}

/**
 * Makes a number of calendars with half-hour times from Monday to Friday of next week; every third time is booked.
 *
 * @param now - milliseconds since 1970 UTC
 */
export async function makeWeek(
  installation: Installation,
  config: BookingConfig,
  count: number,
  now: number,
): Promise<Week> {
  const monday = mondayAfter(now, config.timeZone);
  const schedules: Schedule[] = [];
  for (let index = 1; index <= count; index += 1) {
    const actor = [{ display: `Dr. Benchmark ${String(index).padStart(2, '0')}` }];
    schedules.push(await createSchedule(installation, { actor }));
  }
  const wanted = schedules.flatMap((schedule) =>
    Array.from({ length: 5 * TIMES }, (_, index) => {
      const local = Date.parse(`${monday}T00:00:00Z`) + Math.floor(index / TIMES) * DAY;
      const start = instantOf(config.timeZone, local + (OPENS + (index % TIMES)) * HALF_HOUR);
      return freeSlot(schedule, start, HALF_HOUR);
    }),
  );
  const slots = await createSlots(installation, wanted);
  const patient = await createPatient(installation);
  const places = slots.filter((_, index) => index % BOOKED === 0).map((slot) => ({ slot, patient }));
  const { conflicts, failures } = await measure(places, 4, (place) => bookByTransaction(place, installation, config));
  if (conflicts + failures > 0) {
    throw new Error(`${conflicts + failures} of ${places.length} times could not be booked.`);
  }
  return { monday, schedules: schedules.map(({ id }) => id ?? '') };
}
