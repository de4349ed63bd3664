import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import { followed } from '../../core/notifications/delivery/delivery-state.ts';
import { writeInTheEnd } from '../lib/medplum.ts';
import { readOutbox, writeOutbox } from '../lib/notifications/outbox-store.ts';

/**
 * Updates an outbox after a status was set in Medplum: a Subscription that is switched on again gets its handshake, then
 * the waiting events. For one that is switched off, no more events are recorded.
 * @param event - input: the Subscription, as Medplum's own Subscription delivers it
 * @throws Error when Medplum does not answer, or others change it all the time
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Subscription>): Promise<void> {
  await writeInTheEnd(async () => {
    const stored = await readOutbox(medplum, input);
    const next = stored && followed(stored.subscription, stored.outbox, Date.now());
    const written = next && (await writeOutbox(medplum, { stored, ...next }));
    return written === 'overtaken' ? 'overtaken' : 'unchanged';
  }, `Subscription/${input.id}`);
}
