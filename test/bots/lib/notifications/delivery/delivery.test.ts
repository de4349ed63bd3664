import '../../../config.ts';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Bundle, Communication } from '@medplum/fhirtypes';
import { deliverPending } from '../../../../../bots/lib/notifications/delivery/delivery.ts';
import { requestorTag } from '../../../../../core/fhir/tags.ts';
import type { Outbox } from '../../../../../core/notifications/delivery/outbox.ts';
import { backport } from '../../../../../core/notifications/subscription/extensions.ts';
import { type Listener, listen } from '../../../../contract/notifications/listener.ts';
import { portal } from '../../../../core/notifications/support.ts';
import { withClock } from '../../../clock.ts';
import { config } from '../../../config.ts';
import { withMedplum } from '../../../medplum.ts';
import {
  addAppointment,
  addEvents,
  changeOutbox,
  changeSubscription,
  channelTo,
  eventAbout,
  type Given,
  type Subscribed,
  stateOf,
  statusIn,
  subscribe,
} from '../outboxes.ts';

const medplum = withMedplum();
let endpoint: Listener;

beforeAll(async () => {
  endpoint = await listen();
});
beforeEach(() => {
  endpoint.reply = 200;
  endpoint.received.length = 0;
});
afterAll(() => endpoint.close());

const full = { _payload: { extension: [{ url: backport.payloadContent, valueCode: 'full-resource' }] } };

/** A Subscription to the endpoint, whose delivery is requested. */
const request = ({ outbox = {}, changes = {}, ...given }: Given = {}): Promise<Subscribed> =>
  subscribe(medplum(), {
    ...given,
    outbox: { status: 'ready', ...outbox },
    changes: { channel: channelTo(endpoint.url), ...changes },
  });

/** A Subscription with so many events that wait, each about an appointment of its own. */
async function withEvents(count: number, given: Given = {}): Promise<Subscribed> {
  const { outbox } = given;
  const subscribed = await request({ ...given, outbox: { events: (outbox?.delivered ?? 0) + count, ...outbox } });
  for (let number = (outbox?.delivered ?? 0) + 1; number <= (outbox?.delivered ?? 0) + count; number++) {
    await addEvents(medplum(), subscribed, eventAbout(await addAppointment(medplum()), number));
  }
  return subscribed;
}

const deliver = ({ id }: Subscribed): Promise<void> => deliverPending(medplum().medplum, id);
const state = (subscribed: Subscribed) => stateOf(medplum(), subscribed);
const told = () => endpoint.received.map(({ bundle }) => statusIn(bundle));
const numbers = () =>
  told().map((status) => (status['notification-event'] as Record<string, unknown> | undefined)?.['event-number']);
const eventsOf = ({ id }: Subscribed) => medplum().find<Communication>(`Communication?part-of=Subscription/${id}`);
const released: Partial<Outbox> = { lease: undefined, until: undefined };

describe('a requested Subscription', () => {
  it('becomes active by its handshake', async () => {
    const subscribed = await request({ status: 'requested', outbox: { attempts: 3, error: 'It failed.' } });
    const before = Date.now();
    await deliver(subscribed);
    expect(told()).toEqual([
      {
        subscription: { reference: `${config.baseUrl}/Subscription/${subscribed.id}` },
        topic: subscribed.subscription.criteria,
        status: 'requested',
        type: 'handshake',
        'events-since-subscription-start': '0',
      },
    ]);
    const { subscription, outbox } = await state(subscribed);
    expect(subscription.status).toBe('active');
    expect(outbox).toMatchObject({ ...released, status: 'accepted', attempts: 0, error: undefined });
    expect(outbox.sent).toBeGreaterThanOrEqual(before);
  });

  it('gets the events that wait after its handshake', async () => {
    const subscribed = await withEvents(1, { status: 'requested' });
    await deliver(subscribed);
    expect(told().map(({ type, status }) => [type, status])).toEqual([
      ['handshake', 'requested'],
      ['event-notification', 'active'],
    ]);
    expect((await state(subscribed)).outbox).toMatchObject({ status: 'accepted', delivered: 1 });
  });

  it('is in error if its handshake fails, and gets no event', async () => {
    const subscribed = await withEvents(1, { status: 'requested' });
    endpoint.reply = 500;
    await deliver(subscribed);
    expect(endpoint.received).toHaveLength(1);
    const { subscription, outbox } = await state(subscribed);
    const error = 'Handshake: The endpoint answered with status 500.';
    expect([subscription.status, subscription.error]).toEqual(['error', error]);
    expect(outbox).toMatchObject({ ...released, status: 'failed', error, delivered: 0 });
  });
});

describe('events', () => {
  it('are sent in the order of their numbers, and are delivered then', async () => {
    const subscribed = await withEvents(3, { outbox: { delivered: 4 } });
    const before = Date.now();
    await deliver(subscribed);
    expect(numbers()).toEqual(['5', '6', '7']);
    expect(told()[1]).toMatchObject({ status: 'active', type: 'event-notification' });
    expect(told()[1]).toHaveProperty('events-since-subscription-start', '6');
    const { outbox } = await state(subscribed);
    expect(outbox).toMatchObject({ ...released, status: 'accepted', events: 7, delivered: 7, attempts: 0 });
    expect(outbox.sent).toBeGreaterThanOrEqual(before);
    const events = await eventsOf(subscribed);
    expect(events.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
    expect(events.every(({ received = '' }) => Date.parse(received) >= before)).toBe(true);
  });

  it('come with the version that they are about, if that is wanted', async () => {
    const subscribed = await request({
      outbox: { events: 1 },
      changes: { channel: channelTo(endpoint.url, { ...full, header: ['X-Clinic: north'] }) },
    });
    const old = await addAppointment(medplum());
    await medplum().change(old, { status: 'arrived' });
    await addEvents(medplum(), subscribed, eventAbout(old, 1));
    await deliver(subscribed);
    const [{ headers, bundle } = { headers: {}, bundle: undefined }] = endpoint.received;
    expect(headers).toMatchObject({ 'x-clinic': 'north', 'content-type': 'application/fhir+json' });
    expect(bundle?.entry?.[1]?.resource).toMatchObject({ id: old.id, status: 'booked' });
  });

  it('say nothing of appointments that the subscriber may not read', async () => {
    const criteria = (name: string) => `Appointment?_tag=${requestorTag(name, config).system}|${name}`;
    const subscribed = await request({
      outbox: { events: 2, readable: [criteria('somebody'), criteria(portal)] },
      changes: { channel: channelTo(endpoint.url, full) },
    });
    const own = await addAppointment(medplum(), { meta: { tag: [requestorTag(portal, config)] } });
    const other = await addAppointment(medplum());
    await addEvents(medplum(), subscribed, eventAbout(other, 1), eventAbout(own, 2));
    await deliver(subscribed);
    expect(endpoint.received.map(({ bundle }) => bundle.entry?.[1]?.resource?.id)).toEqual([undefined, own.id]);
    expect(numbers()).toEqual(['1', '2']);
  });

  it('are read ahead, twenty at a time, and appointments once', async () => {
    const subscribed = await request({ outbox: { events: 22 } });
    const appointment = await addAppointment(medplum());
    const events = Array.from({ length: 22 }, (_, index) => eventAbout(appointment, index + 1));
    await addEvents(medplum(), subscribed, ...events);
    await deliver(subscribed);
    expect(numbers()).toEqual(events.map(({ number }) => String(number)));
    const asked = medplum().asked.flatMap(({ entries }) => entries);
    const reads = asked.filter((one) => one.startsWith('GET Communication?'));
    expect(reads.map((one) => /_count=(\d+)/.exec(one)?.[1])).toEqual(['20', '2']);
    expect(asked.filter((one) => one.startsWith('GET Appointment?'))).toEqual(
      [1, 2].map(() => `GET Appointment?_id=${appointment.id}&_count=1000&_fields=id`),
    );
  });

  it('are left to the next delivery when one has lasted long', async () => {
    const subscribed = await withEvents(2);
    await withClock(async (skip) => {
      endpoint.reply = (response) => {
        skip(5_000);
        response.end();
      };
      await deliver(subscribed);
    });
    expect(numbers()).toEqual(['1']);
    expect((await state(subscribed)).outbox).toMatchObject({ ...released, status: 'ready', delivered: 1 });
  });

  it('are sent as long as there is time', async () => {
    const subscribed = await withEvents(2);
    await withClock(async (skip) => {
      endpoint.reply = (response) => {
        skip(2_000);
        response.end();
      };
      await deliver(subscribed);
    });
    expect(numbers()).toEqual(['1', '2']);
  });

  it('are not sent by a delivery from which another one has taken them over', async () => {
    const subscribed = await withEvents(2);
    endpoint.reply = (response) =>
      void changeOutbox(medplum(), subscribed, { lease: 'of another' }).then(() => response.end());
    await deliver(subscribed);
    expect(numbers()).toEqual(['1']);
    expect((await state(subscribed)).outbox).toMatchObject({ lease: 'of another', delivered: 0 });
    expect((await eventsOf(subscribed)).map(({ status }) => status)).toEqual(['preparation', 'preparation']);
  });

  it('are recorded together with those that come meanwhile', async () => {
    const subscribed = await withEvents(1);
    const next = await addAppointment(medplum());
    let isFirst = true;
    endpoint.reply = async (response) => {
      if (isFirst) {
        isFirst = false;
        await addEvents(medplum(), subscribed, eventAbout(next, 2));
        await changeOutbox(medplum(), subscribed, { events: 2 });
      }
      response.end();
    };
    await deliver(subscribed);
    expect(numbers()).toEqual(['1', '2']);
    expect((await state(subscribed)).outbox).toMatchObject({ status: 'accepted', events: 2, delivered: 2 });
  });

  it.each<['off' | 'error', Partial<Outbox>]>([
    ['off', { status: 'cancelled' }],
    ['error', { status: 'failed', error: 'The Subscription is in error.' }],
  ])('are not sent once the Subscription is %s', async (status, outbox) => {
    const subscribed = await withEvents(2);
    endpoint.reply = async (response) => {
      await changeSubscription(medplum(), subscribed, { status });
      await changeOutbox(medplum(), subscribed, { sent: 0 });
      response.end();
    };
    await deliver(subscribed);
    expect(numbers()).toEqual(['1']);
    const after = await state(subscribed);
    expect(after.subscription.status).toBe(status);
    expect(after.outbox).toMatchObject({ ...released, ...outbox, delivered: 1 });
  });

  it.each<[string, number[], string[], number]>([
    ['the next one', [2], [], 1],
    ['one after the next', [1, 3], ['1'], 2],
    ['all', [], [], 1],
  ])('wait for a missing one: %s', async (_, stored, sent, missing) => {
    const subscribed = await request({ outbox: { events: 3 } });
    const appointment = await addAppointment(medplum());
    await addEvents(medplum(), subscribed, ...stored.map((number) => eventAbout(appointment, number)));
    await deliver(subscribed);
    expect(numbers()).toEqual(sent);
    expect((await state(subscribed)).outbox).toMatchObject({
      status: 'on-hold',
      attempts: 1,
      error: `Event ${missing} is missing.`,
    });
  });
});

describe('an event that cannot be delivered', () => {
  it('is tried again after a second, because most failures are brief', async () => {
    const subscribed = await withEvents(1);
    const replies = [503, 200];
    endpoint.reply = (response) => response.writeHead(replies.shift() ?? 500).end();
    await deliver(subscribed);
    expect(numbers()).toEqual(['1', '1']);
    expect((await state(subscribed)).outbox).toMatchObject({ status: 'accepted', delivered: 1, attempts: 0 });
  });

  it.each<[string, number, Partial<Outbox>]>([
    ['at once if it was slow to fail', 1_000, { attempts: 1, delivered: 0 }],
    ['at once if an attempt before has failed', 0, { attempts: 2, delivered: 0 }],
  ])('is not tried again %s', async (_, milliseconds, expected) => {
    const attempts = (expected.attempts ?? 0) - 1;
    const subscribed = await withEvents(2, { outbox: { attempts } });
    const before = Date.now();
    await withClock(async (skip) => {
      endpoint.reply = (response) => {
        skip(milliseconds);
        response.writeHead(503).end();
      };
      await deliver(subscribed);
    });
    expect(numbers()).toEqual(['1']);
    const { subscription, outbox } = await state(subscribed);
    const error = 'The endpoint answered with status 503.';
    expect(outbox).toMatchObject({ ...expected, status: 'on-hold', lease: undefined, error });
    expect(outbox.until).toBeGreaterThanOrEqual(before + config.notifications.retryAfter * 1000);
    expect(subscription.status).toBe('active');
  });

  it('brings the Subscription to error at last', async () => {
    const subscribed = await withEvents(1, { outbox: { attempts: config.notifications.maxAttempts - 1 } });
    endpoint.reply = 503;
    await deliver(subscribed);
    const { subscription, outbox } = await state(subscribed);
    const error = 'The endpoint answered with status 503.';
    expect([subscription.status, subscription.error]).toEqual(['error', error]);
    expect(outbox).toMatchObject({ ...released, status: 'failed', error, delivered: 0 });
  });

  it('is told over a websocket later if Medplum does not answer', async () => {
    const { endpoint: _, ...channel } = channelTo('', { type: 'message' });
    const subscribed = await withEvents(1, { changes: { channel }, outbox: { attempts: 1 } });
    medplum().interfere(({ entries }) => (entries.some((one) => /%2Flast/.test(one)) ? 'too-late' : undefined));
    await deliver(subscribed);
    const { status, error } = (await state(subscribed)).outbox;
    expect(status).toBe('on-hold');
    expect(error).toMatch(/^The notification could not be sent \(ReadError: The FHIR server could not be read\./);
  });
});

it('websockets are sent a message', async () => {
  const { endpoint: _, ...channel } = channelTo('', { type: 'message' });
  const subscribed = await request({ status: 'requested', changes: { channel } });
  await deliver(subscribed);
  const [{ payload } = {} as Communication] = await eventsOf(subscribed);
  const bundle: Bundle = JSON.parse(payload?.[0]?.contentString ?? '');
  expect(statusIn(bundle)).toMatchObject({ type: 'handshake', status: 'requested' });
  expect((await state(subscribed)).subscription.status).toBe('active');
});

describe('a heartbeat', () => {
  const beating = channelTo('', { extension: [{ url: backport.heartbeatPeriod, valueUnsignedInt: 60 }] });
  const listening = (sent: number, more: Partial<Outbox> = {}) =>
    request({
      outbox: { sent, events: 3, delivered: 3, ...more },
      changes: { channel: { ...beating, endpoint: endpoint.url } },
    });

  it('is sent when it is due', async () => {
    const subscribed = await listening(Date.now() - 61_000, { attempts: 2, error: 'It failed.' });
    const before = Date.now();
    await deliver(subscribed);
    expect(told()).toMatchObject([{ type: 'heartbeat', status: 'active', 'events-since-subscription-start': '3' }]);
    const { outbox } = await state(subscribed);
    expect(outbox).toMatchObject({ ...released, status: 'accepted', attempts: 0, error: undefined });
    expect(outbox.sent).toBeGreaterThanOrEqual(before);
  });

  it('is not sent before', async () => {
    const subscribed = await listening(Date.now() - 1_000);
    await deliver(subscribed);
    expect(told()).toEqual([]);
    expect((await state(subscribed)).outbox).toMatchObject({ ...released, status: 'accepted' });
  });

  it('is tried again later if it fails', async () => {
    const subscribed = await listening(Date.now() - 61_000);
    endpoint.reply = 404;
    await deliver(subscribed);
    expect(told()).toHaveLength(1);
    expect((await state(subscribed)).outbox).toMatchObject({
      status: 'on-hold',
      attempts: 1,
      error: 'The endpoint answered with status 404.',
    });
  });

  it('is left to the next delivery when one has lasted long', async () => {
    const subscribed = await listening(Date.now() - 61_000);
    let asked = 0;
    await withClock(async (skip) => {
      medplum().interfere(() => {
        asked += 1;
        skip(asked === 1 ? 5_000 : 0);
        return undefined;
      });
      await deliver(subscribed);
    });
    expect(told()).toEqual([]);
    expect((await state(subscribed)).outbox.status).toBe('accepted');
  });
});

describe('nothing is sent any more', () => {
  it.each<[string, Given, object]>([
    ['that was switched off', { status: 'off' }, { status: 'off' }],
    ['whose end has come', { changes: { end: '2026-01-01T00:00:00Z' } }, { status: 'off' }],
    ['that is in error', { status: 'error' }, { status: 'error', reason: 'The Subscription is in error.' }],
    [
      'whose error is known',
      { status: 'error', changes: { error: 'It fails.' } },
      { status: 'error', reason: 'It fails.' },
    ],
  ])('for a Subscription %s', async (_, given, { status, reason }: { status?: string; reason?: string }) => {
    const changes = { channel: channelTo(endpoint.url), ...given.changes };
    const subscribed = await withEvents(1, { ...given, changes });
    await deliver(subscribed);
    expect(told()).toEqual([]);
    const { subscription, outbox } = await state(subscribed);
    expect(subscription.status).toBe(status);
    expect(outbox).toMatchObject({ ...released, status: status === 'off' ? 'cancelled' : 'failed', error: reason });
  });

  it('but for one whose end is to come', async () => {
    const changes = { channel: channelTo(endpoint.url), end: '2099-01-01T00:00:00Z' };
    await deliver(await withEvents(1, { changes }));
    expect(numbers()).toEqual(['1']);
  });

  it('if another delivery has the outbox', async () => {
    const subscribed = await withEvents(1, { outbox: { status: 'in-progress', until: Date.now() + 60_000 } });
    await deliver(subscribed);
    expect(told()).toEqual([]);
    expect(medplum().asked).toHaveLength(1);
  });
});
