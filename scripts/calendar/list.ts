import type { HealthcareService, Schedule, Task } from '@medplum/fhirtypes';
import { openingHoursOf } from '../../core/calendar/opening-hours.ts';
import type { Publishing } from '../../core/calendar/parameters/schedule-calendar.ts';
import { publicationIn } from '../../core/calendar/publish/publication.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { servicesOf } from '../../core/fhir/scheduling/hours-data.ts';
import { localDayOf } from '../../core/time/local-day.ts';
import type { CredentialArguments } from '../cli/credentials.ts';
import { formatTable } from '../cli/table.ts';
import { hoursText } from './hours-text.ts';
import { type Calendars, nameOf, openCalendars, type Session } from './read.ts';

/** The reason why nothing of a schedule is published; `undefined` if something is. */
export function reasonOf(publishing: Publishing, { active }: Schedule): string | undefined {
  if (publishing.kind === 'off') {
    return publishing.reason === 'switched-off'
      ? 'publication is switched off (LocalPublishing)'
      : 'names no service: its slots are made by hand';
  }
  const [problem] = publishing.kind === 'kept' ? publishing.problems : [];
  return problem ? `${problem.expression}: ${problem.diagnostics}` : active === false ? 'is not active' : undefined;
}

/** The end of publication of a schedule as a text, with days of the clinic. */
export function stateOf(task: Task | undefined, { timeZone }: BookingConfig): string {
  const publication = task && publicationIn(task);
  if (!publication) {
    return 'not yet published';
  }
  const { status, from } = publication;
  const until = from === undefined ? '' : ` to ${localDayOf(from, timeZone)}`;
  const words = {
    requested: `about to be published${until && `, done${until}`}`,
    accepted: `is being published or waits for its turn${until && `, done${until}`}`,
    'in-progress': `is being published${until && `, done${until}`}`,
    completed: `published${until}`,
    failed: ['cannot be published', task.statusReason?.text].filter(Boolean).join(': '),
    cancelled: 'not published',
  } as const;
  return words[status];
}

/** The display name of a service. */
const serviceName = ({ name, id }: HealthcareService): string => name ?? `HealthcareService/${id}`;

function listRow(schedule: Calendars['schedules'][number], { calendars, config }: Session): string[] {
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
