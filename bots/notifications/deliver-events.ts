import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { startDelivery } from '../lib/notifications/delivery/delivery-share.ts';

/**
 * Delivers what waits in an outbox.
 *
 * @param event - input: the outbox, as Medplum's own Subscription delivers it
 * @throws Error when Medplum does not answer; the Bot retry-deliveries starts another delivery
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Task>): Promise<void> {
  await startDelivery(medplum, input);
}
