import type { Schedule } from '@medplum/fhirtypes';
import { isSameJson } from '../../core/fhir/resource.ts';
import { changeSchedule, changeService, type HoursChange } from '../../core/fhir/scheduling/change-hours.ts';
import { servicesOf } from '../../core/fhir/scheduling/hours-data.ts';
import { doubtsIn, rowsOf } from '../../core/time/weekly-rows.ts';
import type { CredentialArguments } from '../cli/credentials.ts';
import { findService, findTarget, labelOf } from './find.ts';
import { parseHours } from './hours-text.ts';
import type { Calendars } from './read.ts';
import { openCalendars, requireUsable, save } from './session.ts';
import { serviceName } from './texts.ts';

/** The options for opening hours. */
export interface HoursArguments extends Omit<HoursChange, 'hours'> {
  readonly hours?: string;
}

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

/** The change that the options request. */
export function hoursChange({ hours, ...others }: HoursArguments): HoursChange {
  const { duration, every, bufferBefore, bufferAfter, places, timeZone } = others;
  const change = { duration, every, bufferBefore, bufferAfter, places, timeZone };
  const given = Object.entries(change).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), ...(hours !== undefined && { hours: readHours(hours) }) };
}

/** The service of a command: the named one, else the only one of the schedule. */
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

/** Sets opening hours. */
export async function changeHours(
  name: string,
  given: CredentialArguments & HoursArguments & { service?: string },
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
  requireUsable(resource, session.config);
  if (isSameJson(resource, target.kind === 'schedule' ? target.schedule : target.service)) {
    console.log(`${labelOf(target)} is so already.`);
    return;
  }
  await save(session, resource);
  console.log(`${labelOf(target)} is changed; ${target.schedules.length} schedules follow.`);
}
