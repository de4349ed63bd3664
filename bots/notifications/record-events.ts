import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { forgetDeletion } from '../lib/notifications/events/deletions.ts';
import { recordEvents } from '../lib/notifications/events/event-writer.ts';

/**
 * Writes the events of an appointment that was changed or deleted, for all subscribers that must know of it.
 *
 * @param event - input: the Appointment, or `deletedResource` with it, as the Subscription delivers it
 * @throws Error when it could not be done; the Bot retry-deliveries catches up
 * @see specification section 6
 */
export async function handler(
  medplum: MedplumClient,
  { input }: BotEvent<Appointment | { deletedResource: Appointment }>,
): Promise<void> {
  const isDeletion = 'deletedResource' in input;
  const appointment = isDeletion ? input.deletedResource : input;
  const isComplete = await recordEvents(medplum, [appointment]);
  if (appointment.id && isDeletion && isComplete) {
    await forgetDeletion(medplum, appointment.id);
  }
}
