import { setTimeout as wait } from 'node:timers/promises';
import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { outboxesOf } from '../../core/notifications/delivery/outbox.ts';
import { deliverPending } from '../lib/notifications/delivery/delivery.ts';

/** How long a job of Medplum's queue waits for a delivery that it has started, in milliseconds. */
const JOB_WAITS = 200;

/**
 * Delivers what waits in the outboxes of a subscriber.
 *
 * A job occupies one of the few workers of Medplum's queue, which bookings need, too: it waits only for a moment. A longer
 * delivery continues in the server's process. If that ends, the lease expires and `retry-deliveries` starts again.
 * @param event - input: the outboxes, as Medplum's own Subscription delivers them
 * @throws Error when Medplum does not answer; the Bot retry-deliveries starts another delivery
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Task>): Promise<void> {
  await Promise.race([deliverPending(medplum, outboxesOf(input).subscriber), wait(JOB_WAITS)]);
}
