import '../../config.ts';
import { afterEach, expect, it } from '@jest/globals';
import type { Subscription, Task } from '@medplum/fhirtypes';
import { findPlace } from '../../../../bots/lib/notifications/subscription-limit.ts';
import { noOutboxes, outboxesTask } from '../../../../core/notifications/delivery/outbox.ts';
import { outbox } from '../../../core/notifications/support.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';
import { batch, forgetOutboxes, foundFor, storedSubscription, toPortal } from './events/fixtures.ts';

const medplum = withMedplum();
afterEach(() => forgetOutboxes(medplum()));

/** The limits of the installation. */
const { maxSubscriptions } = config.notifications;

let count = 0;
/** A subscriber, of whom the service knows; it has so many Subscriptions in each of some statuses. */
async function aSubscriber(...has: readonly (readonly [Subscription['status'], number])[]): Promise<string> {
  count += 1;
  const owner = `subscriber-${count}`;
  await medplum().create<Task>(outboxesTask(noOutboxes(owner), config));
  const all = has.flatMap(([status, many]) =>
    Array.from({ length: many }, () => storedSubscription(owner, { ...toPortal(), status })),
  );
  await batch(
    medplum(),
    all.map((resource) => ({ request: { method: 'POST', url: 'Subscription' }, resource })),
  );
  return owner;
}

const take = (owner: string) => findPlace(medplum().medplum, owner);

const tasksOf = (owner: string) =>
  medplum().find<Task>(`Task?group-identifier=${config.uris.LocalRequestor}|${owner}&_sort=_lastUpdated`);

it('a row does not grow for ever by Subscriptions that are over', async () => {
  const owner = await aSubscriber();
  const [stored] = await tasksOf(owner);
  const of = new Map(Array.from({ length: 1_001 }, (_, index) => [`s${index}`, outbox] as const));
  await medplum().change<Task>(outboxesTask({ ...noOutboxes(owner), of }, config, stored), {});
  expect(await take(owner)).toMatchObject({ code: 'subscriptions-exceeded' });
});

it('a subscriber of whom the service does not know becomes known, and asks again', async () => {
  count += 1;
  const owner = `subscriber-${count}`;
  expect(await take(owner)).toBe('overtaken');
  expect(await tasksOf(owner)).toMatchObject([{ groupIdentifier: { value: owner } }]);
  expect(await take(owner)).toMatchObject({ outboxes: { subscriber: owner } });
});

it('a subscriber has no further place when it has as many Subscriptions as it may, whether they work or not', async () => {
  const owner = await aSubscriber(['requested', maxSubscriptions - 2], ['active', 1], ['error', 1]);
  expect(await take(owner)).toMatchObject({
    code: 'subscriptions-exceeded',
    diagnostics: `A subscriber can have at most ${maxSubscriptions} Subscriptions, and 1000 with those that are off: delete or change one.`,
  });
});

it('nobody has a place when the project has as many Subscriptions as it may', async () => {
  const owner = await aSubscriber();
  const [stored] = await tasksOf(owner);
  const last: Subscription = { ...toPortal(), id: 's1' };
  medplum().interfere(() => foundFor(stored ? [stored] : [], [], [last]));
  expect(await take(owner)).toMatchObject({
    code: 'subscriptions-exceeded',
    diagnostics: `The whole project has the 1000 Subscriptions that the service can keep: ask the clinic to remove some, or delete your own.`,
  });
});
