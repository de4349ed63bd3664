import '../../config.ts';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { readDueOutboxes } from '../../../../bots/lib/notifications/due-outboxes.ts';
import { requestorTag } from '../../../../core/fhir/tags.ts';
import { checkpointTask, OVERLAP } from '../../../../core/notifications/delivery/checkpoint.ts';
import { OVERDUE } from '../../../../core/notifications/delivery/delivery-state.ts';
import type { OutboxStatus } from '../../../../core/notifications/delivery/outbox.ts';
import { backport } from '../../../../core/notifications/subscription/extensions.ts';
import { portal } from '../../../core/notifications/support.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';
import { changeSubscription, channelTo, type Given, removeAll, searchesAnswer, subscribe } from './outboxes.ts';

const medplum = withMedplum();
const hour = 60 * 60_000;

const add = (given: Given = {}) => subscribe(medplum(), given);
const readAt = (now: number) => readDueOutboxes(medplum().medplum, now);
const read = () => readAt(Date.now());
const idsAt = async (now = Date.now()) => (await readAt(now)).outboxes.map(({ subscription }) => subscription.id);

/** Stores that all changes up to a moment have their events. */
const settle = (settled: number) => medplum().create<Task>(checkpointTask({ until: settled, settled }, config));

afterEach(() => removeAll(medplum(), 'Task', 'Subscription'));

describe('when all changes have their events', () => {
  beforeEach(() => settle(Date.now() + hour));

  it.each<OutboxStatus>(['ready', 'received'])(
    'an outbox that is %s is due if no delivery begins with it',
    async (status) => {
      const { id } = await add({ outbox: { status } });
      expect(await idsAt()).toEqual([]);
      expect(await idsAt(Date.now() + OVERDUE + 1_000)).toEqual([id]);
    },
  );

  const heartbeat = { extension: [{ url: backport.heartbeatPeriod, valueUnsignedInt: 3600 }] };

  it.each<[string, () => Given]>([
    ['the lease of its delivery', () => ({ outbox: { status: 'in-progress', until: Date.now() + hour } })],
    ['the wait for its next attempt', () => ({ outbox: { status: 'on-hold', until: Date.now() + hour } })],
    [
      'the time without a notification',
      () => ({
        outbox: { sent: Date.now() },
        changes: { channel: channelTo('https://portal.example.org/', heartbeat) },
      }),
    ],
    ['its Subscription', () => ({ changes: { end: new Date(Date.now() + hour).toISOString() } })],
    [
      'its Subscription, which is in error,',
      () => ({
        outbox: { status: 'failed' },
        status: 'error',
        changes: { end: new Date(Date.now() + hour).toISOString() },
      }),
    ],
  ])('an outbox is due when %s is over', async (_, given) => {
    const { id } = await add(given());
    expect(await idsAt()).toEqual([]);
    expect(await idsAt(Date.now() + hour + 1_000)).toEqual([id]);
  });

  it('an outbox of which nothing is to come is not due', async () => {
    await add();
    expect(await idsAt(Date.now() + 100 * hour)).toEqual([]);
    expect(medplum().asked).toHaveLength(2);
  });

  it('an outbox is found once, whatever it is due for', async () => {
    const { id } = await add({ status: 'requested', outbox: { status: 'on-hold', until: 0 } });
    expect(await idsAt()).toEqual([id]);
  });

  it('an outbox that is over is none', async () => {
    await add({ status: 'requested', outbox: { status: 'cancelled' } });
    expect(await idsAt()).toEqual([]);
  });

  it('one is looked at whose Subscription is requested', async () => {
    const { id } = await add({ status: 'requested' });
    expect(await idsAt()).toEqual([id]);
  });

  it('one is looked at whose Subscription somebody has made active in Medplum', async () => {
    const [ours, plain] = [await add(), await add()];
    await changeSubscription(medplum(), ours, { status: 'active' });
    const meta = { tag: [requestorTag(portal, config)] };
    await changeSubscription(medplum(), plain, { status: 'active', meta });
    expect(await idsAt()).toEqual([ours.id]);
  });
});

describe('a Subscription that was changed', () => {
  it('has its outbox looked at until all is recorded that was changed before', async () => {
    const { id } = await add();
    await settle(Date.now() + OVERLAP - 5_000);
    expect(await idsAt()).toEqual([id]);
  });

  it('has its outbox looked at as long as nothing is recorded', async () => {
    const { id } = await add();
    await medplum().create<Task>(checkpointTask({ until: Date.now() + hour, settled: undefined }, config));
    expect(await idsAt()).toEqual([id]);
  });
});

it('the clock begins with the checkpoint, if there is one', async () => {
  expect((await read()).checkpoint).toBeUndefined();
  const { id } = await settle(0);
  expect((await read()).checkpoint?.id).toBe(id);
});

it.each<[OutboxStatus, boolean]>([
  ['ready', true],
  ['received', true],
  ['in-progress', true],
  ['on-hold', true],
  ['accepted', true],
  ['failed', true],
  ['cancelled', false],
])('with an outbox that is %s somebody is told about appointments: %s', async (status, isListened) => {
  await add({ outbox: { status } });
  expect((await read()).isListened).toBe(isListened);
});

it('without an outbox nobody is told about appointments', async () => {
  await settle(0);
  expect((await read()).isListened).toBe(false);
});

describe('many Subscriptions', () => {
  it('are found page by page, by those searches that have more', async () => {
    const { id, task, subscription } = await add();
    const focusless: Task = { ...task, focus: { reference: 'Appointment/a1' } };
    const pages = [
      [[], [task]],
      [Array(999).fill(focusless), Array(1000).fill(task), [], Array(1000).fill(subscription), []],
      [[], Array(999).fill(subscription)],
    ];
    medplum().interfere(() => {
      const page = pages.shift();
      return page && searchesAnswer(...page);
    });
    expect(await idsAt()).toEqual([id]);
    const [, first = [], second = [], outboxes = []] = medplum().asked.map(({ entries }) => entries);
    expect(medplum().asked).toHaveLength(4);
    expect(first.map((url) => /_sort=_id&_count=1000&_offset=(\d+)$/.exec(url)?.[1])).toEqual(Array(5).fill('0'));
    expect(second).toEqual([first[1], first[3]].map((url) => url?.replace(/0$/, '1000')));
    expect(outboxes.map((url) => /(?:focus|_id)=([^&]+)/.exec(url)?.[1])).toEqual([`Subscription/${id}`, id]);
  });

  it('are unknown if Medplum does not answer', async () => {
    medplum().interfere(() => 'not-connected');
    await expect(read()).rejects.toThrow('The FHIR server could not be read.');
  });
});

it('no more of a resource is read than which Subscription it is about', async () => {
  await add({ status: 'requested', outbox: { status: 'on-hold', until: 0 } });
  await read();
  const [, open = ''] = medplum().asked[0]?.entries ?? [];
  const searches = [open, ...(medplum().asked[1]?.entries ?? [])].map((one) => one.replace('GET ', ''));
  const found = (await Promise.all(searches.map((one) => medplum().find(one)))).flat();
  expect(found.length).toBeGreaterThan(3);
  expect(found.filter(({ meta }) => !meta?.tag?.some(({ code }) => code === 'SUBSETTED'))).toEqual([]);
});
