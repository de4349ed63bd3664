import '../../config.ts';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Subscription } from '@medplum/fhirtypes';
import * as store from '../../../../bots/lib/notifications/outbox-store.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import type { Outbox } from '../../../../core/notifications/delivery/outbox.ts';
import { portal } from '../../../core/notifications/support.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';
import { changeSubscription, type Given, removeAll, type Subscribed, subscribe } from './outboxes.ts';

const medplum = withMedplum();
afterEach(() => removeAll(medplum(), 'Task', 'Subscription', 'Communication'));

const add = (given: Given = {}) => subscribe(medplum(), given);

async function read({ subscription }: Subscribed): Promise<store.SubscriptionOutbox> {
  const stored = await store.readOutbox(medplum().medplum, subscription);
  if (!stored) {
    throw new Error('There is no such outbox.');
  }
  return stored;
}

describe('the outbox of a Subscription', () => {
  it.each<[Outbox['status'], Subscription['status'], string, boolean]>([
    ['failed', 'active', 'requested', false],
    ['cancelled', 'active', 'requested', false],
    ['accepted', 'active', 'active', false],
    ['failed', 'error', 'error', true],
    ['cancelled', 'off', 'off', true],
    ['accepted', 'requested', 'requested', true],
  ])('that is %s: a Subscription that is %s in Medplum is %s', async (status, set, seen, hasStoredStatus) => {
    const one = await add({ outbox: { status } });
    await changeSubscription(medplum(), one, { status: set, meta: { tag: [requestorTag(portal, config)] } });
    expect(await read(one)).toMatchObject({ subscription: { status: seen }, hasStoredStatus });
  });
});
