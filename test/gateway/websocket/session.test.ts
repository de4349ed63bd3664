import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import {
  mostBindings,
  mostMessages,
  newSession,
  type SessionEffect,
  type SessionEvent,
  step,
  type Timer,
} from '../../../gateway/websocket/session.ts';
import { accepted, bind, binding, claimed, limits, now, sequence } from './sessions.ts';

const kinds = (effects: readonly SessionEffect[]) => effects.map(({ kind }) => kind);

describe('a session', () => {
  test('waits for a token for so long, then ends', () => {
    expect(sequence({ kind: 'opened' }).effects).toEqual([{ kind: 'start', timer: 'idle', ms: limits.bindMs }]);
    const { session, effects } = sequence({ kind: 'opened' }, { kind: 'timer', timer: 'idle' });
    expect(session.isOver).toBe(true);
    expect(effects.at(-1)).toMatchObject({ kind: 'close', code: 1008 });
  });

  test('claims a token first, then connects to Medplum, then sends the token', () => {
    expect(kinds(sequence(bind('one')).effects)).toEqual(['start', 'claim']);
    const { effects } = sequence(bind('one'), claimed('one'), { kind: 'medplum-open' });
    expect(kinds(effects)).toEqual(['start', 'claim', 'cancel', 'start', 'connect', 'say']);
    const text = JSON.stringify({ type: 'bind-with-token', payload: { token: 'token-of-one' } });
    expect(effects.at(-1)).toEqual({ kind: 'say', text });
  });

  test('tells the handshake when Medplum has accepted the token, and ends the binding when it expires', () => {
    const events = [claimed('one'), { kind: 'medplum-open' } as const, accepted('one')];
    const { effects } = sequence(...events);
    expect(effects.slice(-3)).toEqual([
      { kind: 'cancel', timer: 'bind one' },
      { kind: 'start', timer: 'end one', ms: 3_600_000 },
      { kind: 'tell', message: binding('one').handshake },
    ]);
    const ended = sequence(...events, { kind: 'timer', timer: 'end one' });
    expect(ended.session.isOver).toBe(true);
    expect(ended.effects).toContainEqual({ kind: 'release', id: 'one' });
  });

  test('blames the token when Medplum does not accept it, and asks to come again when Medplum was not reached', () => {
    const late: SessionEvent = { kind: 'timer', timer: 'bind one' };
    const refused = sequence(claimed('one'), { kind: 'medplum-open' }, late);
    expect(refused.effects).toContainEqual(expect.objectContaining({ kind: 'refuse' }));
    expect(refused.effects.at(-1)).toMatchObject({ kind: 'close', code: 1008 });
    const unreached = sequence(claimed('one'), late);
    expect(kinds(unreached.effects)).not.toContain('refuse');
    expect(unreached.effects.at(-1)).toMatchObject({ kind: 'close', code: 1012 });
  });

  test('tells nothing of a Subscription that it is not bound to', () => {
    const bundle: Bundle = { resourceType: 'Bundle', type: 'history' };
    const heard: SessionEvent = { kind: 'medplum-said', message: { kind: 'notification', id: 'other', bundle } };
    expect(kinds(sequence(claimed('one'), accepted('one'), heard).effects).filter((kind) => kind === 'tell')).toEqual([
      'tell',
    ]);
  });

  test('gives a token back that was claimed when all was over', () => {
    expect(sequence({ kind: 'gone' }, claimed('one')).effects.at(-1)).toEqual({ kind: 'release', id: 'one' });
  });

  test('ends when a client sends too much', () => {
    const pings = Array.from(
      { length: mostMessages + 1 },
      (): SessionEvent => ({
        kind: 'said',
        message: { kind: 'ping' },
      }),
    );
    const { effects } = sequence(...pings);
    expect(kinds(effects).filter((kind) => kind === 'tell')).toHaveLength(mostMessages);
    expect(effects.at(-1)).toMatchObject({ kind: 'close', code: 1008 });
  });
});

/** Any event about a few bindings. */
const anyEvent: fc.Arbitrary<SessionEvent> = fc
  .tuple(fc.constantFrom('one', 'two', 'three'), fc.constantFrom('ClientApplication/a', 'ClientApplication/b'))
  .chain(([id, client]) => {
    const timers: readonly Timer[] = ['idle', 'minute', 'silence', `bind ${id}`, `gap ${id}`, `end ${id}`];
    const bundle: Bundle = { resourceType: 'Bundle', type: 'history' };
    return fc.oneof(
      {
        weight: 5,
        arbitrary: fc.constant<SessionEvent>({ kind: 'said', message: { kind: 'bind', binding: binding(id, client) } }),
      },
      {
        weight: 2,
        arbitrary: fc.constant<SessionEvent>({ kind: 'said', message: { kind: 'unbind', binding: binding(id) } }),
      },
      { weight: 3, arbitrary: fc.constant<SessionEvent>(accepted(id)) },
      {
        weight: 3,
        arbitrary: fc.constant<SessionEvent>({ kind: 'medplum-said', message: { kind: 'notification', id, bundle } }),
      },
      { weight: 2, arbitrary: fc.constant<SessionEvent>({ kind: 'medplum-open' }) },
      { weight: 2, arbitrary: fc.constantFrom(...timers).map((timer): SessionEvent => ({ kind: 'timer', timer })) },
      fc.constantFrom<SessionEvent>({ kind: 'gone' }, { kind: 'failed' }, { kind: 'unread' }, { kind: 'medplum-lost' }),
    );
  });

describe('whatever happens', () => {
  /** Runs events as the relay does, and keeps account of what is held. */
  function run(events: readonly SessionEvent[]) {
    let session = newSession;
    const [held, timers, released] = [new Set<string>(), new Set<Timer>(), [] as string[]];
    let [connections, closings, late] = [0, 0, 0];
    const queue: SessionEvent[] = [{ kind: 'opened' }];
    const act = (effect: SessionEffect): void => {
      late += closings > 0 && effect.kind !== 'release' && effect.kind !== 'cancel' ? 1 : 0;
      if (effect.kind === 'claim') {
        const { id } = effect.binding;
        queue.push({ kind: held.has(id) ? 'taken' : 'claimed', binding: effect.binding });
        held.add(id);
      } else if (effect.kind === 'release') {
        released.push(effect.id);
        held.delete(effect.id);
      } else if (effect.kind === 'start') {
        timers.add(effect.timer);
      } else if (effect.kind === 'cancel') {
        timers.delete(effect.timer);
      }
      connections += effect.kind === 'connect' ? 1 : 0;
      closings += effect.kind === 'close' ? 1 : 0;
    };
    for (const event of events) {
      queue.push(event);
      for (let next = queue.shift(); next; next = queue.shift()) {
        if (next.kind === 'timer') {
          timers.delete(next.timer);
        }
        const after = step(session, next, now, limits);
        session = after.session;
        after.effects.forEach(act);
      }
    }
    return { session, held, timers, connections, closings, late };
  }

  test('what is bound is held, one client at a time; what is over holds nothing and does nothing any more', () => {
    fc.assert(
      fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
        const { session, held, timers, connections, closings, late } = run(events);
        expect([...held].sort()).toEqual([...session.bound.keys()].sort());
        expect(session.bound.size).toBeLessThanOrEqual(mostBindings);
        expect(new Set([...session.bound.values()].map((bound) => bound.binding.client)).size).toBeLessThanOrEqual(1);
        expect(connections).toBeLessThanOrEqual(1);
        expect([closings, late]).toEqual([session.isOver ? 1 : 0, 0]);
        const foreign = [...timers].filter(
          (timer) => timer.includes(' ') && !session.bound.has(timer.split(' ')[1] ?? ''),
        );
        expect(foreign).toEqual([]);
        expect(session.isOver ? [...timers] : []).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});
