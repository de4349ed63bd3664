import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { idIn } from '../../../../core/fhir/reference/reference.ts';
import { isFree, SHARE } from '../../../../core/notifications/delivery/delivery-state.ts';
import { outboxOf, subscriberOutboxesQuery } from '../../../../core/notifications/delivery/outbox.ts';
import { config } from '../../config.ts';
import { ofType, readInTransaction } from '../../read.ts';
import { deliverPending } from './delivery.ts';

/** How long a job of Medplum's queue waits for a delivery that it has started, in milliseconds. */
const JOB_WAITS = 200;

/** After this time, in milliseconds, the deliveries of a job start nothing new. */
const LONGEST = 60_000;

/** How many waiting outboxes a delivery chooses among, so that simultaneous deliveries seldom choose the same one. */
const CHOICE = 10;

/** How many outboxes whose last attempt failed are read: most of them have to wait longer. */
const FAILED = 50;

const subscriptionOf = ({ focus }: Task): string | undefined => idIn(focus, 'Subscription');

/** Whether a subscriber has reached the maximum number of concurrent deliveries. */
async function isShareUsed(medplum: MedplumClient, subscriber: string): Promise<boolean> {
  const [found] = await readInTransaction(medplum, [
    subscriberOutboxesQuery(subscriber, ['in-progress'], SHARE, config),
  ]);
  const underWay = ofType('Task', found).filter((task) => {
    const outbox = outboxOf(task);
    return outbox && !isFree(outbox, Date.now());
  });
  return underWay.length >= SHARE;
}

/** Another outbox of the subscriber: one that waits, or else one that failed and is due to be tried again. */
async function nextDue(medplum: MedplumClient, subscriber: string): Promise<string | undefined> {
  const [waiting = [], failed] = await readInTransaction(medplum, [
    subscriberOutboxesQuery(subscriber, ['ready', 'received'], CHOICE, config),
    subscriberOutboxesQuery(subscriber, ['on-hold'], FAILED, config),
  ]);
  const due = ofType('Task', waiting.length > 0 ? waiting : failed).filter((task) => {
    const outbox = outboxOf(task);
    return outbox && isFree(outbox, Date.now());
  });
  const ids = due.slice(0, CHOICE).flatMap((task) => subscriptionOf(task) ?? []);
  return ids[Math.floor(Math.random() * ids.length)];
}

/**
 * Delivers one outbox after the other: the one that was asked for, then those of the same subscriber that wait. It ends
 * if other deliveries have used up the subscriber's share in the meantime.
 */
async function deliverInTurn(medplum: MedplumClient, first: string, subscriber: string | undefined): Promise<void> {
  const end = Date.now() + LONGEST;
  let next: string | undefined = first;
  while (next !== undefined) {
    await deliverPending(medplum, next);
    const goesOn = subscriber !== undefined && Date.now() < end && !(await isShareUsed(medplum, subscriber));
    next = goesOn ? await nextDue(medplum, subscriber) : undefined;
  }
}

/**
 * Starts the delivery of an outbox, unless the subscriber has used up its share: then one of the deliveries under way
 * goes on with it.
 *
 * A job occupies one of the few places in Medplum's queue, which bookings need too. So it waits only for a moment. A
 * delivery that takes longer goes on in the server's process without occupying a place; should that process end, the
 * lease of the outbox runs out, and the Bot retry-deliveries starts the delivery anew.
 *
 * @param task - the outbox
 * @throws Error when Medplum does not answer
 */
export async function startDelivery(medplum: MedplumClient, task: Task): Promise<void> {
  const id = subscriptionOf(task);
  const subscriber = task.groupIdentifier?.value;
  if (!id || (subscriber !== undefined && (await isShareUsed(medplum, subscriber)))) {
    return;
  }
  await Promise.race([deliverInTurn(medplum, id, subscriber), wait(JOB_WAITS)]);
}
