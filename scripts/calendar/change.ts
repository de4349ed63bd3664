import type { Schedule } from '@medplum/fhirtypes';
import { changeSchedule, changeService, type HoursChange } from '../../core/fhir/change-hours.ts';
import { servicesOf, withChange } from '../../core/fhir/hours-data.ts';
import { isSameJson } from '../../core/fhir/json.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { doubtsIn, rowsOf } from '../../core/time/weekly-rows.ts';
import type { CredentialArguments } from '../cli/credentials.ts';
import { findService, findTarget, labelOf, type Target } from './find.ts';
import { parseHours } from './hours-text.ts';
import { preview } from './preview.ts';
import { type Calendars, nameOf, readSlots } from './read.ts';
import { follow, openCalendars, requireUsable, type Session, save, type WritingArguments } from './session.ts';
import { previewText, serviceName } from './texts.ts';

/** The options by which opening hours are given. */
export interface HoursArguments {
  readonly hours?: string;
  readonly duration?: number;
  readonly every?: number;
  readonly bufferBefore?: number;
  readonly bufferAfter?: number;
  readonly places?: number;
  readonly timeZone?: string;
}

/** Opening hours as they are stored. What may be a mistake in them is said, as the front desk asks about it. */
function readHours(text: string): NonNullable<HoursChange['hours']> {
  const hours = parseHours(text);
  for (const doubt of doubtsIn(rowsOf(hours))) {
    console.log(
      doubt.kind === 'overnight'
        ? `Hours ${doubt.line} run until ${doubt.end} on the next day: ${doubt.hours} hours. Is that right?`
        : `Hours ${doubt.line} and ${doubt.other} overlap. Is that right?`,
    );
  }
  return hours;
}

/** What the options ask for. */
export function hoursChange({ hours, ...others }: HoursArguments): HoursChange {
  const { duration, every, bufferBefore, bufferAfter, places, timeZone } = others;
  const change = { duration, every, bufferBefore, bufferAfter, places, timeZone };
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), ...(hours !== undefined && { hours: readHours(hours) }) };
}

async function printPreview(session: Session, target: Target, calendars: Calendars): Promise<void> {
  if (target.schedules.length === 0) {
    console.log('No schedule offers this service: nothing is published.');
  }
  for (const { id } of target.schedules) {
    const schedule = calendars.schedules.find((one) => one.id === id);
    if (schedule) {
      console.log(`${nameOf(schedule, calendars)} (Schedule/${id})`);
      const now = Date.now();
      const slots = await readSlots(session.medplum, schedule.id, now - DAY);
      const found = await preview(session.medplum, schedule, slots, calendars, now, session.config);
      for (const line of previewText(found, session.config)) {
        console.log(`  ${line}`);
      }
    }
  }
}

/** The service that the command means, of those that the schedule offers. */
function serviceIn(schedule: Schedule, name: string | undefined, calendars: Calendars): string {
  const services = servicesOf(schedule, calendars);
  const chosen = name === undefined ? services : [findService(name, calendars)];
  const [service, ...more] = chosen;
  if (!service) {
    throw new Error('The schedule offers no service: set the hours of a service, and name it in Schedule.serviceType.');
  }
  if (more.length > 0) {
    throw new Error(`The schedule offers ${services.map(serviceName).join(', ')}. Say which one: --service.`);
  }
  return `HealthcareService/${service.id}`;
}

/** Writes a change to a target, or shows what it would do. */
async function apply(
  session: Session,
  target: Target,
  resource: Calendars['schedules'][number] | Calendars['services'][number],
  given: WritingArguments,
): Promise<void> {
  requireUsable(resource, session.config);
  if (given.dryRun) {
    await printPreview(session, target, withChange(session.calendars, resource, session.config));
    return;
  }
  if (isSameJson(resource, target.kind === 'schedule' ? target.schedule : target.service)) {
    console.log(`${labelOf(target)} is so already.`);
    return;
  }
  const since = Date.now();
  await save(session, resource);
  console.log(`${labelOf(target)} is changed; ${target.schedules.length} schedules follow.`);
  const by = target.kind === 'schedule' ? 'schedule' : 'sweep';
  await follow(session, { schedules: target.schedules.map(({ id }) => id), since, by }, given.wait);
}

/** Sets opening hours. */
export async function changeHours(
  name: string,
  given: WritingArguments & HoursArguments & { service?: string },
): Promise<void> {
  const change = hoursChange(given);
  if (Object.keys(change).length === 0) {
    throw new Error(
      'Say what to change: --hours, --duration, --every, --time-zone … (npm run calendar -- hours --help).',
    );
  }
  const session = await openCalendars(given);
  const target = findTarget(name, session.calendars);
  const resource =
    target.kind === 'service'
      ? changeService(target.service, change)
      : {
          ...changeSchedule(target.schedule, serviceIn(target.schedule, given.service, session.calendars), change),
          id: target.schedule.id,
        };
  await apply(session, target, resource, given);
}

/** Sets how far ahead is published. */
export async function changeHorizon(
  name: string,
  given: WritingArguments & { until?: string; rolling?: boolean },
): Promise<void> {
  const { until, rolling = false } = given;
  if ((until === undefined) === !rolling) {
    throw new Error('Say --until and the last day, such as 2027-12-31, or --rolling.');
  }
  const session = await openCalendars(given);
  const target = findTarget(name, session.calendars);
  for (const schedule of target.schedules) {
    const { planningHorizon, ...rest } = schedule;
    const period = { ...(planningHorizon?.start && { start: planningHorizon.start }), ...(until && { end: until }) };
    const resource = Object.keys(period).length > 0 ? { ...rest, planningHorizon: period } : rest;
    await apply(session, { kind: 'schedule', schedule, schedules: [schedule] }, resource, given);
  }
}

/** Says what would be published now. */
export async function showPreview(name: string, given: CredentialArguments): Promise<void> {
  const session = await openCalendars(given);
  await printPreview(session, findTarget(name, session.calendars), session.calendars);
}
