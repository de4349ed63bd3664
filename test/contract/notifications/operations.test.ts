import { describe, expect, it } from '@jest/globals';
import type { Bundle, Subscription } from '@medplum/fhirtypes';
import { backport } from '../../../core/fhir/backport.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { scaled } from '../../lib/time-scale.ts';
import { eventually } from '../../lib/until.ts';
import { medplum, refusalOf, request, resourceIn } from '../http.ts';
import {
  aBooking,
  confirm,
  current,
  outboxTurnsTo,
  staffChange,
  submit,
  subscribed,
  subscription,
  turnsTo,
} from './fixtures.ts';
import {
  eventEntries,
  events,
  focusIn,
  type Listener,
  numbersAt,
  numbersIn,
  ofKind,
  parameterIn,
  typeOf,
} from './listener.ts';
import { aListener } from './stand-ins.ts';

/** Longer than it takes until retry-deliveries runs again, once a minute on a real server. */
const NEXT_RUN = 90_000;

const ask = async (path: string, role: 'portal-a' | 'portal-b' = 'portal-a'): Promise<Bundle> =>
  resourceIn('Bundle', await request(role, 'GET', `/Subscription${path}`));

const valuesIn = ({ entry = [] }: Bundle, name: string) =>
  entry.map(({ resource }) => {
    const one: unknown = resource;
    const parameter = isResource(one, 'Parameters')
      ? one.parameter?.find((candidate) => candidate.name === name)
      : undefined;
    return parameter?.valueCode ?? parameter?.valueString ?? parameter?.valueReference?.reference;
  });

describe('$status', () => {
  it('of one Subscription: a searchset with one Parameters', async () => {
    const { id } = await subscribed(await aListener());
    const bundle = await ask(`/${id}/$status`);
    expect([bundle.type, bundle.total, bundle.entry?.length]).toEqual(['searchset', 1, 1]);
    expect(bundle.entry?.[0]?.resource?.meta?.profile).toEqual([backport.statusR4]);
    expect(valuesIn(bundle, 'status')).toEqual(['active']);
    expect(valuesIn(bundle, 'type')).toEqual(['query-status']);
    expect(valuesIn(bundle, 'events-since-subscription-start')).toEqual(['0']);
    const posted = resourceIn('Bundle', await request('portal-a', 'POST', `/Subscription/${id}/$status`));
    expect(valuesIn(posted, 'status')).toEqual(['active']);
  });

  it("of the type: those asked for, of one's own", async () => {
    const [first, second] = [await subscribed(await aListener()), await subscribed(await aListener())];
    const foreign = await subscribed(await aListener(), {}, 'portal-b');
    const references = async (query: string) =>
      valuesIn(await ask(`/$status${query}`), 'subscription').map((one) => String(one).split('/').at(-1));
    expect(await references(`?id=${first.id}&id=${foreign.id}`)).toEqual([first.id]);
    const all = await references('?status=active');
    expect([all.includes(first.id ?? ''), all.includes(second.id ?? ''), all.includes(foreign.id ?? '')]).toEqual([
      true,
      true,
      false,
    ]);
    const body = { resourceType: 'Parameters', parameter: [{ name: 'id', valueId: second.id }] };
    const posted = resourceIn('Bundle', await request('portal-a', 'POST', '/Subscription/$status', { body }));
    expect(posted.total).toBe(1);
  });

  it('of a Subscription in error tells the reason', async () => {
    const { id } = resourceIn('Subscription', await submit(subscription(await listenerThatFails())));
    await turnsTo('error', id);
    const bundle = await ask(`/${id}/$status`);
    expect(valuesIn(bundle, 'status')).toEqual(['error']);
    expect(JSON.stringify(bundle)).toContain('500');
  });

  it("another requestor's: 404", async () => {
    const { id } = await subscribed(await aListener());
    expect((await request('portal-b', 'GET', `/Subscription/${id}/$status`)).status).toBe(404);
    expect((await request('portal-b', 'GET', `/Subscription/${id}/$events`)).status).toBe(404);
  });
});

async function listenerThatFails(): Promise<Listener> {
  const listener = await aListener();
  listener.reply = 500;
  return listener;
}

describe('$events', () => {
  it('gives the events by their numbers, both ends included', async () => {
    const listener = await aListener();
    const { id } = await subscribed(listener);
    const appointment = await aBooking('automatic');
    for (const comment of ['1', '2', '3', '4']) {
      await staffChange(appointment, { comment });
    }
    await events(listener, 4);
    const bundle = await ask(`/${id}/$events`);
    expect([bundle.type, typeOf(bundle), numbersIn(bundle)]).toEqual(['history', 'query-event', [1, 2, 3, 4]]);
    expect(numbersIn(await ask(`/${id}/$events?eventsSinceNumber=2&eventsUntilNumber=3`))).toEqual([2, 3]);
    expect(numbersIn(await ask(`/${id}/$events?eventsSinceNumber=4`))).toEqual([4]);
    expect(numbersIn(await ask(`/${id}/$events?eventsSinceNumber=5`))).toEqual([]);
    expect(parameterIn(bundle, 'events-since-subscription-start')?.valueString).toBe('4');
  });

  it('content overrides that of the Subscription', async () => {
    const listener = await aListener();
    const { id } = await subscribed(listener, { content: 'empty' });
    const appointment = await confirm(await aBooking());
    await events(listener, 1);
    expect(focusIn(await ask(`/${id}/$events`))).toEqual([undefined]);
    expect(eventEntries(await ask(`/${id}/$events?content=id-only`))[0]?.fullUrl).toMatch(
      new RegExp(`${appointment.id}$`),
    );
    const full = await ask(`/${id}/$events?content=full-resource`);
    expect(eventEntries(full)[0]?.resource).toMatchObject({ id: appointment.id, status: 'booked' });
  });

  it.each(['x', '-1', '1.5'])('eventsSinceNumber=%s: 400', async (number) => {
    const { id } = await subscribed(await aListener());
    const response = await request('portal-a', 'GET', `/Subscription/${id}/$events?eventsSinceNumber=${number}`);
    expect(refusalOf(response)).toEqual([400, 'malformed-request http.eventsSinceNumber']);
  });
});

/** What an administrator changes in Medplum. */
async function administer(id: string | undefined, change: (stored: Subscription) => Subscription): Promise<void> {
  const stored = resourceIn('Subscription', await medplum('admin', 'GET', `/Subscription/${id}`));
  expect((await medplum('admin', 'PUT', `/Subscription/${id}`, { body: change(stored) })).status).toBe(200);
}

it('a Subscription in error gets no notifications; once an administrator sets it to requested, it gets all of them', async () => {
  const listener = await aListener();
  const { id } = await subscribed(listener);
  await administer(id, (stored) => ({ ...stored, status: 'error', error: 'given up' }));
  await confirm(await aBooking());
  await eventually(async () => numbersIn(await ask(`/${id}/$events`))).is((numbers) => numbers.length === 1);
  await outboxTurnsTo('failed', id);
  expect(numbersAt(listener)).toEqual([]);
  await administer(id, (stored) => ({ ...stored, status: 'requested' }));
  await turnsTo('active', id);
  await events(listener, 1);
  expect(numbersAt(listener)).toEqual([1]);
  expect((await current(id)).error).toBeUndefined();
});

it.each(['off', 'error'] as const)(
  'a Subscription that an administrator sets to %s and, later, to requested, gets a new handshake',
  async (status) => {
    const listener = await aListener();
    const { id } = await subscribed(listener);
    await outboxTurnsTo('accepted', id);
    await administer(id, (stored) => ({ ...stored, status }));
    expect((await current(id)).status).toBe(status);
    await outboxTurnsTo(status === 'off' ? 'cancelled' : 'failed', id);
    await administer(id, (stored) => ({ ...stored, status: 'requested' }));
    await eventually(() => ofKind(listener, 'handshake').length).is((count) => count === 2);
    await turnsTo('active', id);
  },
);

it.each(['active', 'requested'] as const)(
  'a Subscription that an administrator sets to %s after it was given up gets its handshake, and what it missed',
  async (status) => {
    const listener = await aListener();
    const { id } = await subscribed(listener);
    await administer(id, (stored) => ({ ...stored, status: 'error', error: 'given up' }));
    await confirm(await aBooking());
    await outboxTurnsTo('failed', id);
    await administer(id, (stored) => ({ ...stored, status }));
    await events(listener, 1);
    expect([numbersAt(listener), ofKind(listener, 'handshake').length]).toEqual([[1], 2]);
    await turnsTo('active', id);
    expect(resourceIn('Subscription', await medplum('admin', 'GET', `/Subscription/${id}`)).status).toBe('active');
    await eventually(() => current(id)).is(({ error }) => error === undefined);
  },
);

it(
  'a Subscription that is set to requested during a delivery becomes active all the same',
  async () => {
    const listener = await aListener();
    const { id } = await subscribed(listener, { timeout: 8 });
    const answer = Promise.withResolvers<void>();
    listener.reply = (response) => void answer.promise.then(() => response.writeHead(200).end());
    await confirm(await aBooking());
    await events(listener, 1);
    await administer(id, (stored) => ({ ...stored, status: 'requested' }));
    // What Medplum starts at once has run when another one is active: it has found the delivery under way.
    await subscribed(await aListener());
    listener.reply = 200;
    answer.resolve();
    await eventually(() => current(id), NEXT_RUN).is(({ status }) => status === 'active');
    expect([numbersAt(listener), ofKind(listener, 'handshake').length]).toEqual([[1], 2]);
  },
  scaled(120_000),
);

it('$get-ws-binding-token of a rest-hook: 422', async () => {
  const { id } = await subscribed(await aListener());
  const response = await request('portal-a', 'GET', `/Subscription/${id}/$get-ws-binding-token`);
  expect(refusalOf(response)).toEqual([422, 'channel-unsupported Subscription.channel.type']);
  expect((await request('portal-b', 'GET', `/Subscription/${id}/$get-ws-binding-token`)).status).toBe(404);
});
