import type { BotEvent, MedplumClient } from '@medplum/core';
import type { HealthcareService, Resource, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { publicationIn } from '../../core/calendar/publish/publication.ts';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import { markOutdated, publishDue } from '../lib/calendar/publish-due.ts';
import { requestPublication, requestSweep } from '../lib/calendar/request.ts';
import { slotChanged } from '../lib/calendar/slot-changed.ts';

/** The rows that a change makes due. A changed service only requests a sweep, which finds its Schedules. */
async function dueBy(medplum: MedplumClient, resource: unknown): Promise<readonly Task[]> {
  if (isResource(resource, 'HealthcareService')) {
    await requestSweep(medplum);
  }
  if (isResource(resource, 'Schedule')) {
    return markOutdated(medplum, [resource]);
  }
  return isResource(resource, 'Task') && publicationIn(resource) ? [resource] : [];
}

/**
 * Makes free Slots from opening hours, and updates them when other Slots become busy or free. After a change of a
 * Schedule, a service or closed days, it marks the affected publication rows as due and publishes due rows for some
 * seconds; if rows are left, it requests its next run. After a change of a Slot, it publishes the time around it.
 * Started by cron, it publishes due rows and, at intervals, sweeps all Schedules for missed changes.
 * @param event - input: what has changed, or `deletedResource` with it; none of these if started by cron
 * @throws Error when the server could not be read or written; the next scheduled run tries again
 */
export async function handler(
  medplum: MedplumClient,
  { input }: Pick<BotEvent<Task | Schedule | HealthcareService | Slot | { deletedResource: Resource }>, 'input'>,
): Promise<void> {
  const isDeleted = isObject(input) && 'deletedResource' in input;
  const resource = isDeleted ? input.deletedResource : input;
  if (isResource(resource, 'Slot')) {
    await slotChanged(medplum, resource, isDeleted);
    return;
  }
  if (isDeleted && isResource(resource, 'Schedule')) {
    await requestPublication(medplum, resource.id ?? '');
    return;
  }
  await publishDue(medplum, await dueBy(medplum, resource));
}
