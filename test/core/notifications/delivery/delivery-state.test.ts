import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  abandoned,
  claimed,
  delivered,
  ended,
  failed,
  handshakeSucceeded,
  isDue,
  isFree,
  isHeartbeatDue,
  LEASE,
  queued,
  released,
  requestDelivery,
  restarted,
  turnsOf,
  waitAfter,
  withNewEvents,
  woken,
} from '../../../../core/notifications/delivery/delivery-state.ts';
import {
  dueAt,
  newOutbox,
  type Outbox,
  outboxOf,
  outboxStatuses,
  outboxTask,
} from '../../../../core/notifications/delivery/outbox.ts';
import { begin, config, outbox } from '../support.ts';

const settings = config.notifications;

const owner = { subscription: 'Subscription/s1', subscriber: 'portal' };

const moment = fc.integer({ min: begin, max: begin + 1e9 });
const arbitrary = fc.record({
  status: fc.constantFrom(...outboxStatuses),
  events: fc.nat(),
  delivered: fc.nat(),
  attempts: fc.nat(30),
  since: moment,
  sent: fc.option(moment, { nil: undefined }),
  until: fc.option(moment, { nil: undefined }),
  lease: fc.option(fc.uuid(), { nil: undefined }),
  woken: fc.option(moment, { nil: undefined }),
  error: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
  readable: fc.array(fc.webUrl()),
});

describe('an outbox', () => {
  test('begins with its handshake', () => {
    expect(newOutbox(['Appointment'], begin)).toMatchObject({ status: 'ready', events: 0, delivered: 0, since: begin });
  });

  test.each<[Outbox['status'], Outbox['status']]>([
    ['accepted', 'ready'],
    ['ready', 'ready'],
    ['received', 'received'],
    ['in-progress', 'in-progress'],
    ['on-hold', 'on-hold'],
    ['failed', 'failed'],
  ])('that is %s is %s after an event was announced', (status, expected) => {
    expect(withNewEvents({ ...outbox, status }, 2)).toMatchObject({ status: expected, events: 2 });
  });

  test('waits for another delivery of its subscriber, if it is told so', () => {
    expect(withNewEvents(outbox, 1, 'received').status).toBe('received');
    expect(withNewEvents({ ...outbox, status: 'on-hold' }, 1, 'received').status).toBe('on-hold');
    expect(isFree({ ...outbox, status: 'received' }, begin)).toBe(true);
  });

  test('is taken by one delivery at a time, until its lease is over', () => {
    const taken = claimed({ ...outbox, status: 'ready' }, 'one', begin);
    expect(isFree({ ...outbox, status: 'ready' }, begin)).toBe(true);
    expect([isFree(taken, begin + LEASE - 1), isFree(taken, begin + LEASE)]).toEqual([false, true]);
  });

  test('that was given up keeps its events, and continues after a new handshake', () => {
    const broken = abandoned({ ...outbox, events: 5, delivered: 2, attempts: 18 }, 'dead');
    expect(isFree(broken, begin + 1e9)).toBe(false);
    expect(restarted(broken, begin + 1)).toMatchObject({
      status: 'ready',
      events: 5,
      delivered: 2,
      attempts: 0,
      since: begin,
    });
  });

  test('that had ended does not deliver events of the time in between', () => {
    expect(restarted(ended(outbox), begin + 7).since).toBe(begin + 7);
  });

  test('is released as ready while something waits', () => {
    expect(released({ ...outbox, events: 3, delivered: 2 }).status).toBe('ready');
    expect(released({ ...outbox, events: 3, delivered: 3 }).status).toBe('accepted');
  });

  test('is the same after it was stored and read', () => {
    void fc.assert(
      fc.property(arbitrary, (one) => {
        expect(outboxOf(outboxTask(one, owner, config))).toEqual(one);
      }),
    );
  });
});

describe('a failed attempt', () => {
  test('is followed by another after 20 s, 40 s, 80 s … 8 h', () => {
    expect([1, 2, 3, 12, 18].map((attempts) => waitAfter(attempts, settings) / 1000)).toEqual([
      20, 40, 80, 28_800, 28_800,
    ]);
  });

  test('adds up to more than a day before the Subscription is given up', () => {
    const waits = Array.from({ length: settings.maxAttempts - 1 }, (_, index) => waitAfter(index + 1, settings));
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(24 * 3_600_000);
  });

  test('keeps the reason; the last one gives up; a success forgets them', () => {
    const first = failed(outbox, 'status 500', begin, settings);
    expect(first).toMatchObject({ status: 'on-hold', attempts: 1, error: 'status 500', until: begin + 20_000 });
    expect([isDue(first, {}, begin, begin + 19_999), isDue(first, {}, begin, begin + 20_000)]).toEqual([false, true]);
    expect(failed({ ...outbox, attempts: 17 }, 'dead', begin, settings)).toMatchObject({
      status: 'failed',
      attempts: 18,
    });
    const success = { attempts: 0, error: undefined, sent: begin, until: begin + LEASE };
    expect(delivered(first, 1, begin)).toEqual({ ...first, ...success, delivered: 1 });
    expect(handshakeSucceeded(first, begin)).toEqual({ ...first, ...success });
  });
});

describe('what retry-deliveries starts', () => {
  const minute = begin + 60_000;
  test.each<[string, Partial<Outbox>, number | undefined, boolean]>([
    ['a delivery that has not begun', { status: 'ready' }, undefined, true],
    ['nothing for one that wants no heartbeat', { status: 'accepted', sent: 0 }, undefined, false],
    ['a delivery whose lease is over', { status: 'in-progress', until: begin + LEASE }, undefined, true],
    ['a delivery that runs: not', { status: 'in-progress', until: minute + 1 }, undefined, false],
    ['nothing for an outbox that is empty', { status: 'accepted', sent: begin }, undefined, false],
    ['a heartbeat that is due', { status: 'accepted', sent: begin }, 60, true],
    ['a heartbeat that is not due: not', { status: 'accepted', sent: begin }, 61, false],
    ['nothing for a Subscription in error', { status: 'failed' }, 1, false],
    ['nothing for one that is over', { status: 'cancelled' }, 1, false],
  ])('%s', (_, changes, period, expected) => {
    expect(isDue({ ...outbox, ...changes }, { heartbeat: period }, begin, minute)).toBe(expected);
  });

  test('a delivery that has not begun, after ten seconds', () => {
    const ready: Outbox = { ...outbox, status: 'ready' };
    expect([9_999, 10_000].map((waited) => isDue(ready, {}, begin, begin + waited))).toEqual([false, true]);
  });

  test('a woken outbox is another one than before, so that Medplum starts the delivery', () => {
    const ready: Outbox = { ...outbox, status: 'ready' };
    expect(woken({ ...outbox, until: begin, lease: 'one' }, minute)).toMatchObject({ status: 'ready', woken: minute });
    expect(outboxTask(woken(ready, minute), owner, config)).not.toEqual(outboxTask(ready, owner, config));
  });

  test('is what a delivery may take, what is over, and who waits for a heartbeat', () => {
    const times = fc.record({
      heartbeat: fc.option(fc.integer({ min: 1, max: 1e6 }), { nil: undefined }),
      end: fc.option(moment, { nil: undefined }),
    });
    void fc.assert(
      fc.property(arbitrary, times, moment, (one, { heartbeat, end }, now) => {
        const { status } = one;
        fc.pre(status !== 'ready' && status !== 'received');
        const isOver = end !== undefined && end <= now && status !== 'in-progress' && status !== 'cancelled';
        const isBeat = status === 'accepted' && isHeartbeatDue(one, heartbeat, now);
        expect(isDue(one, { heartbeat, end }, begin, now)).toBe(isOver || isBeat || isFree(one, now));
      }),
    );
  });

  test.each<[string, Partial<Outbox>, { heartbeat?: number; end?: number }, number | undefined]>([
    ['one that has nothing to do never', { status: 'accepted', sent: begin }, {}, undefined],
    ['one that waits at once, by its status', { status: 'ready' }, { heartbeat: 1, end: begin }, undefined],
    ['one that is over never', { status: 'cancelled' }, { end: begin }, undefined],
    ['a running delivery when its lease is over', { status: 'in-progress', until: minute }, { end: begin }, minute],
    ['an attempt when its time has come', { status: 'on-hold', until: minute }, { heartbeat: 1 }, minute],
    ['an attempt at the end of the Subscription', { status: 'on-hold', until: minute }, { end: begin }, begin],
    ['a heartbeat', { status: 'accepted', sent: begin }, { heartbeat: 60 }, minute],
    [
      'the end of one with heartbeats',
      { status: 'accepted', sent: begin },
      { heartbeat: 60, end: begin + 1 },
      begin + 1,
    ],
    ['the end of one in error', { status: 'failed' }, { heartbeat: 60, end: minute }, minute],
  ])('it looks at %s', (_, changes, times, expected) => {
    expect(dueAt({ ...outbox, ...changes }, times)).toBe(expected);
  });

  test('no heartbeat before anything was sent', () => {
    expect(isHeartbeatDue(outbox, 1, minute)).toBe(false);
  });
});

describe('the outboxes that are due', () => {
  const due = (owner: string, ...statuses: Outbox['status'][]) =>
    statuses.map((status, index) => ({ owner, outbox: { ...outbox, status }, name: `${owner}${index}` }));
  const names = (some: readonly { readonly name: string }[]) => some.map(({ name }) => name);

  test('start a delivery within the share of their subscriber', () => {
    const all = [...due('a', 'ready', 'on-hold', 'accepted', 'received', 'ready'), ...due('b', 'in-progress')];
    expect(names(turnsOf(all).started)).toEqual(['a0', 'a1', 'a2', 'a3', 'b0']);
  });

  test('beyond it are queued, unless they wait already', () => {
    const first = due('a', 'ready', 'ready', 'ready', 'ready');
    const rest = due('a', 'ready', 'received', 'on-hold', 'accepted', 'in-progress');
    expect(turnsOf([...first, ...rest]).queued).toEqual(rest.slice(3));
    expect(queued({ ...outbox, lease: 'one', until: begin })).toEqual({ ...outbox, status: 'received' });
  });
});

describe('somebody who asks for a delivery at once', () => {
  const waiting: Outbox = { ...outbox, status: 'on-hold', events: 5, delivered: 2, attempts: 7, until: begin + 1e6 };

  test.each<[string, Parameters<typeof requestDelivery>[0], Outbox, string]>([
    ['starts what waits for its next attempt', 'active', waiting, 'started'],
    ['starts a delivery that has died', 'active', { ...waiting, status: 'in-progress', until: begin - 1 }, 'started'],
    ['starts a handshake that was never begun', 'requested', { ...waiting, status: 'accepted' }, 'started'],
    ['has a Subscription in error requested', 'error', { ...waiting, status: 'failed' }, 'requested'],
    ['changes nothing under way', 'active', { ...waiting, status: 'in-progress', until: begin + 1 }, 'unchanged'],
    ['changes nothing that is about to begin', 'active', { ...waiting, status: 'ready' }, 'unchanged'],
    ['changes nothing that another delivery takes', 'active', { ...waiting, status: 'received' }, 'unchanged'],
    ['changes nothing if all is delivered', 'active', { ...outbox, status: 'accepted' }, 'unchanged'],
    ['cannot start what has ended', 'off', { ...waiting, status: 'cancelled' }, 'ended'],
    ['cannot start what is ending', 'active', { ...waiting, status: 'cancelled' }, 'ended'],
  ])('%s', (_, status, stored, kind) => {
    expect(requestDelivery(status, stored, begin).kind).toBe(kind);
  });

  test.each(['active', 'error'] as const)(
    'has the attempts counted anew; asked twice it is started once: %s',
    (status) => {
      const first = requestDelivery(status, waiting, begin);
      const next = 'outbox' in first ? first.outbox : waiting;
      expect(next).toMatchObject({ status: 'ready', attempts: 0, events: 5, delivered: 2, until: undefined });
      const after = first.kind === 'requested' ? 'requested' : status;
      expect(requestDelivery(after, next, begin).kind).toBe('unchanged');
    },
  );
});
