import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Subscription } from '@medplum/fhirtypes';
import { abandoned, claimed, isFree } from '../../../../core/notifications/delivery/delivery-state.ts';
import type { Outbox } from '../../../../core/notifications/delivery/outbox.ts';
import type { SubscriptionParameters } from '../../../../core/notifications/subscription/subscription-parameters.ts';
import { type OutboxUpdate, readOutbox, type SubscriptionOutbox, writeOutbox } from '../outbox-store.ts';

/** How often a write is retried when new events are recorded at the same time. */
const ATTEMPTS = 50;

/** An outbox that one delivery has claimed. */
export interface Claim {
  readonly medplum: MedplumClient;
  /** Identifies the delivery that has it. */
  readonly lease: string;
  readonly stored: SubscriptionOutbox;
  readonly settings: SubscriptionParameters;
}

/** Computes the next write, anew each time the outbox has changed; `undefined` if nothing is left to write. */
export type Decide = (stored: SubscriptionOutbox) => OutboxUpdate | undefined;

async function write(medplum: MedplumClient, stored: SubscriptionOutbox | undefined, decide: Decide) {
  let current = stored;
  for (let attempt = 1; current && attempt <= ATTEMPTS; attempt++) {
    const update = decide(current);
    const written = update && (await writeOutbox(medplum, current, update));
    if (written !== 'overtaken') {
      return written;
    }
    await wait(Math.random() * 10);
    current = await readOutbox(medplum, current.subscription.id);
  }
  return undefined;
}

/** An update that changes the outbox alone. */
export const changeOutbox =
  (change: (outbox: Outbox) => Outbox): Decide =>
  ({ outbox }) => ({ outbox: change(outbox) });

/** An update that gives the Subscription another status too. */
export function changeStatus(
  subscription: Subscription,
  outbox: Outbox,
  status: NonNullable<Subscription['status']>,
  error?: string,
): OutboxUpdate {
  const { error: _, ...rest } = subscription;
  return { outbox, subscription: { ...rest, status, ...(error && { error }) } };
}

/** An update that gives the Subscription up. */
export const giveUp =
  (error: string): Decide =>
  ({ subscription, outbox }) =>
    changeStatus(subscription, abandoned(outbox, error), 'error', error);

/**
 * Claims the outbox of a Subscription for a delivery. A Subscription that can no longer be read is given up.
 *
 * @returns the claim; `undefined` if another delivery has the outbox, or there is nothing to deliver
 * @throws Error when Medplum does not answer
 */
export async function claimOutbox(medplum: MedplumClient, subscriptionId: string): Promise<Claim | undefined> {
  const lease = randomUUID();
  const stored = await write(medplum, await readOutbox(medplum, subscriptionId), ({ outbox }) =>
    isFree(outbox, Date.now()) ? { outbox: claimed(outbox, lease, Date.now()) } : undefined,
  );
  if (stored && !stored.settings) {
    await write(medplum, stored, giveUp('The Subscription asks for something that the service does not support.'));
  }
  return stored?.settings && { medplum, lease, stored, settings: stored.settings };
}

/**
 * Writes a claimed outbox.
 *
 * @returns the claim with what was written; `undefined` if another delivery has taken the outbox over
 * @throws Error when Medplum does not answer
 */
export async function record({ medplum, lease, stored, settings }: Claim, decide: Decide): Promise<Claim | undefined> {
  const written = await write(medplum, stored, (one) => (one.outbox.lease === lease ? decide(one) : undefined));
  return written && { medplum, lease, stored: written, settings: written.settings ?? settings };
}
