import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { backport } from '../../../core/fhir/backport.ts';
import type { Content } from '../../../core/notifications/subscription/subscription-parameters.ts';
import { request, resourceIn } from '../http.ts';
import { base } from '../installation.ts';
import { type Asked, aBooking, confirm, subscribed } from './fixtures.ts';
import {
  eventEntries,
  events,
  focusIn,
  type Listener,
  listen,
  numbersIn,
  parameterIn,
  type Received,
  statusIn,
} from './listener.ts';
import './stand-ins.ts';

const contents: Content[] = ['empty', 'id-only', 'full-resource'];
let listeners: Listener[];
let appointment: Appointment;
let notifications: Record<Content, Received>;
let ids: Record<Content, string>;

beforeAll(async () => {
  listeners = await Promise.all(contents.map(() => listen()));
  const active = await Promise.all(
    listeners.map((listener, index) => subscribed(listener, { content: contents[index] ?? 'empty' })),
  );
  appointment = await confirm(await aBooking());
  const arrived = await Promise.all(listeners.map((listener) => events(listener, 1)));
  notifications = Object.fromEntries(
    contents.map((content, index) => [content, arrived[index]?.[0]]),
  ) as typeof notifications;
  ids = Object.fromEntries(contents.map((content, index) => [content, active[index]?.id])) as typeof ids;
});
afterAll(() => Promise.all(listeners.map((listener) => listener.close())));

describe.each(contents)('%s', (content) => {
  it('is a Bundle of type history, every entry with request and response', () => {
    const { bundle } = notifications[content];
    expect(bundle.type).toBe('history');
    expect(bundle.meta?.profile).toEqual([backport.notificationR4]);
    expect(bundle.entry?.every(({ request: asked, response }) => asked?.url && asked.method && response?.status)).toBe(
      true,
    );
  });

  it('begins with the state of the Subscription', () => {
    const { bundle } = notifications[content];
    const [first] = bundle.entry ?? [];
    expect(first?.request).toEqual({ method: 'GET', url: `Subscription/${ids[content]}/$status` });
    expect(statusIn(bundle).meta?.profile).toEqual([backport.statusR4]);
    expect(parameterIn(bundle, 'subscription')?.valueReference?.reference).toBe(`${base}/Subscription/${ids[content]}`);
    expect(parameterIn(bundle, 'topic')?.valueCanonical).toMatch(/SubscriptionTopic\/appointment-update$/);
    expect(parameterIn(bundle, 'status')?.valueCode).toBe('active');
    expect(parameterIn(bundle, 'type')?.valueCode).toBe('event-notification');
    expect(parameterIn(bundle, 'events-since-subscription-start')?.valueString).toBe('1');
    expect(numbersIn(bundle)).toEqual([1]);
    const part = parameterIn(bundle, 'notification-event')?.part;
    expect(part?.find(({ name }) => name === 'timestamp')?.valueInstant).toBe(appointment.meta?.lastUpdated);
  });

  it('is sent with the Content-Type that the Subscription asks for', () => {
    expect(notifications[content].headers['content-type']).toBe('application/fhir+json');
  });
});

it('empty names no patient, slot or appointment anywhere', () => {
  const { bundle, text } = notifications.empty;
  expect(eventEntries(bundle)).toEqual([]);
  expect(focusIn(bundle)).toEqual([undefined]);
  const named = [
    appointment.id,
    ...(appointment.participant ?? []).map(({ actor }) => actor?.reference),
    appointment.slot?.[0]?.reference,
  ];
  expect(named.filter((one) => one && text.includes(one))).toEqual([]);
  expect(text).not.toMatch(/Appointment|Patient|Slot/);
});

it('id-only names the appointment and carries none', () => {
  const { bundle } = notifications['id-only'];
  const url = `${base}/Appointment/${appointment.id}`;
  expect(focusIn(bundle)).toEqual([url]);
  expect(eventEntries(bundle).map(({ fullUrl, resource }) => [fullUrl, resource])).toEqual([[url, undefined]]);
});

it('full-resource carries the appointment as it became, and the focus resolves to it', async () => {
  const { bundle } = notifications['full-resource'];
  const [entry] = eventEntries(bundle);
  expect(entry?.fullUrl).toBe(focusIn(bundle)[0]);
  const read = resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${appointment.id}`));
  expect(entry?.resource).toEqual(read);
});

it('as XML it has the same content', async () => {
  const listener = await listen();
  try {
    const asked: Asked = { content: 'full-resource', payload: 'application/fhir+xml' };
    const { id } = await subscribed(listener, asked);
    const confirmed = await confirm(await aBooking());
    const [received] = await events(listener, 1);
    expect(received?.headers['content-type']).toBe('application/fhir+xml');
    expect(received?.text).toContain('<Bundle xmlns="http://hl7.org/fhir">');
    const bundle = received?.bundle ?? { resourceType: 'Bundle', type: 'history' };
    expect(parameterIn(bundle, 'subscription')?.valueReference?.reference).toBe(`${base}/Subscription/${id}`);
    const read = resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${confirmed.id}`));
    expect(eventEntries(bundle)[0]?.resource).toEqual(read);
  } finally {
    await listener.close();
  }
});
