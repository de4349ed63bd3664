import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { deliverPending } from './lib/notifications/delivery.ts';

/**
 * Delivers what waits in an outbox.
 *
 * @param event - input: the outbox, as Medplum's own Subscription delivers it
 * @throws Error when Medplum does not answer; the next run of `retry-deliveries` goes on
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Task>): Promise<void> {
  const [type, id] = input.focus?.reference?.split('/') ?? [];
  if (type === 'Subscription' && id) {
    await deliverPending(medplum, id);
  }
}
