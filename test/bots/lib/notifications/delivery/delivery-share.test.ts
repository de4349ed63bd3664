import '../../../config.ts';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import type { Connections } from '../../../../../bots/lib/medplum.ts';
import { handler } from '../../../../../bots/notifications/deliver-events.ts';
import type { Outbox } from '../../../../../core/notifications/delivery/outbox.ts';
import { type Listener, listen } from '../../../../contract/notifications/listener.ts';
import { portal, staff } from '../../../../core/notifications/support.ts';
import { until } from '../../../../lib/until.ts';
import { withClock } from '../../../clock.ts';
import { withMedplum } from '../../../medplum.ts';
import { channelTo, removeAll, type Subscribed, stateOf, subscribe } from '../outboxes.ts';

const { random } = Math;

// Before the requests of the test are forgotten, so that none is taken for one of the next test.
afterEach(async () => {
  Math.random = random;
  await ended();
  await removeAll(medplum(), 'Task', 'Subscription');
});

const medplum = withMedplum();
let endpoint: Listener;

beforeAll(async () => {
  endpoint = await listen();
});
beforeEach(() => {
  endpoint.reply = 200;
  endpoint.received.length = 0;
});

/** How many requests of deliveries are under way, and how many were begun. */
let open = 0;
let begun = 0;

function start(input: Task): Promise<void> {
  const { medplum: client } = medplum();
  const send: Connections['send'] = async (...sent) => {
    open += 1;
    begun += 1;
    return client.connections.send(...sent).finally(() => {
      open -= 1;
    });
  };
  const event = { bot: {}, input, contentType: 'application/fhir+json', secrets: {} };
  return handler(Object.assign(Object.create(client), { connections: { send } }), event);
}

/** How long a delivery may take that goes on in the background, in milliseconds. */
const LIMIT = 1_500;

/** Waits until a delivery in the background has asked Medplum for nothing more for a while. */
async function ended(): Promise<void> {
  let [before, calm] = [-1, 0];
  const isCalm = (): boolean => {
    calm = open === 0 && begun === before ? calm + 1 : 0;
    before = begun;
    return calm > 5;
  };
  await until(isCalm, Boolean, LIMIT);
}

afterAll(() => endpoint.close());

/** A requested Subscription: its delivery is a handshake, whose path is the name. */
const request = (name: string, outbox: Partial<Outbox> = {}, owner = portal): Promise<Subscribed> =>
  subscribe(medplum(), {
    owner,
    status: 'requested',
    outbox: { status: 'ready', ...outbox },
    changes: { channel: channelTo(`${endpoint.url}/${name}`) },
  });

const hour = 60 * 60_000;
const underWay = (): Partial<Outbox> => ({ status: 'in-progress', lease: 'of another', until: Date.now() + hour });

/** Outboxes of a subscriber that deliveries have. */
async function occupy(count: number, outbox: Partial<Outbox> = underWay(), owner = portal): Promise<void> {
  for (let index = 0; index < count; index++) {
    await request(`occupied-${index}`, outbox, owner);
  }
}

const told = () => endpoint.received.map(({ path }) => path.split('/').at(-1));
const statusOf = async (one: Subscribed) => (await stateOf(medplum(), one)).outbox.status;

/** Waits until an outbox has nothing more to deliver. */
const settled = (one: Subscribed) =>
  until(
    () => statusOf(one),
    (status) => status === 'accepted',
    LIMIT,
  );

describe('a delivery is started', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['if the subscriber has a place left', () => occupy(3)],
    ['if deliveries of the subscriber have died', () => occupy(4, { ...underWay(), until: Date.now() - 1_000 })],
    ['whatever others deliver', () => occupy(4, underWay(), staff)],
    ['if outboxes of the subscriber wait', () => occupy(4, { status: 'on-hold', until: Date.now() + hour })],
  ])('%s', async (_, occupied) => {
    await occupied();
    const one = await request('wanted');
    await start(one.task);
    await settled(one);
    expect(told()).toContain('wanted');
  });

  it('unless the subscriber has used its share', async () => {
    await occupy(4);
    const one = await request('wanted');
    await start(one.task);
    expect(told()).toEqual([]);
    expect(await statusOf(one)).toBe('ready');
  });

  it('and waited for only for a moment', async () => {
    const answer = Promise.withResolvers<void>();
    endpoint.reply = (response) => void answer.promise.then(() => response.end());
    const one = await request('slow');
    await start(one.task);
    expect(await statusOf(one)).toBe('in-progress');
    answer.resolve();
    await settled(one);
  });

  it('unless Medplum does not answer', async () => {
    const { task } = await request('wanted');
    medplum().interfere(() => 'not-connected');
    await expect(start(task)).rejects.toThrow('The FHIR server could not be read.');
  });
});

describe('a delivery goes on', () => {
  it('with what waits of the same subscriber, and then with what is to be tried again', async () => {
    const first = await request('first');
    const waiting = [await request('ready'), await request('received', { status: 'received' })];
    const failed = await request('failed', { status: 'on-hold', until: Date.now() - 1_000 });
    const others = [
      await request('early', { status: 'on-hold', until: Date.now() + hour }),
      await request('foreign', {}, staff),
      await request('done', { status: 'accepted' }),
    ];
    await start(first.task);
    await settled(failed);
    await ended();
    expect(told()[0]).toBe('first');
    expect(told().slice(1, 3).sort()).toEqual(['ready', 'received']);
    expect(told().slice(3)).toEqual(['failed']);
    expect(await Promise.all([...waiting, ...others].map(statusOf))).toEqual([
      ...['accepted', 'accepted'],
      ...['on-hold', 'ready', 'accepted'],
    ]);
  });

  it('with any of those that wait longest, so that several seldom choose the same', async () => {
    const first = await request('first');
    const waiting: Subscribed[] = [];
    for (let index = 0; index < 12; index++) {
      waiting.push(await request(`waiting-${index}`, index < 11 ? { status: 'on-hold', until: 0 } : {}));
    }
    Math.random = () => 0.999;
    await start(first.task);
    await settled(waiting[0] as Subscribed);
    await ended();
    const order = [11, 9, 10, 8, 7, 6, 5, 4, 3, 2, 1, 0].map((index) => `waiting-${index}`);
    expect(told()).toEqual(['first', ...order]);
  });

  it('with nothing else if it is unknown whose outbox it is', async () => {
    const { groupIdentifier: _, ...task } = (await request('first')).task;
    const other = await request('other');
    await start(task);
    await until(told, (names) => names.length > 0, LIMIT);
    await ended();
    expect([told(), await statusOf(other)]).toEqual([['first'], 'ready']);
  });

  it('with nothing that is about no Subscription', async () => {
    const [first, other] = [await request('first'), await request('other')];
    await medplum().change<Task>(other.task, { focus: { reference: 'Appointment/a1' } });
    await start(first.task);
    await settled(first);
    await ended();
    expect(told()).toEqual(['first']);
  });

  it('with nothing else after a minute', async () => {
    const [first, other] = [await request('first'), await request('other')];
    await withClock(async (skip) => {
      endpoint.reply = (response) => {
        skip(60_000);
        response.end();
      };
      await start(first.task);
      await settled(first);
      await ended();
    });
    expect([told(), await statusOf(other)]).toEqual([['first'], 'ready']);
  });

  it('with nothing else if others have used the share of the subscriber meanwhile', async () => {
    const [first, other] = [await request('first'), await request('other')];
    endpoint.reply = (response) => void occupy(4).then(() => response.end());
    await start(first.task);
    await settled(first);
    await ended();
    expect([told(), await statusOf(other)]).toEqual([['first'], 'ready']);
  });
});
