import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import { workOn } from '../../../bots/lib/calendar/publication.ts';
import type { Calendar, CalendarServer } from './fixtures.ts';

/** Stores a calendar whose Slots are published, and no Task that says so. */
export async function published(
  server: CalendarServer,
  service?: HealthcareService,
  more?: Partial<Schedule>,
): Promise<Calendar> {
  const calendar = await server.calendar(service, more);
  const task = await server.publication({ schedule: calendar.schedule.id, status: 'requested' });
  await workOn(server.medplum, task, { turn: 60_000, portion: 100 });
  await server.fhir('DELETE', `Task/${task.id}`);
  return calendar;
}
