import type { HealthcareService, Resource } from '@medplum/fhirtypes';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { type HoursData, servicesOf } from '../fhir/scheduling/hours-data.ts';
import { type Publishing, publishingOf } from './parameters/schedule-calendar.ts';
import { closedDays } from './publish/closed-days.ts';
import type { Closure } from './time/not-available.ts';

/** A Schedule with everything that defines its opening hours. */
export interface OpeningHours {
  readonly schedule: HoursData['schedules'][number];
  readonly services: readonly HealthcareService[];
  /** The Schedule's first actor, if it exists. */
  readonly actor: Resource | undefined;
  readonly publishing: Publishing;
  readonly closedDays: readonly Closure[];
}

export function openingHoursOf(
  schedule: OpeningHours['schedule'],
  data: HoursData,
  config: PublicConfig,
): OpeningHours {
  const services = servicesOf(schedule, data);
  const actor = data.actors.get(schedule.actor[0]?.reference ?? '');
  const publishing = publishingOf({ schedule, services, actor }, config);
  return { schedule, services, actor, publishing, closedDays: closedDays(data.closed, config) };
}
