import type { BotEvent, MedplumClient } from '@medplum/core';
import type { HealthcareService, Resource, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { publicationIn } from '../../core/calendar/publish/publication.ts';
import { isObject, isResource } from '../../core/fhir/resource.ts';
import { markOutdated, publishDue } from '../lib/calendar/publish-due.ts';
import { requestPublication, requestSweep } from '../lib/calendar/request.ts';
import { slotChanged } from '../lib/calendar/slot-changed.ts';

/** The rows that a change makes due. */
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
 * Makes free Slots from opening hours, and lets them follow what takes time. Started by a change of a Schedule, a service
 * or closed days, it marks the publications that they concern as due, and publishes for some seconds what is due; if
 * something is left, it requests its next run. Started by a Slot, it puts the time around it in order. Started by the
 * clock, it does what is due, and now and then looks for what was missed.
 *
 * @param event - input: what has changed, or `deletedResource` with it; none of these if started by the clock
 * @throws Error when the server could not be read or written; the clock takes it up again
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
