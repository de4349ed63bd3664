import type { Extension, HealthcareServiceAvailableTime, Schedule } from '@medplum/fhirtypes';
import {
  changeSchedule,
  type HoursChange,
  type OwnParameter,
  ownParameters,
} from '../../../core/fhir/scheduling/change-hours.ts';
import { lengthIn } from '../../../core/fhir/scheduling/scheduling-parameters.ts';
import { localDayOf } from '../../../core/time/local-day.ts';
import { areSame, availableTimes, isWeekday, rowsOf, type WeeklyRow } from '../../../core/time/weekly-rows.ts';
import { type LengthName, lengthNames } from './lengths.ts';

/** The hours of one calendar for one service, as typed. */
export interface OwnHours extends Readonly<Record<LengthName, number | ''>> {
  /** Whether the calendar has weekly hours. Otherwise the hours of the service apply. */
  readonly isOwn: boolean;
  readonly rows: readonly WeeklyRow[];
  /** Last published day; if empty, always some weeks ahead. */
  readonly until: string;
}

const inner = (extension: Extension | undefined, url: string): Extension[] =>
  (extension?.extension ?? []).filter((one) => one.url === url);

function availableTime(time: Extension): HealthcareServiceAvailableTime {
  const [start, end] = ['availableStartTime', 'availableEndTime'].map((url) => inner(time, url)[0]?.valueTime);
  return {
    daysOfWeek: inner(time, 'daysOfWeek').flatMap(({ valueCode = '' }) => (isWeekday(valueCode) ? valueCode : [])),
    ...(inner(time, 'allDay').some(({ valueBoolean }) => valueBoolean) && { allDay: true }),
    ...(start !== undefined && { availableStartTime: start }),
    ...(end !== undefined && { availableEndTime: end }),
  };
}

/** Whether a calendar's hours include closures, which would be removed together with the hours. */
export function hasClosures(schedule: Schedule, service: string): boolean {
  const availability = inner(ownParameters(schedule, service), 'availability');
  return availability.some((extension) => inner(extension, 'notAvailableTime').length > 0);
}

/** The hours of a calendar for a service, given by reference. The default is the weekly hours of the service. */
export function ownHoursOf(
  schedule: Schedule,
  service: string,
  ofService: readonly WeeklyRow[],
  timeZone: string,
): OwnHours {
  const parameters = ownParameters(schedule, service);
  const availability = inner(parameters, 'availability');
  const times = availability.flatMap((extension) => inner(extension, 'availableTime')).map(availableTime);
  const end = schedule.planningHorizon?.end ?? '';
  const instant = end.length > 10 ? Date.parse(end) : Number.NaN;
  const length = (name: LengthName): number | '' => lengthIn(parameters, name) ?? '';
  return {
    isOwn: availability.length > 0,
    rows: availability.length === 0 ? ofService : times.length === 0 ? [] : rowsOf(times),
    duration: length('duration'),
    bufferBefore: length('bufferBefore'),
    bufferAfter: length('bufferAfter'),
    until: Number.isNaN(instant) ? end : localDayOf(instant, timeZone),
  };
}

/** A duration that divides the day becomes the alignment interval, too. */
function lengthChange(name: LengthName, value: number | ''): HoursChange {
  if (value === '') {
    return {};
  }
  const every = name === 'duration' && value > 0 && 1440 % value === 0 ? { every: value } : {};
  return { [name]: value, ...every };
}

/** The calendar with the typed hours. Unchanged values stay as stored. */
export function scheduleWith(schedule: Schedule, service: string, stored: OwnHours, typed: OwnHours): Schedule {
  const isOther = typed.isOwn && (!stored.isOwn || !areSame(typed.rows, stored.rows));
  const changed = lengthNames.filter((name) => typed[name] !== stored[name]);
  const change: HoursChange = Object.assign(
    {},
    isOther && { hours: availableTimes(typed.rows) },
    ...changed.map((name) => lengthChange(name, typed[name])),
  );
  const takenBack: OwnParameter[] = [
    ...(stored.isOwn && !typed.isOwn ? (['availability'] as const) : []),
    ...changed.filter((name) => typed[name] === ''),
    ...(changed.includes('duration') && typed.duration === '' ? (['alignmentInterval'] as const) : []),
  ];
  const isSame = Object.keys(change).length === 0 && takenBack.length === 0;
  const next = isSame ? schedule : changeSchedule(schedule, service, change, takenBack);
  return typed.until === stored.until ? next : withHorizon(next, typed.until);
}

function withHorizon({ planningHorizon, ...rest }: Schedule, until: string): Schedule {
  const period = { ...(planningHorizon?.start && { start: planningHorizon.start }), ...(until && { end: until }) };
  return Object.keys(period).length > 0 ? { ...rest, planningHorizon: period } : rest;
}
