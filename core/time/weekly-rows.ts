import type { HealthcareServiceAvailableTime } from '@medplum/fhirtypes';

/** The days of the week as FHIR names them. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

export type Weekday = (typeof weekdays)[number];

export const isWeekday = (day: string): day is Weekday => weekdays.some((one) => one === day);

/** One line of weekly hours in a form. */
export interface WeeklyRow {
  readonly days: readonly Weekday[];
  /** `09:00`. */
  readonly start: string;
  /** `12:30`; `00:00` is the midnight after the day, and a time not after `start` is on the next day. */
  readonly end: string;
}

const list = <T>(value: readonly T[] | undefined): readonly T[] => (Array.isArray(value) ? value : []);

const allDay = { start: '00:00', end: '00:00' } as const;

/** A service without opening hours is open at any time. */
const alwaysOpen: WeeklyRow = { days: weekdays, ...allDay };

/**
 * The weekly hours of a service as lines. An entry without times is never open and has no line. A service without
 * entries is open at any time.
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

export function areComplete(rows: readonly WeeklyRow[]): boolean {
  return rows.every(({ days, start, end }) => days.length > 0 && isTime(start) && isTime(end));
}

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));

const DAY = 1440;

const lengthOf = ({ start, end }: WeeklyRow): number => minutesOf(end) - minutesOf(start) + (end <= start ? DAY : 0);

/** A possible mistake in weekly hours. Lines are counted from 1. */
export type Doubt =
  | { readonly kind: 'overnight'; readonly line: number; readonly end: string; readonly hours: number }
  | { readonly kind: 'overlap'; readonly line: number; readonly other: number };

/** The opening times of a line, in minutes since Monday's midnight. */
const openIn = (row: WeeklyRow): { readonly start: number; readonly end: number }[] =>
  row.days.map((day) => {
    const start = weekdays.indexOf(day) * DAY + minutesOf(row.start);
    return { start, end: start + lengthOf(row) };
  });

/** Whether lines overlap; one on Sunday can overlap Monday of the next week. */
function areOverlapping(row: WeeklyRow, otherRow: WeeklyRow): boolean {
  const week = 7 * DAY;
  return openIn(row).some((one) =>
    openIn(otherRow).some((two) =>
      [-week, 0, week].some((shift) => one.start < two.end + shift && two.start + shift < one.end),
    ),
  );
}

/**
 * The possible mistakes in complete lines, to ask about before they are saved: lines that run into the next day, whose
 * times may be reversed, and lines that overlap.
 */
export function doubtsIn(rows: readonly WeeklyRow[]): Doubt[] {
  return rows.flatMap((row, index): Doubt[] => {
    const isOvernight = row.end <= row.start && row.end !== allDay.end;
    const others = rows.map((weeklyRow, at) => ({ other: weeklyRow, at })).filter(({ at }) => at > index);
    return [
      ...(isOvernight
        ? [{ kind: 'overnight', line: index + 1, end: row.end, hours: Math.round(lengthOf(row) / 6) / 10 } as const]
        : []),
      ...others
        .filter(({ other }) => areOverlapping(row, other))
        .map(({ at }) => ({ kind: 'overlap', line: index + 1, other: at + 1 }) as const),
    ];
  });
}

export const areSame = (rows: readonly WeeklyRow[], others: readonly WeeklyRow[]): boolean =>
  JSON.stringify(rows) === JSON.stringify(others);

/**
 * The lines as `HealthcareService.availableTime`. No line becomes one entry without times, which is never open; no
 * entry would mean open at any time.
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
