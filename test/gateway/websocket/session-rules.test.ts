import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import {
  mostBindings,
  mostMessages,
  newSession,
  type SessionEffect,
  type SessionEvent,
  step,
  type Timer,
} from '../../../gateway/websocket/session.ts';
import { accepted, binding, claimed, limits, now, sequence } from './sessions.ts';

const said = (kind: 'bind' | 'unbind', id: string, client?: string): SessionEvent => ({
  kind: 'said',
  message: { kind, binding: binding(id, client) },
});
const ping: SessionEvent = { kind: 'said', message: { kind: 'ping' } };
const timer = (name: Timer): SessionEvent => ({ kind: 'timer', timer: name });
const open: SessionEvent = { kind: 'medplum-open' };
const happened = (id: string, number?: number): SessionEvent => ({
  kind: 'medplum-said',
  message: { kind: 'notification', id, bundle: event(number) },
});

/** A notification of the event with this number; without one of no event. */
function event(number?: number): Bundle {
  const part = [{ name: 'event-number', valueString: String(number) }];
  const parameter = number === undefined ? [] : [{ name: 'notification-event', part }];
  return JSON.parse(
    JSON.stringify({ resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Parameters', parameter } }] }),
  );
}

/** What comes of the last of several events. */
function lastOf(...events: readonly SessionEvent[]): readonly SessionEffect[] {
  const { session } = sequence(...events.slice(0, -1));
  return events.slice(-1).flatMap((last) => step(session, last, now, limits).effects);
}
const twenty = Array.from({ length: mostBindings }, (_, index) => claimed(`s${index}`));
const both = [claimed('one'), claimed('two'), open, accepted('one'), accepted('two')];

describe('a session ends', () => {
  test.each<[string, SessionEvent[], number, string]>([
    ['when no token has come', [timer('idle')], 1008, 'No Subscription is bound: get a token'],
    [
      'when its last binding has ended',
      [claimed('one'), open, accepted('one'), timer('end one')],
      1008,
      'No Subscription is bound: get a token',
    ],
    ['when a client sends too much', Array(mostMessages + 1).fill(ping), 1008, 'Too many messages'],
    [
      'when too many are bound',
      [{ kind: 'full', binding: binding('one') }],
      1013,
      'Too many websockets are bound: try again later',
    ],
    [
      'when Medplum is lost',
      [{ kind: 'medplum-lost' }],
      1012,
      'Reconnect and bind again; get missed events with $events',
    ],
    ['when Medplum is silent', [timer('silence')], 1012, 'Reconnect and bind again; get missed events with $events'],
    [
      'when the client does not read',
      [{ kind: 'unread' }],
      1008,
      'Too many unread messages: get the rest with $events',
    ],
    ['after a fault', [{ kind: 'failed' }], 1011, 'Internal error; reconnect and bind again'],
    ['when the client has gone', [{ kind: 'gone' }], 1001, ''],
  ])('%s', (_, events, code, reason) => {
    const { session, effects } = sequence(...events);
    expect([session, effects.at(-1)]).toEqual([
      { ...newSession, isOver: true },
      { kind: 'close', code, reason },
    ]);
  });

  test('with all its timers and bindings, and does nothing any more', () => {
    const cancelled = ['bind one', 'gap one', 'end one', 'bind two', 'gap two', 'end two', 'idle', 'minute', 'silence'];
    const effects = lastOf(...both, { kind: 'gone' });
    expect(effects.flatMap((effect) => (effect.kind === 'cancel' ? effect.timer : []))).toEqual(cancelled);
    expect(effects.flatMap((effect) => (effect.kind === 'release' ? effect.id : []))).toEqual(['one', 'two']);
    for (const late of [ping, timer('idle'), open, accepted('one'), { kind: 'gone' } as const]) {
      expect(lastOf(...both, { kind: 'gone' }, late)).toEqual([]);
    }
  });
});

describe('a session refuses', () => {
  test.each<[string, SessionEvent[], string]>([
    [
      'the twenty-first binding',
      [...twenty, said('bind', 'more')],
      'A websocket can be bound to at most 20 Subscriptions.',
    ],
    [
      'a token of another client',
      [claimed('one'), said('bind', 'two', 'ClientApplication/b')],
      'A websocket serves one client: open another one for this token.',
    ],
    [
      'a token that is taken',
      [{ kind: 'taken', binding: binding('one') }],
      'A token binds one websocket once: get another with $get-ws-binding-token.',
    ],
    ['what it does not know', [{ kind: 'said', message: { kind: 'malformed', diagnostics: 'What?' } }], 'What?'],
    ['what Medplum refuses', [{ kind: 'medplum-said', message: { kind: 'refusal', diagnostics: 'No.' } }], 'No.'],
    [
      'a token that Medplum does not accept in time',
      [claimed('one'), open, timer('bind one')],
      'The token is invalid or has expired: get a new one with $get-ws-binding-token.',
    ],
  ])('%s, and says why', (_, events, diagnostics) => {
    expect(sequence(...events).effects.filter(({ kind }) => kind === 'refuse')).toEqual([
      { kind: 'refuse', diagnostics },
    ]);
  });

  test('no second binding of the same client', () => {
    expect(lastOf(claimed('one'), said('bind', 'two'))).toContainEqual({ kind: 'claim', binding: binding('two') });
    expect(lastOf(...twenty.slice(1), said('bind', 'more'))).toContainEqual({
      kind: 'claim',
      binding: binding('more'),
    });
  });
});

describe('what a client may send', () => {
  test('is counted by the minute, from its first message on', () => {
    expect(lastOf(ping)).toEqual([
      { kind: 'start', timer: 'minute', ms: 60_000 },
      { kind: 'tell', message: { type: 'pong' } },
    ]);
    expect(lastOf(ping, ping)).toEqual([{ kind: 'tell', message: { type: 'pong' } }]);
    const many: SessionEvent[] = Array(mostMessages).fill(ping);
    expect(sequence(...many, timer('minute'), ...many).session.isOver).toBe(false);
    expect(lastOf(...many, timer('minute'))).toEqual([]);
  });
});

describe('what Medplum is told', () => {
  const text = (type: string, id: string) => JSON.stringify({ type, payload: { token: `token-of-${id}` } });
  const toMedplum = (effects: readonly SessionEffect[]) =>
    effects.flatMap((effect) => (effect.kind === 'say' ? effect.text : effect.kind === 'connect' ? 'connect' : []));

  test('waits for one connection, and is said once, in order', () => {
    const events = [claimed('one'), claimed('two'), said('unbind', 'one'), open, claimed('three'), open];
    expect(toMedplum(sequence(...events).effects)).toEqual([
      'connect',
      text('bind-with-token', 'one'),
      text('bind-with-token', 'two'),
      text('unbind-from-token', 'one'),
      text('bind-with-token', 'three'),
    ]);
  });

  test('is nothing about a binding that is not there', () => {
    expect(lastOf(...both, said('unbind', 'three'))).toEqual([{ kind: 'start', timer: 'minute', ms: 60_000 }]);
    expect(lastOf(...both, timer('end three'))).toEqual([]);
  });

  test('is that a token waits for so long to be accepted', () => {
    expect(lastOf(claimed('one'))).toEqual([
      { kind: 'cancel', timer: 'idle' },
      { kind: 'start', timer: 'bind one', ms: limits.upstreamTimeoutMs },
      { kind: 'connect' },
    ]);
  });
});

describe('a binding', () => {
  const released = (id: string) => [
    { kind: 'cancel', timer: `bind ${id}` },
    { kind: 'cancel', timer: `gap ${id}` },
    { kind: 'cancel', timer: `end ${id}` },
    { kind: 'release', id },
  ];

  test.each<[string, SessionEvent]>([
    ['ends', timer('end one')],
    ['is unbound', said('unbind', 'one')],
    ['is not accepted in time', timer('bind one')],
  ])('that %s leaves the others alone', (_, last) => {
    const { session, effects } = sequence(...both, last);
    expect([[...session.bound.keys()], session.isOver]).toEqual([['two'], false]);
    expect(effects.slice(-4)).toEqual(released('one'));
  });

  test('is greeted once', () => {
    const silence = { kind: 'start', timer: 'silence', ms: 45_000 };
    expect(lastOf(...both, accepted('one'))).toEqual([silence]);
    expect(lastOf(...both, accepted('three'))).toEqual([silence]);
    expect(lastOf({ kind: 'medplum-said', message: undefined })).toEqual([silence]);
  });
});

describe('events', () => {
  const bound = [claimed('one'), open, accepted('one')];
  const gap = { kind: 'start', timer: 'gap one', ms: 1_000 };
  const noGap = { kind: 'cancel', timer: 'gap one' };
  const told = (...numbers: (number | undefined)[]) =>
    numbers.map((number) => ({ kind: 'tell', message: event(number) }));
  const lastAfter = (...numbers: number[]) =>
    lastOf(...bound, ...numbers.map((number) => happened('one', number))).slice(1);

  test('are told as they come, in order', () => {
    expect(lastAfter(1)).toEqual([...told(1), noGap]);
    expect(lastAfter(1, 2)).toEqual([...told(2), noGap]);
  });

  test('wait a second in all for those before them, and longer only if one of these comes', () => {
    expect(lastAfter(2)).toEqual([gap]);
    expect(lastAfter(2, 3)).toEqual([]);
    expect(lastAfter(2, 1)).toEqual([...told(1, 2), noGap]);
    expect(lastAfter(2, 4, 1)).toEqual([...told(1, 2), gap]);
  });

  test('are told despite a gap when they have waited long enough', () => {
    const late = [...bound, happened('one', 3), happened('one', 2), timer('gap one')];
    expect(lastOf(...late)).toEqual([...told(2, 3), noGap]);
    expect(lastOf(...late, happened('one', 4)).slice(1)).toEqual([...told(4), noGap]);
  });

  test('are not told before the handshake', () => {
    expect(lastOf(claimed('one'), open, happened('one', 1)).slice(1)).toEqual([]);
  });
});
