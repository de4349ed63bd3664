import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import { restarted } from '../../core/notifications/delivery/delivery-state.ts';
import { awaitsHandshake } from '../../core/notifications/delivery/outbox.ts';
import { readOutbox, withStatusStored, writeOutbox } from '../lib/notifications/outbox-store.ts';

/**
 * Follows a change of a Subscription in Medplum. One that was set to requested, for example by an administrator after it
 * was in error, gets its handshake; waiting events are delivered after it. The status of one that was switched off or set
 * to active is stored the way the service stores it.
 *
 * @param event - input: the Subscription, as Medplum's own Subscription delivers it
 * @throws Error when Medplum does not answer
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Subscription>): Promise<void> {
  for (;;) {
    const stored = await readOutbox(medplum, input);
    const isRequested = stored?.subscription.status === 'requested' && awaitsHandshake(stored.outbox);
    if (!stored || (!isRequested && stored.hasStoredStatus)) {
      return;
    }
    const outbox = isRequested ? restarted(stored.outbox, Date.now()) : stored.outbox;
    if ((await writeOutbox(medplum, withStatusStored(stored, outbox))) !== 'overtaken') {
      return;
    }
  }
}
