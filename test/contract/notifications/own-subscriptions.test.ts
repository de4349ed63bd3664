import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aPatient } from '../fixtures.ts';
import { medplum, refusalOf, request, resourceIn } from '../http.ts';
import { aBooking, about, confirm, current, submit, subscribed, subscription, turnsTo } from './fixtures.ts';
import { events, type Listener, listen, numbersAt, ofKind } from './listener.ts';
import './stand-ins.ts';
import { scaled } from '../../lib/time-scale.ts';
import { eventually } from '../../lib/until.ts';

let listener: Listener;
beforeAll(async () => {
  listener = await listen();
});
afterAll(() => listener.close());

const put = (id: string | undefined, body: object, headers: Record<string, string> = {}) =>
  request('portal-a', 'PUT', `/Subscription/${id}`, { body, headers });

describe('GET /Subscription', () => {
  it("by criteria, status and url; never another requestor's", async () => {
    const { id, criteria } = await subscribed(listener);
    const foreign = await subscribed(listener, {}, 'portal-b');
    for (const query of [
      `criteria=${encodeURIComponent(criteria ?? '')}`,
      'status=active',
      `url=${encodeURIComponent(listener.url)}`,
    ]) {
      const { entry = [] } = resourceIn(
        'Bundle',
        await request('portal-a', 'GET', `/Subscription?${query}&_count=1000`),
      );
      const ids = entry.map(({ resource }) => resource?.id);
      expect([query, ids.includes(id), ids.includes(foreign.id)]).toEqual([query, true, false]);
    }
    expect((await request('portal-a', 'GET', `/Subscription/${foreign.id}`)).status).toBe(404);
  });

  it('by every status and its contrary', async () => {
    const { id } = await subscribed(listener);
    const over = await subscribed(listener);
    expect((await put(over.id, { ...over, status: 'off' })).status).toBe(200);
    const searched = async (query: string) => {
      const response = await request('portal-a', 'GET', `/Subscription?_id=${id},${over.id}&${query}`);
      const { entry = [], total } = resourceIn('Bundle', response);
      return { total, found: entry.map(({ resource }) => resource?.id), text: response.text };
    };
    const both = [id, over.id];
    for (const [query, wanted] of [
      ['status=active', [id]],
      ['status=http://hl7.org/fhir/subscription-status|active', [id]],
      ['status=requested', []],
      ['status=off', [over.id]],
      ['status=active,off', both],
      ['status=active&status=off', []],
      ['status:not=active', [over.id]],
      ['status:not=requested', both],
      ['status:not=off,error', [id]],
      ['status:not=requested,active,error,off', []],
      ['status=none', []],
    ] as const) {
      const { found } = await searched(query);
      expect([query, [...found].sort()]).toEqual([query, [...wanted].sort()]);
    }
    const counted = await searched('status=active&_total=accurate');
    expect(counted.total).toBe(1);
    expect(counted.text).toContain('status=active');
    expect(counted.text).not.toContain('_filter');
    for (const query of ['_elements=status', '_summary=true', '_summary=data', '']) {
      const response = await request('portal-a', 'GET', `/Subscription?_id=${id}&${query}`);
      const [first] = resourceIn('Bundle', response).entry ?? [];
      expect([query, first?.resource]).toEqual([query, expect.objectContaining({ status: 'active' })]);
    }
  });

  it('Medplum shows the same status, and delivers nothing itself', async () => {
    const own = await listen();
    const { id } = await subscribed(own);
    const { status, meta } = resourceIn('Subscription', await medplum('admin', 'GET', `/Subscription/${id}`));
    expect([status, meta?.tag?.map(({ code }) => code)]).toEqual(['active', ['external', expect.any(String)]]);
    const appointment = await confirm(await aBooking());
    await events(own, 1);
    // What Medplum would have sent for the change before was sent by then.
    await medplum('admin', 'PUT', `/Appointment/${appointment.id}`, {
      body: { ...appointment, comment: 'Bring cards' },
    });
    await events(own, 2);
    expect([own.received.length, own.others]).toEqual([3, []]);
    await own.close();
  });

  it('channel.header is never readable', async () => {
    const sent = subscription(listener, { header: ['Authorization: Bearer top-secret'] });
    const response = await submit(sent);
    const { id } = resourceIn('Subscription', response);
    await turnsTo('active', id);
    const responses = [
      response,
      await request('portal-a', 'GET', `/Subscription/${id}`),
      await request('portal-a', 'GET', '/Subscription?_count=1000'),
      await request('admin', 'GET', `/Subscription/${id}`),
      await medplum('portal-a', 'GET', `/Subscription/${id}`),
      await medplum('portal-a', 'GET', `/Subscription?_id=${id}`),
      await put(id, { ...(await current(id)), reason: 'another' }),
    ];
    expect(responses.map(({ status }) => status)).toEqual([201, 200, 200, 200, 200, 200, 200]);
    expect(responses.filter(({ text }) => text.includes('top-secret'))).toEqual([]);
    expect((await medplum('portal-a', 'GET', `/Subscription/${id}/_history`)).status).toBeGreaterThan(400);
  });

  it('a portal writes no Subscription past the service', async () => {
    const { id } = await subscribed(listener);
    const body = { ...subscription(listener), status: 'active', criteria: 'Appointment' };
    expect((await medplum('portal-a', 'POST', '/Subscription', { body })).status).toBe(403);
    expect((await medplum('portal-a', 'PUT', `/Subscription/${id}`, { body: { ...body, id } })).status).toBeGreaterThan(
      400,
    );
  });
});

describe('PUT /Subscription/{id}', () => {
  it('keeps the headers that the owner cannot see, and the status', async () => {
    const own = await listen();
    const { id } = await subscribed(own, { header: ['X-Secret: kept'] });
    const response = await put(id, { ...(await current(id)), reason: 'Changed' });
    expect([response.status, resourceIn('Subscription', response).status]).toEqual([200, 'active']);
    await confirm(await aBooking());
    const [first] = await events(own, 1);
    expect(first?.headers['x-secret']).toBe('kept');
    await own.close();
  });

  it('another endpoint: requested again, a new handshake there, and the events go there', async () => {
    const [before, after, patient] = [await listen(), await listen(), await aPatient()];
    const stored = await subscribed(before, about(patient));
    const response = await put(stored.id, { ...stored, channel: { ...stored.channel, endpoint: after.url } });
    expect([response.status, resourceIn('Subscription', response).status]).toEqual([200, 'requested']);
    await turnsTo('active', stored.id);
    await confirm(await aBooking('manual', 'portal-a', patient));
    await events(after, 1);
    expect([numbersAt(before), numbersAt(after), ofKind(after, 'handshake').length]).toEqual([[], [1], 1]);
    await Promise.all([before.close(), after.close()]);
  });

  it('another origin without headers: the stored ones do not go there', async () => {
    const [before, after] = [await listen(), await listen()];
    const stored = await subscribed(before, { header: ['Authorization: Bearer secret'] });
    const response = await put(stored.id, { ...stored, channel: { ...stored.channel, endpoint: after.url } });
    expect(response.status).toBe(200);
    await turnsTo('active', stored.id);
    expect([before, after].map(({ received }) => received[0]?.headers.authorization)).toEqual([
      'Bearer secret',
      undefined,
    ]);
    await Promise.all([before.close(), after.close()]);
  });

  it('what is not allowed is refused, and nothing has changed', async () => {
    const stored = await subscribed(listener);
    const response = await put(stored.id, { ...stored, channel: { ...stored.channel, endpoint: 'https://10.0.0.1/' } });
    expect(refusalOf(response)).toEqual([422, 'endpoint-not-allowed Subscription.channel.endpoint']);
    expect(await current(stored.id)).toEqual(stored);
  });

  it('If-Match not current: 412', async () => {
    const stored = await subscribed(listener);
    const response = await put(stored.id, { ...stored, reason: 'x' }, { 'if-match': 'W/"other"' });
    expect(refusalOf(response)).toEqual([412, 'version-conflict http.If-Match']);
  });

  it('an end in the past ends it', async () => {
    const [own, patient] = [await listen(), await aPatient()];
    const stored = await subscribed(own, about(patient));
    const response = await put(stored.id, { ...stored, end: '2020-01-01T00:00:00Z' });
    expect([response.status, resourceIn('Subscription', response).status]).toEqual([200, 'off']);
    await confirm(await aBooking('manual', 'portal-a', patient));
    const other = await subscribed(own, about(patient));
    await confirm(await aBooking('manual', 'portal-a', patient));
    await events(own, 1);
    expect(own.received.filter(({ text }) => text.includes(stored.id ?? '-'))).toHaveLength(1);
    expect(other.status).toBe('active');
    await own.close();
  });

  it("another requestor's: 404", async () => {
    const foreign = await subscribed(listener, {}, 'portal-b');
    expect((await put(foreign.id, { ...subscription(listener), id: foreign.id })).status).toBe(404);
    expect((await request('portal-a', 'DELETE', `/Subscription/${foreign.id}`)).status).toBe(404);
    expect((await current(foreign.id, 'portal-b')).status).toBe('active');
  });
});

it(
  'an end that comes ends it',
  async () => {
    const stored = await subscribed(listener);
    const end = new Date(Date.now() + 1_500).toISOString();
    expect((await put(stored.id, { ...stored, end })).status).toBe(200);
    const { status } = await eventually(() => current(stored.id), 90_000).is((one) => one.status === 'off');
    expect(status).toBe('off');
  },
  scaled(100_000),
);

it('DELETE /Subscription/{id}: 204, then 404 or 410, and nothing is sent any more', async () => {
  const [own, patient] = [await listen(), await aPatient()];
  const { id } = await subscribed(own, about(patient));
  expect((await request('portal-a', 'DELETE', `/Subscription/${id}`)).status).toBe(204);
  expect([404, 410]).toContain((await request('portal-a', 'GET', `/Subscription/${id}`)).status);
  const other = await subscribed(own, about(patient));
  await confirm(await aBooking('manual', 'portal-a', patient));
  const arrived = await events(own, 1);
  expect(arrived).toHaveLength(1);
  expect(arrived[0]?.text).toContain(other.id);
  await own.close();
});
