import type { HealthcareServiceAvailableTime } from '@medplum/fhirtypes';

/** The days of the week as FHIR names them. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** A day of the week. */
export type Weekday = (typeof weekdays)[number];

/** One line of weekly hours, as it is typed. */
export interface WeeklyRow {
  readonly days: readonly Weekday[];
  /** `09:00`. */
  readonly start: string;
  /** `12:30`; `00:00` is the midnight after the day, and a time not after `start` is on the next day. */
  readonly end: string;
}

/** Whether a text names a day of the week. */
export const isWeekday = (day: string): day is Weekday => weekdays.some((one) => one === day);

const list = <T>(value: readonly T[] | undefined): readonly T[] => (Array.isArray(value) ? value : []);

const allDay = { start: '00:00', end: '00:00' } as const;

/** What a service without opening hours means: it is open at any time. */
const alwaysOpen: WeeklyRow = { days: weekdays, ...allDay };

/**
 * The weekly hours of a service as lines. All day is from midnight to midnight; an entry without times is never open and
 * no line. A service without entries is open at any time.
 */
export function rowsOf(times: readonly HealthcareServiceAvailableTime[] | undefined): WeeklyRow[] {
  const entries = list(times);
  return entries.length === 0
    ? [alwaysOpen]
    : entries
        .filter((entry) => entry.allDay || entry.availableStartTime || entry.availableEndTime)
        .map((entry) => ({
          days: list(entry.daysOfWeek).filter(isWeekday),
          start: entry.allDay ? allDay.start : String(entry.availableStartTime ?? '').slice(0, 5),
          end: entry.allDay ? allDay.end : String(entry.availableEndTime ?? '').slice(0, 5),
        }));
}

const isTime = (text: string): boolean => /^([01]\d|2[0-3]):[0-5]\d$/.test(text);

/** Whether every line has days and times. */
export function areComplete(rows: readonly WeeklyRow[]): boolean {
  return rows.every(({ days, start, end }) => days.length > 0 && isTime(start) && isTime(end));
}

/** Whether two lists of lines say the same. */
export const areSame = (rows: readonly WeeklyRow[], others: readonly WeeklyRow[]): boolean =>
  JSON.stringify(rows) === JSON.stringify(others);

/**
 * The lines as a service has them. No line at all is never open: one entry without times, since no entry would mean open
 * at any time.
 */
export function availableTimes(rows: readonly WeeklyRow[]): HealthcareServiceAvailableTime[] {
  if (rows.length === 0) {
    return [{ daysOfWeek: [...weekdays] }];
  }
  return rows.map(({ days, start, end }) =>
    start === allDay.start && end === allDay.end
      ? { daysOfWeek: [...days], allDay: true }
      : { daysOfWeek: [...days], availableStartTime: `${start}:00`, availableEndTime: `${end}:00` },
  );
}
