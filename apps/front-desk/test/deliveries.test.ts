import { describe, expect, test } from '@jest/globals';
import type { Subscription, Task } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import {
  newOutbox,
  noOutboxes,
  type Outbox,
  outboxesTask,
  withOutbox,
} from '../../../core/notifications/delivery/outbox.ts';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import { deliveriesIn, eventsIn, firstListed } from '../notifications/deliveries.ts';

const config = loadConfig();
const now = Date.parse('2027-01-11T09:00:00Z');

const subscription = (id: string, status: Subscription['status'], owner = 'a', more: object = {}): Subscription => ({
  resourceType: 'Subscription',
  id,
  meta: { tag: [requestorTag(owner, config)] },
  status,
  reason: 'x',
  criteria: artefactUri(config, 'appointment-update'),
  channel: { type: 'message' },
  ...more,
});

const outbox = (id: string, more: Partial<Outbox>): Task =>
  outboxesTask(withOutbox(noOutboxes('a'), id, { ...newOutbox(now), ...more }), config);

const only = (status: Subscription['status'], more: Partial<Outbox>, rest: object = {}) =>
  deliveriesIn([subscription('s', status, 'a', rest), outbox('s', more)], now, config)[0]?.deliveries[0];

describe('deliveries', () => {
  test.each<[Subscription['status'], Partial<Outbox>, string, string | undefined]>([
    ['active', { status: 'accepted' }, 'delivered', undefined],
    ['active', { status: 'ready' }, 'sending', undefined],
    ['active', { status: 'on-hold', until: now + 1000 }, 'waiting', 'send'],
    ['error', { status: 'failed' }, 'failed', 'switch-on'],
    ['off', { status: 'cancelled' }, 'ended', undefined],
  ])('of a Subscription that is %s with %j are %s, and staff can %s', (status, stored, state, action) => {
    expect(only(status, stored)).toMatchObject({ state, action });
  });

  test('say how much, when next, and why', () => {
    const until = now + 60_000;
    const waiting = only('active', { status: 'on-hold', events: 5, delivered: 3, attempts: 2, until, error: '503' });
    expect(waiting).toMatchObject({
      events: 5,
      delivered: 3,
      attempts: 2,
      nextAttempt: until,
      error: '503',
      topic: 'appointment-update',
      channel: 'websocket',
    });
    expect(only('error', { status: 'failed', error: 'old' }, { error: 'Handshake: 500' })?.error).toBe(
      'Handshake: 500',
    );
    expect(only('active', { status: 'accepted', error: 'old' })?.error).toBeUndefined();
    expect(only('error', { status: 'failed', error: 'old' }, { error: { text: 'broken' } })?.error).toBe('old');
  });

  test('stand by portals: what has failed first, what has ended last', () => {
    const found = deliveriesIn(
      [
        subscription('1', 'active', 'fine'),
        outbox('1', { status: 'accepted' }),
        subscription('2', 'off', 'broken'),
        outbox('2', { status: 'cancelled' }),
        subscription('3', 'error', 'broken'),
        outbox('3', { status: 'failed' }),
      ],
      now,
      config,
    );
    expect(found.map(({ owner, deliveries }) => [owner, deliveries.map(({ id }) => id)])).toEqual([
      ['broken', ['3', '2']],
      ['fine', ['1']],
    ]);
  });

  test.each<unknown[]>([
    [subscription('s', 'active')],
    [subscription('s', 'active'), { ...outbox('s', {}), output: [null] }],
    [subscription('s', 'active'), { ...outbox('s', {}), output: 'x' }],
    [{ ...subscription('s', 'active'), channel: undefined, criteria: 7, _criteria: [null] }, { resourceType: 'Task' }],
  ])('what is broken is shown as not known: %#', (...resources) => {
    expect(deliveriesIn([null, ...resources], now, config)[0]?.deliveries).toMatchObject([
      { id: 's', state: 'unknown', action: undefined },
    ]);
  });
});

describe('events', () => {
  const event = (number: string, reference?: string) => ({
    name: 'notification-event',
    part: [
      { name: 'event-number', valueString: number },
      { name: 'timestamp', valueInstant: '2027-01-11T09:00:00Z' },
      ...(reference ? [{ name: 'focus', valueReference: { reference } }] : []),
    ],
  });
  const bundle = (...parameter: unknown[]) => ({
    resourceType: 'Bundle',
    entry: [{ resource: { resourceType: 'Parameters', parameter } }],
  });

  test('are listed, the newest first', () => {
    expect(eventsIn(bundle(event('1', 'https://x.example/fhir/R4/Appointment/a'), event('2')))).toEqual([
      { number: 2, time: now, appointment: undefined },
      { number: 1, time: now, appointment: 'a' },
    ]);
  });

  test.each([undefined, {}, bundle(), bundle(null, { name: 'notification-event' }, event('x'))])(
    '%j has none',
    (broken) => {
      expect(eventsIn(broken)).toEqual([]);
    },
  );

  test('are the last twenty', () => {
    expect([firstListed(0), firstListed(20), firstListed(21)]).toEqual([1, 1, 2]);
  });
});
