import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import { restarted } from '../../core/notifications/delivery/delivery-state.ts';
import { awaitsHandshake } from '../../core/notifications/delivery/outbox.ts';
import { readOutbox, writeOutbox } from '../lib/notifications/outbox-store.ts';

/**
 * Starts the handshake of a Subscription that was set to requested, for example by an administrator after it was in
 * error. Events that wait are delivered after it.
 *
 * @param event - input: the Subscription, as Medplum's own Subscription delivers it
 * @throws Error when Medplum does not answer
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Subscription>): Promise<void> {
  for (;;) {
    const stored = await readOutbox(medplum, input.id ?? '');
    if (stored?.subscription.status !== 'requested' || !awaitsHandshake(stored.outbox)) {
      return;
    }
    if ((await writeOutbox(medplum, stored, { outbox: restarted(stored.outbox, Date.now()) })) !== 'overtaken') {
      return;
    }
  }
}
