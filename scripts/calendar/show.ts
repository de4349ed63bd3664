import type { HealthcareService } from '@medplum/fhirtypes';
import { openingHoursOf } from '../../core/calendar/opening-hours.ts';
import { publicationTask, sweepTask } from '../../core/calendar/publish/publication.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { closedDaysIn } from '../../core/fhir/scheduling/closed-days.ts';
import { servicesOf } from '../../core/fhir/scheduling/hours-data.ts';
import { rowCodes } from '../../core/rows/row.ts';
import { localDayOf } from '../../core/time/local-day.ts';
import type { CredentialArguments } from '../cli/credentials.ts';
import { formatTable } from '../cli/table.ts';
import { searchAll } from '../medplum/project.ts';
import { findTarget } from './find.ts';
import { hoursText } from './hours-text.ts';
import { type Calendars, nameOf, writeRow } from './read.ts';
import { openCalendars, type Session } from './session.ts';
import { reasonOf, serviceName, stateOf, weeklyText } from './texts.ts';

type StoredSchedule = Calendars['schedules'][number];

function listRow(schedule: StoredSchedule, { calendars, config }: Session): string[] {
  const services = servicesOf(schedule, calendars).map(serviceName);
  const reason = reasonOf(openingHoursOf(schedule, calendars, config).publishing, schedule);
  const state = stateOf(calendars.publications.get(schedule.id), config);
  return [nameOf(schedule, calendars), services.join(', '), reason ?? state, `Schedule/${schedule.id}`];
}

const serviceRow = (service: HealthcareService): string[] => [
  serviceName(service),
  hoursText(service.availableTime),
  (service.type ?? []).flatMap(({ coding = [] }) => coding.map(({ code }) => code ?? '')).join(', '),
  `HealthcareService/${service.id}`,
];

/** Lists schedules and services. */
export async function list(given: CredentialArguments): Promise<void> {
  const session = await openCalendars(given);
  const { schedules, services } = session.calendars;
  if (schedules.length === 0) {
    console.log('There is no schedule yet. npm run calendar -- add-service, then npm run calendar -- add.');
    return;
  }
  const rows = schedules.map((schedule) => listRow(schedule, session));
  console.log(formatTable(['schedule of', 'services', 'state', 'id'], rows));
  console.log(`\n${formatTable(['service', 'hours', 'code', 'id'], services.map(serviceRow))}`);
}

async function countFree({ medplum }: Session, { id }: StoredSchedule, now: number): Promise<number> {
  const query = { schedule: `Schedule/${id}`, status: 'free', start: `ge${formatInstant(now)}`, _total: 'accurate' };
  const { total = 0 } = await medplum.search('Slot', { ...query, _count: 0 }, { cache: 'reload' });
  return total;
}

async function showSchedule(schedule: StoredSchedule, session: Session): Promise<void> {
  const { calendars, config } = session;
  const publishing = openingHoursOf(schedule, calendars, config).publishing;
  const reason = reasonOf(publishing, schedule);
  const horizon = schedule.planningHorizon?.end;
  console.log(`${nameOf(schedule, calendars)} (Schedule/${schedule.id})`);
  for (const { service, parameters } of publishing.kind === 'on' ? publishing.calendars : []) {
    const { duration, bufferBefore, bufferAfter, alignment, timeZone, capacity, hours } = parameters;
    console.log(`  ${serviceName(service)}: ${duration} min, every ${alignment.interval} min, ${timeZone}`);
    console.log(`    buffers ${bufferBefore} and ${bufferAfter} min; places ${capacity}`);
    for (const line of weeklyText(hours)) {
      console.log(`    ${line}`);
    }
  }
  console.log(`  horizon: ${horizon ? `until ${horizon}` : `${config.calendar.horizonWeeks} weeks, rolling`}`);
  console.log(`  state: ${stateOf(calendars.publications.get(schedule.id), config)}`);
  console.log(`  free slots: ${await countFree(session, schedule, Date.now())}`);
  if (reason) {
    console.log(`  nothing is published: ${reason}`);
  }
}

/** Shows one schedule, or a service with its schedules. */
export async function show(name: string, given: CredentialArguments): Promise<void> {
  const session = await openCalendars(given);
  const target = findTarget(name, session.calendars);
  if (target.kind === 'service') {
    console.log(`${serviceName(target.service)} (HealthcareService/${target.service.id})`);
    console.log(`  ${hoursText(target.service.availableTime)}`);
    if (target.schedules.length === 0) {
      console.log('  No schedule offers it. npm run calendar -- add "Dr. …" --service …');
    }
  }
  for (const schedule of target.schedules) {
    await showSchedule(schedule, session);
  }
  const days = session.calendars.closed
    .flatMap(closedDaysIn)
    .filter(({ end }) => end >= localDayOf(Date.now(), session.config.timeZone));
  if (days.length > 0) {
    console.log(`  closed days to come: ${days.length}, the next ${days[0]?.start} ${days[0]?.reason}`);
  }
}

/** Requests a sweep over all schedules, which publishes due Slots. */
async function startSweep({ medplum, config }: Session, now: number): Promise<void> {
  const [stored] = await searchAll(medplum, 'Task', { code: rowCodes(['publish-all'], config) });
  await writeRow(medplum, sweepTask({ status: 'requested', due: now, began: now, offset: 0 }, config), stored);
}

/** Publishes schedules again. */
export async function publish(name: string | undefined, given: CredentialArguments): Promise<void> {
  const session = await openCalendars(given);
  const { calendars, config } = session;
  const schedules = name === undefined ? calendars.schedules : findTarget(name, calendars).schedules;
  const chosen = schedules.filter(
    (schedule) =>
      calendars.publications.has(schedule.id) || openingHoursOf(schedule, calendars, config).publishing.kind !== 'off',
  );
  const now = Date.now();
  for (const [index, { id }] of chosen.entries()) {
    // Published days are checked again.
    const row = publicationTask({ schedule: id, status: 'accepted', due: now }, config);
    await writeRow(session.medplum, row, calendars.publications.get(id));
    if ((index + 1) % 100 === 0) {
      console.error(`queued: ${index + 1} of ${chosen.length}`);
    }
  }
  await startSweep(session, now);
  console.log(`Queued: ${chosen.length}. The server publishes them one after the other, even after this command ends.`);
}
