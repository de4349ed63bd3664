import type { HealthcareService, Schedule, Task } from '@medplum/fhirtypes';
import type { Publishing } from '../../core/calendar/parameters/schedule-calendar.ts';
import { publicationIn } from '../../core/calendar/publish/publication.ts';
import { dayNames, type WeeklyHours } from '../../core/calendar/time/weekly-hours.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { localDayOf } from '../../core/time/local-day.ts';

const two = (value: number): string => String(value).padStart(2, '0');
const clock = (milliseconds: number): string =>
  `${two(Math.floor(milliseconds / 3_600_000))}:${two(Math.floor(milliseconds / 60_000) % 60)}`;

/** Weekly hours, one line for each time of the week. */
export function weeklyText(hours: readonly WeeklyHours[]): string[] {
  return hours.map(({ days, start, end }) => {
    const named = days.map((day) => dayNames[day] ?? '?').join(',');
    return `${named} ${clock(start)}-${end === 0 ? '24:00' : clock(end)}`;
  });
}

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
export const serviceName = ({ name, id }: HealthcareService): string => name ?? `HealthcareService/${id}`;
