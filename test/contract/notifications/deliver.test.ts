import { describe, expect, it } from '@jest/globals';
import type { Subscription } from '@medplum/fhirtypes';
import type { Outbox } from '../../../core/notifications/delivery/outbox.ts';
import { eventually, until } from '../../lib/until.ts';
import { aPatient, simultaneously, succeeded } from '../fixtures.ts';
import { medplum, refusalOf, request, resourceIn } from '../http.ts';
import type { Role } from '../installation.ts';
import {
  aBooking,
  about,
  confirm,
  current,
  outboxesSoFar,
  outboxNow,
  outboxTurnsTo,
  rowOf,
  submit,
  subscribed,
  subscription,
  turnsTo,
} from './fixtures.ts';
import { events, type Listener, numbersAt, ofKind } from './listener.ts';
import { aListener } from './stand-ins.ts';

const deliver = (id: string | undefined, role: Role = 'front-desk') =>
  request(role, 'POST', `/Subscription/${id}/$deliver`);

/** A Subscription whose event could not be delivered, and waits for its next attempt. */
async function aWaiting(listener: Listener) {
  const patient = await aPatient();
  const { id } = await subscribed(listener, about(patient));
  listener.reply = 500;
  await confirm(await aBooking('manual', 'portal-a', patient));
  await outboxTurnsTo('on-hold', id);
  return id;
}

/** A Subscription that its handshake has put into error. */
async function aFailed(listener: Listener) {
  listener.reply = 500;
  const { id } = succeeded('Subscription', await submit(subscription(listener)));
  await turnsTo('error', id);
  return id;
}

describe('POST /Subscription/{id}/$deliver, as staff', () => {
  it('sends at once what waits for its next attempt, with the same number', async () => {
    const listener = await aListener();
    const id = await aWaiting(listener);
    const before = ofKind(listener, 'event-notification').length;
    listener.reply = 200;
    const response = await deliver(id);
    expect(response.status).toBe(200);
    expect(response.text).toContain('query-status');
    await events(listener, before + 1);
    await outboxTurnsTo('accepted', id);
    expect(new Set(numbersAt(listener))).toEqual(new Set([1]));
    expect(numbersAt(listener)).toHaveLength(before + 1);
  });

  it('if it fails again, it waits again, and its attempts are counted anew', async () => {
    const listener = await aListener();
    const id = await aWaiting(listener);
    await eventually(() => outboxNow(id)).is((outbox) => outbox?.status === 'on-hold' && outbox.attempts > 1);
    // A delivery that has begun by itself meanwhile is not begun again.
    const asked = async () => {
      expect((await deliver(id)).status).toBe(200);
      return outboxesSoFar(id);
    };
    const isCountedAnew = (outboxes: readonly Outbox[]): boolean => {
      const failed = outboxes.filter(({ status }) => status === 'on-hold').map(({ attempts }) => attempts);
      return (
        failed.lastIndexOf(1) > failed.findIndex((attempts) => attempts > 1) &&
        failed.indexOf(1) < failed.lastIndexOf(1)
      );
    };
    await until(asked, isCountedAnew);
  });

  it('requests a Subscription in error again: handshake, then what it has missed', async () => {
    const listener = await aListener();
    const id = await aFailed(listener);
    listener.reply = 200;
    expect((await deliver(id)).status).toBe(200);
    await turnsTo('active', id);
    expect((await current(id)).error).toBeUndefined();
    expect(ofKind(listener, 'handshake')).toHaveLength(2);
  });

  it('a receiver that still fails leaves it in error, with the reason', async () => {
    const listener = await aListener();
    const id = await aFailed(listener);
    listener.reply = 503;
    expect((await deliver(id)).status).toBe(200);
    const { error } = await eventually(() => current(id)).is(
      (one) => one.status === 'error' && one.error?.includes('503') === true,
    );
    expect(error).toContain('503');
  });

  it('asked five times at the same moment, it starts one handshake', async () => {
    const listener = await aListener();
    const id = await aFailed(listener);
    const held = Promise.withResolvers<void>();
    listener.reply = (response) => void held.promise.then(() => response.writeHead(200).end());
    const responses = await simultaneously(5, () => deliver(id));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    await eventually(async () => ofKind(listener, 'handshake')).is((found) => found.length >= 2);
    expect((await deliver(id)).status).toBe(200);
    held.resolve();
    await turnsTo('active', id);
    expect(ofKind(listener, 'handshake')).toHaveLength(2);
  });

  it('if nothing waits, nothing is sent', async () => {
    const listener = await aListener();
    const { id } = await subscribed(listener);
    await outboxTurnsTo('accepted', id);
    const before = await outboxNow(id);
    expect((await deliver(id)).status).toBe(200);
    expect(await outboxNow(id)).toEqual(before);
    expect(listener.received).toHaveLength(1);
  });

  it('one that has ended is refused: 422', async () => {
    const stored = await subscribed(await aListener());
    expect(
      (await request('portal-a', 'PUT', `/Subscription/${stored.id}`, { body: { ...stored, status: 'off' } })).status,
    ).toBe(200);
    expect(refusalOf(await deliver(stored.id))).toEqual([422, 'profile-violation Subscription.status']);
    expect((await current(stored.id)).status).toBe('off');
  });

  it('an unknown one: 404', async () => {
    expect((await deliver('9d5a1c39-7a3f-4a57-8d0b-0e9a4d1d2c11')).status).toBe(404);
  });
});

it('POST /Subscription/{id}/$deliver, as somebody else: the subscriber itself: 403, with what it can do; another portal: 404; nobody: 401', async () => {
  const listener = await aListener();
  const id = await aFailed(listener);
  listener.reply = 200;
  const own = await deliver(id, 'portal-a');
  expect([own.status, own.text.includes('PUT')]).toEqual([403, true]);
  expect((await deliver(id, 'portal-b')).status).toBe(404);
  expect((await deliver(id, 'nobody')).status).toBe(401);
  expect([(await current(id)).status, listener.received.length]).toEqual(['error', 1]);
});

describe("staff and a portal's Subscription", () => {
  it('they see its state, and neither its endpoint nor its headers', async () => {
    const listener = await aListener();
    const { id } = await subscribed(listener, { header: ['Authorization: Bearer top-secret'] });
    const responses = [
      await request('front-desk', 'GET', `/Subscription/${id}`),
      await medplum('front-desk', 'GET', `/Subscription/${id}`),
      await medplum('front-desk', 'GET', `/Subscription?_id=${id}`),
      await medplum('front-desk', 'GET', `/Task/${(await rowOf(id))?.task.id}`),
      await request('front-desk', 'GET', `/Subscription/${id}/$status`),
    ];
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(responses.slice(0, 2).map((answer) => resourceIn('Subscription', answer).status)).toEqual([
      'active',
      'active',
    ]);
    expect(responses.filter(({ text }) => text.includes('top-secret') || text.includes(listener.url))).toEqual([]);
    expect((await medplum('front-desk', 'GET', `/Subscription/${id}/_history`)).status).toBeGreaterThanOrEqual(400);
  });

  it('they change, end and bind none, at the service or in Medplum', async () => {
    const listener = await aListener();
    const stored = await subscribed(listener);
    const path = `/Subscription/${stored.id}`;
    const body: Subscription = { ...stored, channel: { ...stored.channel, endpoint: `${listener.url}/elsewhere` } };
    const statuses = [
      await request('front-desk', 'PUT', path, { body }),
      await request('front-desk', 'DELETE', path),
      await request('front-desk', 'GET', `${path}/$get-ws-binding-token`),
      await medplum('front-desk', 'DELETE', path),
    ].map(({ status }) => status);
    expect(statuses).toEqual([403, 403, 403, 403]);
    expect((await medplum('front-desk', 'PUT', path, { body })).status).toBeGreaterThanOrEqual(400);
    expect(await current(stored.id)).toEqual(stored);
  });
});
