import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { recordEvents } from './lib/notifications/event-writer.ts';

/**
 * Writes the events of a changed appointment, for all who must know of it.
 *
 * @param event - input: the Appointment, as the Subscription delivers it
 * @throws Error when it could not be done; the next run of `retry-deliveries` catches up
 * @see specification section 6
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Appointment>): Promise<void> {
  if (input.id) {
    await recordEvents(medplum, [input.id]);
  }
}
