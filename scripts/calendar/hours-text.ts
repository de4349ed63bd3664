import type { HealthcareServiceAvailableTime } from '@medplum/fhirtypes';
import { isWeekday, type Weekday, weekdays } from '../../core/time/weekly-rows.ts';

/** Syntax of weekly hours on the command line. */
export const HOURS_HELP =
  'Write hours as "mon-fri 09:00-12:30", several times as "mon,wed 08:00-12:00,14:00-18:00", and several groups of days ' +
  'with a semicolon between them. "sat 00:00-24:00" is the whole day.';

function daysIn(text: string): Weekday[] {
  return text.split(',').flatMap((part) => {
    const [from = '', to = from, ...rest] = part.toLowerCase().split('-');
    if (!isWeekday(from) || !isWeekday(to) || rest.length > 0 || weekdays.indexOf(from) > weekdays.indexOf(to)) {
      throw new Error(`'${part}' is not a day or a range of days: ${weekdays.join(', ')}. ${HOURS_HELP}`);
    }
    return weekdays.slice(weekdays.indexOf(from), weekdays.indexOf(to) + 1);
  });
}

const timePattern = /^(?:[01]\d|2[0-3]):[0-5]\d$/;

function timesIn(daysOfWeek: Weekday[], text: string): HealthcareServiceAvailableTime {
  const [from = '', to = '', ...rest] = text.split('-');
  if (from === '00:00' && to === '24:00') {
    return { daysOfWeek, allDay: true };
  }
  const end = to === '24:00' ? '00:00' : to;
  if (!timePattern.test(from) || !timePattern.test(end) || rest.length > 0) {
    throw new Error(`'${text}' is not a range of times. ${HOURS_HELP}`);
  }
  return { daysOfWeek, availableStartTime: `${from}:00`, availableEndTime: `${end}:00` };
}

/**
 * Reads weekly opening hours, such as `mon-fri 09:00-12:30; wed 14:00-18:00`. An end that is not after its start lies
 * on the next day.
 *
 * @returns the form of `HealthcareService.availableTime`
 * @throws Error that names the invalid part and the syntax
 */
export function parseHours(text: string): HealthcareServiceAvailableTime[] {
  const groups = text
    .split(';')
    .map((group) => group.trim())
    .filter((group) => group.length > 0);
  if (groups.length === 0) {
    throw new Error(HOURS_HELP);
  }
  return groups.flatMap((group) => {
    const [names = '', ...times] = group.split(/\s+/);
    const dayNames = daysIn(names);
    const parts = times.join('').split(',');
    return parts.map((part) => timesIn(dayNames, part));
  });
}

function daysText(names: readonly Weekday[]): string {
  const indices = names.map((name) => weekdays.indexOf(name)).sort((a, b) => a - b);
  const runs: number[][] = [];
  for (const index of indices) {
    const last = runs.at(-1);
    if (last && last.at(-1) === index - 1) {
      last.push(index);
    } else {
      runs.push([index]);
    }
  }
  return runs
    .map((run) => [run[0], run.at(-1)].map((index) => weekdays[index ?? -1] ?? '?'))
    .map(([from, to]) => (from === to ? from : `${from}-${to}`))
    .join(',');
}

/** Writes opening hours in the syntax of `parseHours`; `undefined` is open at any time. */
export function hoursText(times: readonly HealthcareServiceAvailableTime[] | undefined): string {
  if (times === undefined) {
    return 'always';
  }
  const groups = new Map<string, string[]>();
  for (const { daysOfWeek = [], allDay, availableStartTime = '', availableEndTime = '' } of times) {
    const end = availableEndTime === '00:00:00' ? '24:00' : availableEndTime.slice(0, 5);
    const time = allDay ? '00:00-24:00' : `${availableStartTime.slice(0, 5)}-${end}`;
    const names = daysText(daysOfWeek);
    groups.set(names, [...(groups.get(names) ?? []), time]);
  }
  return [...groups].map(([names, found]) => `${names} ${found.join(',')}`).join('; ') || 'never';
}
