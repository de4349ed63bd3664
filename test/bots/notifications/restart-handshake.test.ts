import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Subscription } from '@medplum/fhirtypes';
import { handler } from '../../../bots/notifications/restart-handshake.ts';
import type { Outbox } from '../../../core/notifications/delivery/outbox.ts';
import {
  changeOutbox,
  changeSubscription,
  type Given,
  type Subscribed,
  stateOf,
  subscribe,
} from '../lib/notifications/outboxes.ts';
import { withMedplum } from '../medplum.ts';

const medplum = withMedplum();

/** Runs the Bot after a change of a Subscription in Medplum. */
async function run({ subscription }: Pick<Subscribed, 'subscription'>): Promise<void> {
  const event = { bot: {}, input: subscription as Subscription, contentType: 'application/fhir+json', secrets: {} };
  await handler(medplum().medplum, event);
}

const add = (given: Given) => subscribe(medplum(), given);
const isWrite = ({ entries }: { entries: readonly string[] }): boolean => entries.some((one) => one.startsWith('PUT'));

describe('a Subscription that is requested again', () => {
  it('is left to the delivery where its outbox says that something is to be sent', async () => {
    const one = await add({ status: 'requested', outbox: { status: 'ready' } });
    const before = (await stateOf(medplum(), one)).task.meta?.versionId;
    await run(one);
    expect((await stateOf(medplum(), one)).task.meta?.versionId).toBe(before);
  });

  it('by making it active in Medplum after it was in error, gets a handshake', async () => {
    const one = await add({ outbox: { status: 'failed', error: 'It fails.' }, status: 'error' });
    await changeSubscription(medplum(), one, { status: 'active' });
    await run(one);
    const { subscription, outbox } = await stateOf(medplum(), one);
    expect([subscription.status, outbox.status]).toEqual(['requested', 'ready']);
  });
});

describe('the status that somebody has set in Medplum', () => {
  it.each<[Subscription['status'], Outbox['status']]>([
    ['active', 'on-hold'],
    ['off', 'cancelled'],
    ['error', 'failed'],
    ['requested', 'ready'],
  ])('is obeyed and stays: %s', async (status, followed) => {
    const one = await add({ outbox: { status: 'on-hold', events: 3, delivered: 2 } });
    await changeSubscription(medplum(), one, { status });
    await run(one);
    const { subscription, outbox } = await stateOf(medplum(), one);
    expect([subscription.status, outbox]).toEqual([
      status,
      expect.objectContaining({ status: followed, events: 3, delivered: 2 }),
    ]);
  });
});

it('a change that comes in between is followed, too', async () => {
  const one = await add({ status: 'requested', outbox: { status: 'failed' } });
  let changes: Partial<Outbox>[] = [{ events: 7 }];
  medplum().interfere(async (asked) => {
    const [change] = isWrite(asked) ? changes : [];
    if (change) {
      changes = [];
      await changeOutbox(medplum(), one, change);
    }
    return undefined;
  });
  await run(one);
  expect((await stateOf(medplum(), one)).outbox).toMatchObject({ status: 'ready', events: 7 });
});
