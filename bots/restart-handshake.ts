import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import { restarted } from '../core/notifications/delivery/delivery-state.ts';
import { awaitsHandshake } from '../core/notifications/delivery/outbox.ts';
import { readMailbox, writeMailbox } from './lib/notifications/outbox-store.ts';

/**
 * Starts the handshake of a Subscription that was requested anew, for example by an administrator after it was in
 * error. Events that wait are delivered after it.
 *
 * @param event - input: the Subscription, as Medplum's own Subscription delivers it
 * @throws Error when Medplum does not answer
 */
export async function handler(medplum: MedplumClient, { input }: BotEvent<Subscription>): Promise<void> {
  for (;;) {
    const mailbox = await readMailbox(medplum, input.id ?? '');
    if (mailbox?.subscription.status !== 'requested' || !awaitsHandshake(mailbox.outbox)) {
      return;
    }
    if ((await writeMailbox(medplum, mailbox, { outbox: restarted(mailbox.outbox, Date.now()) })) !== 'overtaken') {
      return;
    }
  }
}
