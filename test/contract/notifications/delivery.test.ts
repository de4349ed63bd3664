import type { ServerResponse } from 'node:http';
import { describe, expect, it, jest } from '@jest/globals';
import type { Subscription } from '@medplum/fhirtypes';
import { backport } from '../../../core/fhir/backport.ts';
import { scaled } from '../../lib/time-scale.ts';
import { eventually, until } from '../../lib/until.ts';
import { simultaneously, succeeded } from '../fixtures.ts';
import { medplum, resourceIn } from '../http.ts';
import { runBot } from '../requests/fixtures.ts';
import { aBooking, confirm, outboxNow, outboxTurnsTo, staffChange, subscribed } from './fixtures.ts';
import { events, focusIn, numbersAt, ofKind, type Reply, typeOf } from './listener.ts';
import { aListener } from './stand-ins.ts';

/** What is due again is started by the clock, which ticks once a minute on a real server. */
const PATIENCE = 150_000;

/** Waits for what the clock starts, without waiting for the clock. */
const inTime = <T>(look: () => Promise<T>, isWanted: (found: T) => boolean): Promise<T> =>
  eventually(async () => {
    await runBot('retry-deliveries');
    return look();
  }, PATIENCE).is(isWanted);

jest.setTimeout(scaled(PATIENCE + 30_000));

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

it('headers are sent exactly as given, colons in values too', async () => {
  const listener = await aListener();
  await subscribed(listener, {
    header: ['Authorization: Bearer a:b:c', 'X-Callback: https://portal.example:8443/x', 'X-A: 1', 'X-A: 2'],
  });
  expect(listener.received[0]?.headers).toMatchObject({
    authorization: 'Bearer a:b:c',
    'x-callback': 'https://portal.example:8443/x',
    'x-a': '1, 2',
  });
});

it('headers may have any name: events still arrive', async () => {
  const listener = await aListener();
  const stored = await subscribed(listener, { header: ['constructor: 1', '__proto__: 2', 'toString: 3'] });
  await confirm(await aBooking());
  const [event] = await events(listener, 1);
  expect(event?.headers).toMatchObject({ constructor: '1', tostring: '3' });
  expect(stored.status).toBe('active');
});

it('20 simultaneous changes to one appointment: events 1 to 20, in order, without gap or repeat', async () => {
  const listener = await aListener();
  await subscribed(listener, { content: 'full-resource' });
  const appointment = await aBooking('automatic');
  await simultaneously(20, (index) => staffChange(appointment, { comment: `Change ${index}` }));
  await events(listener, 20, PATIENCE);
  expect(numbersAt(listener)).toEqual(numbers(20));
});

it('20 simultaneous changes to 20 appointments: events 1 to 20, each appointment once', async () => {
  const listener = await aListener();
  const appointments = await simultaneously(20, () => aBooking());
  await subscribed(listener);
  await Promise.all(appointments.map(confirm));
  const arrived = await events(listener, 20, PATIENCE);
  expect(numbersAt(listener)).toEqual(numbers(20));
  const notified = new Set(arrived.map(({ bundle }) => focusIn(bundle)[0]?.split('/').at(-1)));
  expect(notified).toEqual(new Set(appointments.map(({ id }) => id)));
});

const halfAnAnswer: Reply = (response: ServerResponse) => {
  response.writeHead(200, { 'content-length': '1000' });
  response.write('half');
  setTimeout(() => response.destroy(), 20);
};
const redirect: Reply = (response: ServerResponse) => void response.writeHead(307, { location: '/elsewhere' }).end();

it.each<[string, Reply]>([
  ['500', 500],
  ['404', 404],
  ['a redirect, which is not followed', redirect],
  ['half an answer', halfAnAnswer],
  ['no answer', () => undefined],
])('an endpoint that fails gets every event after it has recovered, in order: %s', async (_, reply) => {
  const listener = await aListener();
  await subscribed(listener, { timeout: 1 });
  const appointment = await aBooking('automatic');
  listener.reply = reply;
  await staffChange(appointment, { comment: 'one' });
  await events(listener, 1);
  await staffChange(appointment, { comment: 'two' });
  await staffChange(appointment, { comment: 'three' });
  const failed = numbersAt(listener).length;
  listener.reply = 200;
  const arrived = await inTime(
    async () => numbersAt(listener),
    (found) => found.includes(3),
  );
  expect(new Set(arrived.slice(0, -3))).toEqual(new Set([1]));
  expect(arrived.length).toBeGreaterThan(failed);
  expect(arrived.slice(-3)).toEqual([1, 2, 3]);
  expect(listener.received.every(({ path }) => path === '/notifications')).toBe(true);
});

it('a subscriber that hangs delays neither bookings nor other subscribers', async () => {
  const listener = await aListener();
  await subscribed(listener);
  /** Whether another one is told of a booking, and subscribed, while an endpoint has not answered yet. */
  const isToldMeanwhile = async (): Promise<boolean> => {
    const hanging = await aListener();
    await subscribed(hanging, { timeout: 8 });
    let isHanging = true;
    hanging.reply = (response) => {
      response.once('close', () => {
        isHanging = false;
      });
    };
    await confirm(await aBooking());
    await events(hanging, 1);
    const { id } = await confirm(await aBooking());
    await eventually(async () => ofKind(listener, 'event-notification').flatMap(({ bundle }) => focusIn(bundle))).is(
      (notified) => notified.some((focus) => focus?.endsWith(`${id}`)),
    );
    await subscribed(await aListener());
    const isMeanwhile = isHanging;
    await hanging.close();
    return isMeanwhile;
  };
  // A busy machine may take longer for all of it than the service waits for an answer.
  expect(await until(isToldMeanwhile)).toBe(true);
});

it('heartbeats come when nothing else does, and count as no events', async () => {
  const listener = await aListener();
  await subscribed(listener, { heartbeat: 1 });
  await inTime(
    async () => ofKind(listener, 'heartbeat').length,
    (count) => count >= 2,
  );
  await confirm(await aBooking());
  await events(listener, 1);
  expect(numbersAt(listener)).toEqual([1]);
  expect(typeOf(listener.received[0]?.bundle ?? { resourceType: 'Bundle', type: 'history' })).toBe('handshake');
});

describe('what administrators change in Medplum itself', () => {
  /** Changes a stored Subscription past the service, once its handshake is recorded. */
  async function administer(id: string | undefined, change: (stored: Subscription) => Subscription): Promise<void> {
    await outboxTurnsTo('accepted', id);
    const stored = succeeded('Subscription', await medplum('admin', 'GET', `/Subscription/${id}`));
    succeeded('Subscription', await medplum('admin', 'PUT', `/Subscription/${id}`, { body: change(stored) }));
  }

  it('heartbeats come from then on', async () => {
    const listener = await aListener();
    const { id } = await subscribed(listener);
    const heartbeats = { url: backport.heartbeatPeriod, valueUnsignedInt: 1 };
    await administer(id, ({ channel, ...rest }) => ({
      ...rest,
      channel: { ...channel, extension: [...(channel.extension ?? []), heartbeats] },
    }));
    await inTime(
      async () => ofKind(listener, 'heartbeat').length,
      (count) => count >= 2,
    );
  });

  it('its outbox says when a Subscription ends, long before', async () => {
    const { id } = await subscribed(await aListener());
    const end = new Date(Date.now() + 24 * 60 * 60_000).toISOString();
    await administer(id, (stored) => ({ ...stored, end }));
    const due = await inTime(
      () => outboxNow(id),
      (outbox) => outbox?.end === Date.parse(end),
    );
    expect(due?.status).toBe('accepted');
  });

  it('a Subscription ends when it is to end', async () => {
    const { id } = await subscribed(await aListener());
    await administer(id, (stored) => ({ ...stored, end: new Date(Date.now() + 1000).toISOString() }));
    await inTime(
      async () => resourceIn('Subscription', await medplum('admin', 'GET', `/Subscription/${id}`)).status,
      (status) => status === 'off',
    );
  });
});
