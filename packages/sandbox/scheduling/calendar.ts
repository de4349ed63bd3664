import { createReference, isResource, type WithId } from '@medplum/core';
import type { HealthcareService, Reference, Resource, Schedule, Slot } from '@medplum/fhirtypes';
import type { SandboxRepository } from '../repository/repository.ts';
import type { Interval } from './availability.ts';
import { refusal, type SchedulingParameters, schedulingParameters } from './parameters.ts';

/** Number of Slots that Medplum reads for a period. */
const MAX_SLOTS = 1000;

/** A Schedule with the parameters of the requested service. */
export interface Calendar {
  readonly schedule: WithId<Schedule>;
  readonly parameters: SchedulingParameters;
  /** Path of the Schedule in the request. */
  readonly path: string;
}

const isLoaded = <T extends Resource>(found: WithId<T> | Error): found is WithId<T> => isResource(found);

/**
 * Reads the Schedules of a service with their parameters.
 *
 * @param paths - of each Schedule in the request
 * @param servicePath - of the service in the request
 * @throws OperationOutcomeError (400) when one cannot be read or lacks parameters
 */
export async function readCalendars(
  repository: SandboxRepository,
  references: readonly Reference<Schedule>[],
  paths: readonly string[],
  service: WithId<HealthcareService>,
  servicePath: string,
): Promise<Calendar[]> {
  const found = await repository.readReferences<Schedule>(references);
  const pathOf = (index: number): string => paths[index] ?? '';
  const schedules = found.map((schedule, index) => {
    if (!isLoaded(schedule)) {
      throw refusal('Loading schedule failed', pathOf(index));
    }
    if (schedule.actor.length !== 1) {
      throw refusal('Scheduling only supported on schedules with exactly one actor', pathOf(index));
    }
    return schedule;
  });
  const actors = await repository.readReferences<Resource>(schedules.flatMap(({ actor }) => actor.slice(0, 1)));
  return schedules.map((schedule, index): Calendar => {
    const [actor, path] = [actors[index], pathOf(index)];
    if (!actor || !isLoaded(actor)) {
      throw refusal('Loading schedule.actor failed', `${path}.actor[0]`);
    }
    return {
      schedule,
      path,
      parameters: schedulingParameters(schedule, service, actor, { schedule: path, service: servicePath }),
    };
  });
}

/** All Slots of these Schedules that touch a period. */
export async function readSlots(
  repository: SandboxRepository,
  schedules: readonly Schedule[],
  range: Interval,
): Promise<Slot[]> {
  const [start, end] = [range.start, range.end].map((time) => new Date(time).toISOString());
  const within = (name: string): string => `(${name} ge "${start}" and ${name} le "${end}")`;
  const found = await repository.searchResources<Slot>({
    resourceType: 'Slot',
    count: MAX_SLOTS,
    filters: [
      {
        code: 'schedule',
        operator: 'eq',
        value: schedules.map((schedule) => createReference(schedule).reference).join(','),
      },
      { code: 'status', operator: 'eq', value: 'busy,busy-tentative,busy-unavailable,free' },
      {
        code: '_filter',
        operator: 'eq',
        value: `(${within('start')} or ${within('end')} or (start lt "${start}" and end gt "${end}"))`,
      },
    ],
  });
  if (found.length === MAX_SLOTS) {
    throw refusal('Too many slots found in range; try searching with smaller bounds');
  }
  return found;
}

/**
 * The part of a period within a Schedule's planning horizon.
 *
 * @throws OperationOutcomeError (400) when all of it is outside
 */
export function withinHorizon({ schedule: { planningHorizon }, path }: Calendar, { start, end }: Interval): Interval {
  const [from, to] = [Date.parse(planningHorizon?.start ?? ''), Date.parse(planningHorizon?.end ?? '')];
  if (end < from) {
    throw refusal('Search range ends before schedule planning horizon starts', path);
  }
  if (start > to) {
    throw refusal('Search range starts after schedule planning horizon ends', path);
  }
  return { start: Math.max(start, from || start), end: Math.min(end, to || end) };
}
