import type { HealthcareService, Schedule, Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/calendar/publish-slots.ts';
import type { Calendar, CalendarServer } from './fixtures.ts';

/** Stores a calendar whose Slots are published, and no row that says so. */
export async function published(
  server: CalendarServer,
  service?: HealthcareService,
  more?: Partial<Schedule>,
): Promise<Calendar> {
  const calendar = await server.calendar(service, more);
  await handler(server.medplum, { input: calendar.schedule } as unknown as Parameters<typeof handler>[1]);
  for (const { id } of await server.find<Task>(`Task?focus=Schedule/${calendar.schedule.id}`)) {
    await server.fhir('DELETE', `Task/${id}`);
  }
  return calendar;
}
