import type { Extension, HealthcareServiceAvailableTime } from '@medplum/fhirtypes';
import { type Interval, type IntervalSet, intersect, union } from '../../time/interval.ts';
import { DAY, instantOf, localTimeOf } from '../../time/time-zone.ts';
import { weekdays } from '../../time/weekly-rows.ts';
import { countProblems, MAX_HOURS } from '../parameters/parameter-values.ts';
import { type Checked, combine, faulty, sound } from '../problem.ts';

/** Weekly opening hours of a Schedule. */
export interface WeeklyHours {
  /** 0 is Sunday. */
  readonly days: readonly number[];
  /** Milliseconds after midnight, in local time. */
  readonly start: number;
  /** Like `start`. If it is not after `start`, it is on the next day. */
  readonly end: number;
}

/** Open at any time. */
export const alwaysOpen: readonly WeeklyHours[] = [{ days: [0, 1, 2, 3, 4, 5, 6], start: 0, end: 0 }];

/** The days of the week by their numbers. */
const dayNames: readonly string[] = ['sun', ...weekdays.slice(0, -1)];

const timePattern = /^(?<hours>[01]\d|2[0-3]):(?<minutes>[0-5]\d):(?<seconds>[0-5]\d)(?:\.0+)?$/;

function timeOfDay(value: string): number | undefined {
  const parts = timePattern.exec(value)?.groups;
  return parts && Number(parts.hours) * 3_600_000 + Number(parts.minutes) * 60_000 + Number(parts.seconds) * 1000;
}

interface Entry {
  readonly days: readonly (string | undefined)[];
  readonly allDay: boolean;
  readonly start: string | undefined;
  readonly end: string | undefined;
}

/** An entry without times is never open, as in Medplum. */
function readEntry({ days, allDay, start, end }: Entry, path: string): Checked<WeeklyHours | undefined> {
  const numbers = days.map((day) => dayNames.indexOf(day ?? ''));
  if (numbers.includes(-1)) {
    return faulty('hours-invalid', `A day of the week must be one of ${dayNames.join(', ')}.`, `${path}.daysOfWeek`);
  }
  if (allDay) {
    return start === undefined && end === undefined
      ? sound({ days: numbers, start: 0, end: 0 })
      : faulty('parameters-contradictory', 'Opening hours can be all day or have times, not both.', path);
  }
  if (start === undefined && end === undefined) {
    return sound(undefined);
  }
  const times = [timeOfDay(start ?? ''), timeOfDay(end ?? '')];
  const [from, to] = times;
  return from === undefined || to === undefined
    ? faulty(
        'hours-invalid',
        'Opening hours must have a start and an end, both written as 09:00:00; midnight at the end is 00:00:00.',
        path,
      )
    : sound({ days: numbers, start: from, end: to });
}

/** Reads all entries, or gives all problems. If there are more than `MAX_HOURS`, none is read. */
function readEntries<T>(
  entries: readonly T[],
  read: (entry: T, index: number) => Checked<WeeklyHours | undefined>,
  path: string,
): Checked<readonly WeeklyHours[]> {
  const problems = countProblems(entries.length, MAX_HOURS, 'entries of opening hours', path);
  return problems.length > 0
    ? { value: undefined, problems }
    : combine(entries.map(read).map(({ value, problems }) => ({ value: value && [value], problems })));
}

/** Reads `HealthcareService.availableTime`; an empty list is never open. */
export function serviceHours(
  times: readonly HealthcareServiceAvailableTime[],
  path: string,
): Checked<readonly WeeklyHours[]> {
  return readEntries(
    times,
    ({ daysOfWeek = [], allDay = false, availableStartTime, availableEndTime }, index) =>
      readEntry({ days: daysOfWeek, allDay, start: availableStartTime, end: availableEndTime }, `${path}[${index}]`),
    path,
  );
}

function extensionsNamed(extension: Extension, url: string): Extension[] {
  return (extension.extension ?? []).filter((inner) => inner.url === url);
}

/** Reads one `availableTime`. A start or end without a value is present, and therefore a problem. */
function readTimeExtension(extension: Extension, path: string): Checked<WeeklyHours | undefined> {
  const [starts, ends] = [
    extensionsNamed(extension, 'availableStartTime'),
    extensionsNamed(extension, 'availableEndTime'),
  ];
  if (starts.length > 1 || ends.length > 1) {
    return faulty('parameters-contradictory', 'Opening hours must have exactly one start and one end.', path);
  }
  const entry = {
    days: extensionsNamed(extension, 'daysOfWeek').map(({ valueCode }) => valueCode),
    allDay: extensionsNamed(extension, 'allDay').some(({ valueBoolean }) => valueBoolean === true),
    start: starts[0] && (starts[0].valueTime ?? ''),
    end: ends[0] && (ends[0].valueTime ?? ''),
  };
  return readEntry(entry, path);
}

/** Reads the extension `availability` of a Schedule, which has the shape of R5's Availability. */
export function scheduleHours(availability: Extension, path: string): Checked<readonly WeeklyHours[]> {
  return readEntries(
    extensionsNamed(availability, 'availableTime'),
    (time, index) => readTimeExtension(time, `${path}.extension('availableTime')[${index}]`),
    path,
  );
}

/** The opening times within a window. Hours are local times: they stay the same when the clocks change. */
export function openIntervals(hours: readonly WeeklyHours[], timeZone: string, window: Interval): IntervalSet {
  const lastDay = Math.floor(localTimeOf(timeZone, window.end) / DAY);
  const intervals: Interval[] = [];
  // Hours that begin on the day before may extend past midnight.
  for (let day = Math.floor(localTimeOf(timeZone, window.start) / DAY) - 1; day <= lastDay; day++) {
    const weekday = (((day + 4) % 7) + 7) % 7;
    for (const { start, end } of hours.filter(({ days }) => days.includes(weekday))) {
      const lastMidnight = (end > start ? day : day + 1) * DAY;
      intervals.push({
        start: instantOf(timeZone, day * DAY + start),
        end: instantOf(timeZone, lastMidnight + end),
      });
    }
  }
  return intersect(union(intervals), union([window]));
}
