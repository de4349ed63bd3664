import { afterEach, describe, expect, it } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import type { Content } from '../../../core/notifications/subscription/subscription-parameters.ts';
import { aPatient, succeeded } from '../fixtures.ts';
import { medplum, refusalOf, request, resourceIn } from '../http.ts';
import { base, type Role } from '../installation.ts';
import {
  type Asked,
  aBooking,
  about,
  confirm,
  staffChange,
  submit,
  subscribed,
  toWebsocket,
  turnsTo,
} from './fixtures.ts';
import { eventEntries, focusIn, listen, numbersIn, typeOf } from './listener.ts';
import { bindingTo, bindWith, bound, closeSockets, connect, eventsOn, isBound, told } from './socket.ts';
import './stand-ins.ts';
import { eventually, until } from '../../lib/until.ts';

afterEach(closeSockets);

/** An active Subscription to a websocket. */
async function onWebsocket(asked: Asked = {}, role: Role = 'portal-a') {
  const { id } = succeeded('Subscription', await submit(toWebsocket(asked), role));
  return turnsTo('active', id, role);
}

describe('a Subscription to a websocket', () => {
  it('is created 201 with requested, and becomes active without an endpoint', async () => {
    const response = await submit(toWebsocket());
    expect(response.status).toBe(201);
    const made = resourceIn('Subscription', response);
    expect([made.status, made.channel.type, made.channel.endpoint]).toEqual(['requested', 'websocket', undefined]);
    expect((await turnsTo('active', made.id)).channel.type).toBe('websocket');
  });

  it('is found by its channel', async () => {
    const { id } = await onWebsocket();
    const idsOf = async (type: string) => {
      const found = resourceIn('Bundle', await request('portal-a', 'GET', `/Subscription?type=${type}&_count=200`));
      return (found.entry ?? []).map(({ resource }) => resource?.id);
    };
    expect(await idsOf('websocket')).toContain(id);
    expect(await idsOf('rest-hook')).not.toContain(id);
    expect(await idsOf('rest-hook,websocket')).toContain(id);
    expect(await idsOf('message')).toEqual([]);
  });

  it('can be changed, and keeps its channel', async () => {
    const stored = await onWebsocket();
    const body = { ...stored, reason: 'Another' };
    const changed = resourceIn(
      'Subscription',
      await request('portal-a', 'PUT', `/Subscription/${stored.id}`, { body }),
    );
    expect([changed.status, changed.channel.type, changed.reason]).toEqual(['active', 'websocket', 'Another']);
  });

  it('can become one to an endpoint, and back', async () => {
    const stored = await onWebsocket();
    const listener = await listen();
    const put = (body: object) => request('portal-a', 'PUT', `/Subscription/${stored.id}`, { body });
    const channel = { ...stored.channel, type: 'rest-hook', endpoint: listener.url };
    expect((await put({ ...stored, channel })).status).toBe(200);
    await turnsTo('active', stored.id);
    expect(listener.received.map(({ bundle }) => typeOf(bundle))).toEqual(['handshake']);
    expect((await put(stored)).status).toBe(200);
    await turnsTo('active', stored.id);
    await listener.close();
    await bound(stored.id);
  });
});

describe('$get-ws-binding-token', () => {
  it('returns the address and a token for at most an hour, not to be cached', async () => {
    const { id } = await onWebsocket();
    const { token, expiration, subscription, url } = await bindingTo(id);
    expect(token.length).toBeGreaterThan(50);
    expect(Date.parse(expiration) - Date.now()).toBeGreaterThan(60_000);
    expect(Date.parse(expiration) - Date.now()).toBeLessThanOrEqual(3_700_000);
    expect(subscription).toBe(id);
    expect(url).toBe(`${base.replace(/^http/, 'ws')}/ws`);
    const posted = await request('portal-a', 'POST', `/Subscription/${id}/$get-ws-binding-token`);
    expect([posted.status, posted.headers.get('cache-control')]).toEqual([200, 'no-store']);
  });

  it('returns a token that works for nothing else and that nobody can read', async () => {
    const { id } = await onWebsocket();
    const { token } = await bindingTo(id);
    const headers = { authorization: `Bearer ${token}` };
    expect((await request('nobody', 'GET', '/Patient', { headers })).status).toBe(401);
    expect((await medplum('nobody', 'GET', '/fhir/R4/Patient', { headers })).status).toBe(401);
    expect(Buffer.from(token, 'base64url').toString()).not.toMatch(/eyJ|Bundle|Subscription/);
  });

  it('of a stranger: 404, as of nothing', async () => {
    const { id } = await onWebsocket();
    expect((await request('portal-b', 'GET', `/Subscription/${id}/$get-ws-binding-token`)).status).toBe(404);
    expect((await request('portal-a', 'GET', '/Subscription/unknown/$get-ws-binding-token')).status).toBe(404);
    expect((await request('nobody', 'GET', `/Subscription/${id}/$get-ws-binding-token`)).status).toBe(401);
  });

  it('of one that is over: 422', async () => {
    const stored = await onWebsocket();
    const body = { ...stored, status: 'off' };
    expect((await request('portal-a', 'PUT', `/Subscription/${stored.id}`, { body })).status).toBe(200);
    const response = await request('portal-a', 'GET', `/Subscription/${stored.id}/$get-ws-binding-token`);
    expect(refusalOf(response)).toEqual([422, 'profile-violation Subscription.status']);
  });
});

describe('a websocket that is bound', () => {
  it.each<Content>(['empty', 'id-only', 'full-resource'])(
    '%s: is sent the Bundles that others are posted',
    async (content) => {
      const patient = await aPatient();
      const listener = await listen();
      const posted = await subscribed(listener, { ...about(patient), content });
      const { id } = await onWebsocket({ ...about(patient), content });
      const socket = await bound(id);
      const appointment = await confirm(await aBooking('manual', 'portal-a', patient));
      const [bundle] = await eventsOn(socket, id, 1);
      const [, other] = await eventually(async () => listener.received.map((one) => one.bundle)).is(
        (bundles) => bundles.length > 1,
      );
      await listener.close();
      if (!bundle || !other) {
        throw new Error('Nothing arrived.');
      }
      const comparable = (one: Bundle) =>
        JSON.stringify({ ...one, id: '', timestamp: '' })
          .replaceAll(/urn:uuid:[0-9a-f-]+/g, '')
          .replaceAll(one.entry?.[0]?.resource?.id ?? '', '')
          .replaceAll(posted.id ?? '', id ?? '');
      expect(comparable(bundle)).toBe(comparable(other));
      expect(focusIn(bundle)).toEqual([content === 'empty' ? undefined : `${base}/Appointment/${appointment.id}`]);
      expect(eventEntries(bundle).length).toBe(content === 'empty' ? 0 : 1);
    },
  );

  it('gets every event once, in order', async () => {
    const patient = await aPatient();
    const { id } = await onWebsocket(about(patient));
    const socket = await bound(id);
    const booked = await aBooking('manual', 'portal-a', patient);
    for (const comment of ['Room 1', 'Room 2', 'Room 3']) {
      await staffChange(booked, { comment });
    }
    const bundles = await eventsOn(socket, id, 3);
    expect(bundles.flatMap(numbersIn)).toEqual([1, 2, 3]);
  });

  it('can be bound to several Subscriptions, and unbound from one', async () => {
    const patient = await aPatient();
    const [one, other] = await Promise.all([onWebsocket(about(patient)), onWebsocket(about(patient))]);
    let token = '';
    const socket = await bound([one.id, other.id], 'portal-a', (given, id) => {
      if (id !== one.id) {
        return bindWith(given);
      }
      token = given;
      return `bind-with-token ${token}`;
    });
    const booked = await aBooking('manual', 'portal-a', patient);
    await staffChange(booked, { comment: 'Room 1' });
    await Promise.all([eventsOn(socket, one.id, 1), eventsOn(socket, other.id, 1)]);
    socket.send({ type: 'unbind-from-token', payload: { token } });
    socket.send({ type: 'ping' });
    await eventually(async () => socket.received).is((received) => JSON.stringify(received).includes('"pong"'));
    await staffChange(booked, { comment: 'Room 2' });
    await eventsOn(socket, other.id, 2);
    expect(told(socket, one.id, 'event-notification').flatMap(numbersIn)).toEqual([1]);
  });

  it('learns by $events what happened while it was not', async () => {
    const patient = await aPatient();
    const { id } = await onWebsocket(about(patient));
    const first = await bound(id);
    const booked = await aBooking('manual', 'portal-a', patient);
    await staffChange(booked, { comment: 'Room 1' });
    await eventsOn(first, id, 1);
    first.close();
    await staffChange(booked, { comment: 'Room 2' });
    const missed = await eventually(async () =>
      resourceIn('Bundle', await request('portal-a', 'GET', `/Subscription/${id}/$events?eventsSinceNumber=2`)),
    ).is((bundle) => numbersIn(bundle).length > 0);
    expect(numbersIn(missed)).toEqual([2]);
    const second = await bound(id);
    await staffChange(booked, { comment: 'Room 3' });
    // Event 2 is still told if its delivery came after the binding.
    await eventually(async () => told(second, id, 'event-notification').flatMap(numbersIn)).is((numbers) =>
      numbers.includes(3),
    );
  });

  it('gets nothing that its owner may not read', async () => {
    const [own, strange] = await Promise.all([onWebsocket(), onWebsocket({}, 'portal-b')]);
    const [mine, theirs] = await Promise.all([bound(own.id), bound(strange.id, 'portal-b')]);
    const appointment = await confirm(await aBooking());
    const isAbout = (bundle: Parameters<typeof focusIn>[0]) =>
      focusIn(bundle).includes(`${base}/Appointment/${appointment.id}`);
    await eventually(async () => told(mine, own.id, 'event-notification')).is((bundles) => bundles.some(isAbout));
    await confirm(await aBooking('manual', 'portal-b'));
    await eventsOn(theirs, strange.id, 1);
    expect(JSON.stringify(theirs.received)).not.toContain(appointment.id);
  });

  it('continues when another one is closed', async () => {
    const patient = await aPatient();
    const { id } = await onWebsocket(about(patient));
    const [one, other] = [await bound(id), await bound(id)];
    one.close();
    await staffChange(await aBooking('manual', 'portal-a', patient), { comment: 'Room 1' });
    expect((await eventsOn(other, id, 1)).flatMap(numbersIn)).toEqual([1]);
  });
});

it.each(['hello', '{"type":"bind-with-token","payload":{"token":"eyJhbGciOiJub25lIn0.e30."}}'])(
  'what is no good message: %s: an OperationOutcome that says what to send',
  async (message) => {
    const { id } = await onWebsocket();
    await until(async () => {
      // The token is there first: a websocket has ten seconds to be bound.
      const { token, url } = await bindingTo(id);
      const socket = await connect(url);
      socket.send(message);
      const [first] = await eventually(async () => socket.received).is((received) => received.length > 0);
      expect(JSON.stringify(first)).toMatch(/"malformed-request".*\$get-ws-binding-token/);
      return isBound(socket, id, bindWith(token));
    });
  },
);

it('requestors cannot write the messages for websockets', async () => {
  const { id } = await onWebsocket();
  const body = { resourceType: 'Communication', status: 'completed', partOf: [{ reference: `Subscription/${id}` }] };
  expect((await medplum('portal-a', 'POST', '/Communication', { body })).status).toBe(403);
});
