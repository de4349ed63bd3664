import { beforeEach, expect, test } from '@jest/globals';
import type { Subscription } from '@medplum/fhirtypes';
import { notification } from '../../../core/notifications/events/bundle.ts';
import { until } from '../../../test/lib/until.ts';
import { createChanges } from '../updates/changes.ts';
import { notificationIn } from '../updates/notification.ts';
import { createSubscriptionWatch } from '../updates/subscription-watch.ts';
import { aBrowser, bundle, settings, withPortal } from './installed.ts';

const { origin, topic } = settings;
const baseUrl = 'https://booking.example/fhir/R4';

/** A notification as the service makes it. */
function message(type: 'handshake' | 'heartbeat' | 'event-notification', number: number, appointment?: string) {
  const id = 'subscription';
  const event = { number, appointment: appointment ?? '', kind: 'update', timestamp: '2040-01-01T00:00:00Z' } as const;
  return notification(
    { id, status: 'active', topic, type, events: number },
    appointment === undefined
      ? []
      : [{ event: { ...event, version: '2' } as never, appointment: { resourceType: 'Appointment' } as never }],
    'id-only',
    { baseUrl, now: 0, newId: () => 'urn:uuid:x' },
  );
}

test('a notification of the service is read; what is none, is not', () => {
  expect(notificationIn(message('event-notification', 3, 'a'))).toEqual({
    subscription: `${baseUrl}/Subscription/subscription`,
    type: 'event-notification',
    first: 3,
    number: 3,
    appointments: ['a'],
  });
  expect(notificationIn(message('handshake', 0))).toMatchObject({ type: 'handshake', number: 0, appointments: [] });
  const saying = (...parameter: unknown[]) => bundle({ parameter });
  const type = { name: 'type', valueCode: 'handshake' };
  for (const bad of [undefined, 'x', [], {}, { resourceType: 'Bundle', entry: [null] }, saying(), saying(null, type)]) {
    expect(notificationIn(bad)).toBeUndefined();
  }
});

test('a number that is left out tells that another server gets notifications, too', () => {
  let now = 0;
  const changes = createChanges(() => now);
  const watch = createSubscriptionWatch(changes, () => now);
  const take = (type: 'handshake' | 'heartbeat' | 'event-notification', number: number) =>
    watch.take({ subscription: 's', type, first: number, number, appointments: [] });
  expect(watch.isComplete()).toBe(false);
  take('handshake', 7);
  now += 1_000;
  take('event-notification', 8);
  take('event-notification', 8);
  take('heartbeat', 8);
  expect([watch.isHeard(), watch.isComplete(), changes.hasChanged('a', now)]).toEqual([true, true, false]);
  now += 1_000;
  take('event-notification', 10);
  expect([watch.isHeard(), watch.isComplete(), changes.hasChanged('a', now)]).toEqual([true, false, true]);
  now += 600_001;
  take('heartbeat', 10);
  expect(watch.isComplete()).toBe(true);
  now += 200_000;
  expect([watch.isHeard(), watch.isComplete()]).toEqual([false, false]);
});

test('what happened before notifications began, or began anew, is told to nobody: what was read then may have changed', () => {
  let now = 0;
  const changes = createChanges(() => now);
  const watch = createSubscriptionWatch(changes, () => now);
  const take = (type: 'handshake' | 'event-notification', first: number, number = first) =>
    watch.take({ subscription: 's', type, first, number, appointments: [] });
  now = 1_000;
  take('handshake', 0);
  expect([changes.hasChanged('a', 500), changes.hasChanged('a', 1_001)]).toEqual([true, false]);
  take('event-notification', 1);
  now = 2_000;
  take('handshake', 9);
  take('event-notification', 10);
  take('event-notification', 11, 13);
  take('event-notification', 14);
  expect([changes.hasChanged('a', 1_500), changes.hasChanged('a', 2_001)]).toEqual([true, false]);
  expect(watch.isComplete()).toBe(true);
});

/** What the clinic was asked, and the Subscription that it has. */
const asked: string[] = [];
let stored: Subscription | undefined;

const { app, baseUrl: address } = await withPortal({}, (clinic) => {
  clinic.addHook('onRequest', async ({ method, url }) => void asked.push(`${method} ${url.split('?')[0]}`));
  const appointment = { resourceType: 'Appointment', id: 'a', status: 'pending', start: '2040-01-02T09:00:00Z' };
  clinic.get('/fhir/R4/Schedule', async () => bundle({ resourceType: 'Schedule', id: 's' }));
  clinic.post('/fhir/R4/Appointment/$hold', async (_request, reply) => reply.code(201).send({ ...appointment }));
  clinic.get('/fhir/R4/Appointment/a', async () => appointment);
  clinic.post('/fhir/R4/Appointment/$book', async (_request, reply) => reply.code(201).send(appointment));
  clinic.get('/fhir/R4/Appointment', async () => bundle(appointment));
  clinic.get('/fhir/R4/Subscription', async () => bundle(...(stored ? [stored] : [])));
  const store = async ({ body }: { body: unknown }): Promise<Subscription> => {
    stored = { ...JSON.parse(String(body)), id: 'subscription' };
    return stored as Subscription;
  };
  clinic.post('/fhir/R4/Subscription', store);
  clinic.put('/fhir/R4/Subscription/subscription', store);
});
beforeEach(() => {
  asked.length = 0;
});

const notify = (body: object | string, authorization?: string) =>
  app.inject({
    method: 'POST',
    url: '/portal/notifications',
    headers: { 'content-type': 'application/fhir+json', ...(authorization && { authorization }) },
    payload: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** The address at which the page of a fresh booking asks for updates. */
async function waiting(): Promise<{ readonly updates: string; readonly browser: ReturnType<typeof aBrowser> }> {
  const browser = aBrowser(app, '192.0.2.1');
  const time = 'Slot/a Schedule/s 2040-01-02T09:00:00.000Z 2040-01-02T09:30:00.000Z';
  const { headers } = await browser.send('/portal/hold', { service: '', time });
  const person = { given: 'Kim', family: 'Muster', birthDate: '1990-05-17', phone: '030 123456' };
  const booked = await browser.send(String(headers.location), person);
  const page = await browser.send(String(booked.headers.location));
  const updates = /data-updates="([^"]+)"/.exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
  return { updates, browser };
}

test('a page that waits hears of a change through the portal, which asks the clinic for nothing meanwhile', async () => {
  const { updates, browser } = await waiting();
  const answerOf = async (url: string): Promise<unknown> => (await browser.send(url)).json();
  expect(await answerOf(updates)).toEqual({ changed: false, complete: false });
  await until(() => stored);
  expect(stored).toMatchObject({
    status: 'requested',
    criteria: topic,
    channel: { type: 'rest-hook', endpoint: `${origin}/portal/notifications` },
  });
  const [, secret = ''] = stored?.channel.header?.[0]?.split(': ') ?? [];
  expect(secret).toMatch(/^Bearer .{40,}$/);
  expect((await notify(message('handshake', 0), secret)).statusCode).toBe(204);

  const read = async (): Promise<string> => {
    const part = await browser.send('/portal/appointments/a/state');
    return /data-updates="([^"]+)"/.exec(part.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
  };
  // The page was read before notifications began.
  expect(await answerOf(updates)).toEqual({ changed: true, complete: true });
  const since = await read();
  asked.length = 0;
  expect(await answerOf(since)).toEqual({ changed: false, complete: true });
  expect((await notify(message('event-notification', 1, 'other'), secret)).statusCode).toBe(204);
  expect(await answerOf(since)).toEqual({ changed: false, complete: true });
  expect((await notify(message('event-notification', 2, 'a'), secret)).statusCode).toBe(204);
  expect(await answerOf(since)).toEqual({ changed: true, complete: true });
  expect(asked).toEqual([]);
  expect(await answerOf(await read())).toEqual({ changed: false, complete: true });
});

test('nobody without the secret tells the portal anything, and nobody asks about an appointment that was not shown', async () => {
  const { updates, browser } = await waiting();
  const answerOf = async (url: string): Promise<unknown> => (await browser.send(url)).json();
  const before = await answerOf(updates);
  const secret = stored?.channel.header?.[0]?.split(': ')[1] ?? '';
  for (const wrong of [undefined, 'Bearer ', `${secret}x`, 'Bearer secret', secret.replace('Bearer', 'Basic')]) {
    expect((await notify(message('event-notification', 3, 'a'), wrong)).statusCode).toBe(401);
  }
  expect((await notify('x'.repeat(70_000))).statusCode).toBe(401);
  expect((await notify('x'.repeat(70_000), secret)).statusCode).toBe(413);
  expect((await notify('{', secret)).statusCode).toBe(400);
  expect((await notify({ resourceType: 'Bundle' }, secret)).statusCode).toBe(400);
  expect(await answerOf(updates)).toEqual(before);
  const { search } = new URL(updates, origin);
  expect((await browser.send(`/portal/appointments/b/updates${search}`)).statusCode).toBe(404);
  expect((await browser.send('/portal/appointments/a/updates')).statusCode).toBe(404);
});

test('a portal that is started again requests its Subscription anew, with the same secret', async () => {
  const { updates, browser } = await waiting();
  await browser.send(updates);
  await until(() => stored);
  const header = stored?.channel.header;
  const { app: again } = await withPortal({ baseUrl: address }, () => undefined);
  asked.length = 0;
  const { changed } = (await again.inject({ url: updates, cookies: Object.fromEntries(browser.cookies) })).json();
  expect(changed).toBe(true);
  await until(() => asked.includes('PUT /fhir/R4/Subscription/subscription'));
  expect(stored?.channel.header).toEqual(header);
});
