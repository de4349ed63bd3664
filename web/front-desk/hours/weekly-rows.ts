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

const isWeekday = (day: string): day is Weekday => weekdays.some((one) => one === day);

const list = <T>(value: readonly T[] | undefined): readonly T[] => (Array.isArray(value) ? value : []);

/** The weekly hours of a service as lines. All day is from midnight to midnight. */
export function rowsOf(times: readonly HealthcareServiceAvailableTime[] | undefined): WeeklyRow[] {
  return list(times).map(({ daysOfWeek, allDay, availableStartTime, availableEndTime }) => ({
    days: list(daysOfWeek).filter(isWeekday),
    start: allDay ? '00:00' : String(availableStartTime ?? '').slice(0, 5),
    end: allDay ? '00:00' : String(availableEndTime ?? '').slice(0, 5),
  }));
}

const isTime = (text: string): boolean => /^([01]\d|2[0-3]):[0-5]\d$/.test(text);

/** Whether every line has days and times. */
export function areComplete(rows: readonly WeeklyRow[]): boolean {
  return rows.every(({ days, start, end }) => days.length > 0 && isTime(start) && isTime(end));
}

/** The lines as a service has them. No line at all is never open. */
export function availableTimes(rows: readonly WeeklyRow[]): HealthcareServiceAvailableTime[] {
  return rows.map(({ days, start, end }) => ({
    daysOfWeek: [...days],
    availableStartTime: `${start}:00`,
    availableEndTime: `${end}:00`,
  }));
}
