import type { Slot } from '@medplum/fhirtypes';
import { holdsSlots, statusQuery } from '../../core/booking/appointment/status.ts';
import { openingHoursOf } from '../../core/calendar/opening-hours.ts';
import { periodInterval } from '../../core/calendar/time/not-available.ts';
import { type ClosedDay, close, closedDaysIn, emptyClosedDays, reopen } from '../../core/fhir/closed-days.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { holidaysOf } from '../../core/fhir/public-holidays.ts';
import { isLocalDay } from '../../core/time/local-day.ts';
import type { CredentialArguments } from '../cli/credentials.ts';
import { formatTable } from '../cli/table.ts';
import { searchAll } from '../medplum/project.ts';
import { findTarget } from './find.ts';
import { follow, openCalendars, type Session, save, type WritingArguments } from './session.ts';

/**
 * Reads the days to close.
 *
 * @param last - if absent, the first day is also the last
 * @throws Error that says how days are written
 */
export function closedDay(start: string, last: string | undefined, reason: string): ClosedDay {
  const end = last ?? start;
  if (!isLocalDay(start) || !isLocalDay(end)) {
    throw new Error(`Write days as 2027-12-24, not '${isLocalDay(start) ? end : start}'.`);
  }
  if (end < start) {
    throw new Error(`The last day, ${end}, is before the first, ${start}.`);
  }
  return { start, end, reason };
}

/**
 * The public holidays of a year.
 *
 * @param region - country, or country and state: `AT`, `DE-BY`
 * @throws Error that says which regions there are
 */
export function publicHolidays(region: string, year: number): readonly ClosedDay[] {
  const found = holidaysOf(region, year);
  if ('problem' in found) {
    throw new Error(found.problem);
  }
  return found;
}

interface CloseArguments extends WritingArguments {
  readonly reason?: string;
  readonly holidays?: string;
  readonly year?: number;
  readonly schedule?: string;
}

function daysToClose(first: string | undefined, last: string | undefined, given: CloseArguments): ClosedDay[] {
  const { holidays, year, reason = 'closed' } = given;
  if (holidays !== undefined && year === undefined) {
    throw new Error('Say which year: --year 2027.');
  }
  const days = [
    ...(holidays !== undefined && year !== undefined ? publicHolidays(holidays, year) : []),
    ...(first !== undefined ? [closedDay(first, last, reason)] : []),
  ];
  if (days.length === 0) {
    throw new Error('Say which days: 2027-12-24, 2027-12-24 2027-12-26, or --holidays DE-BY --year 2027.');
  }
  return days;
}

const dayRow = ({ start, end, reason }: ClosedDay): string[] => [start, end, reason];

const printDays = (days: readonly ClosedDay[]): void =>
  console.log(formatTable(['first', 'last', 'reason'], days.map(dayRow)));

/** Lists the closed days. */
export async function listClosedDays(given: CredentialArguments): Promise<void> {
  const { calendars } = await openCalendars(given);
  const days = calendars.closed.flatMap(closedDaysIn);
  if (days.length === 0) {
    console.log('No day is closed. npm run calendar -- close 2027-12-24 --reason Christmas');
  } else {
    printDays(days);
  }
}

/** Bookings are not touched: the clinic decides about them. */
async function warnOfBookings(
  { medplum, config }: Session,
  { start, end }: ClosedDay,
  schedule?: string,
): Promise<void> {
  const { value: time } = periodInterval({ start, end }, config.timeZone, 'during');
  const query = new URLSearchParams([
    ['date', `ge${formatInstant(time?.start ?? 0)}`],
    ['date', `lt${formatInstant(time?.end ?? 0)}`],
    ['status', statusQuery(holdsSlots)],
  ]);
  if (schedule) {
    query.set('slot:Slot.schedule', `Schedule/${schedule}`);
  }
  const found = await searchAll(medplum, 'Appointment', query);
  if (found.length > 0) {
    console.log(`${found.length} appointments from ${start} to ${end} stay as they are: call the patients.`);
  }
}

/** Schedules that follow the list of closed days. */
function publishedSchedules({ calendars, config }: Session): string[] {
  return calendars.schedules
    .filter((schedule) => openingHoursOf(schedule, calendars, config).publishing.kind !== 'off')
    .map(({ id }) => id);
}

/** An absence of one schedule's actor: a Slot that takes the time. */
async function closeSchedule(session: Session, name: string, day: ClosedDay, given: CloseArguments): Promise<void> {
  const { calendars, config, medplum } = session;
  const target = findTarget(name, calendars);
  if (target.kind !== 'schedule') {
    throw new Error(`'${name}' is a service. Name one schedule, or leave --schedule out to close all of them.`);
  }
  const publishing = openingHoursOf(target.schedule, calendars, config).publishing;
  const zone = publishing.kind === 'on' ? publishing.calendars[0]?.parameters.timeZone : undefined;
  const { value } = periodInterval({ start: day.start, end: day.end }, zone ?? config.timeZone, 'during');
  const slot: Slot = {
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${target.schedule.id}` },
    status: 'busy-unavailable',
    start: formatInstant(value?.start ?? 0),
    end: formatInstant(value?.end ?? 0),
    comment: day.reason,
  };
  if (!given.dryRun) {
    const { id } = await medplum.createResource(slot);
    console.log(`Slot/${id} takes the time from ${day.start} to ${day.end}. Delete it to take this back.`);
  }
  await warnOfBookings(session, day, target.schedule.id);
}

/** Closes days. */
export async function closeDays(
  first: string | undefined,
  last: string | undefined,
  given: CloseArguments,
): Promise<void> {
  const days = daysToClose(first, last, given);
  const session = await openCalendars(given);
  printDays(days);
  if (given.schedule !== undefined) {
    for (const day of days) {
      await closeSchedule(session, given.schedule, day, given);
    }
    return;
  }
  for (const day of days) {
    await warnOfBookings(session, day);
  }
  const [stored = emptyClosedDays(session.config)] = session.calendars.closed;
  await write(session, close(stored, days), given);
}

async function write(session: Session, list: Parameters<typeof close>[0], given: WritingArguments): Promise<void> {
  const schedules = publishedSchedules(session);
  if (given.dryRun) {
    console.log(`Nothing was changed. ${schedules.length} schedules would follow.`);
    return;
  }
  const since = Date.now();
  await save(session, list);
  console.log(`Closed days: ${closedDaysIn(list).length}; ${schedules.length} schedules follow.`);
  await follow(session, { schedules, since, by: 'sweep' }, given.wait);
}

/** Reopens closed days. */
export async function reopenDays(first: string, last: string | undefined, given: WritingArguments): Promise<void> {
  const day = closedDay(first, last, '');
  const session = await openCalendars(given);
  const stored = session.calendars.closed.find(
    (list) => closedDaysIn(reopen(list, day)).length < closedDaysIn(list).length,
  );
  if (!stored) {
    throw new Error(`No closed days begin from ${day.start} to ${day.end}. npm run calendar -- closed lists them.`);
  }
  await write(session, reopen(stored, day), given);
}
