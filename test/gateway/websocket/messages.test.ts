import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { createSealer } from '../../../gateway/sealing/sealer.ts';
import { type Binding, createBindingTokens } from '../../../gateway/websocket/binding-token.ts';
import { arrived, type Order, orderAfter, released } from '../../../gateway/websocket/event-order.ts';
import { bindingIn, readClientMessage, readMedplumMessage } from '../../../gateway/websocket/messages.ts';

describe('binding token', () => {
  const key = Buffer.alloc(32, 1);
  const now = Date.parse('2027-01-01T00:00:00Z');
  const { seal, unseal } = createBindingTokens(key, () => now);

  const binding: Binding = {
    id: 'm1',
    token: 'token-of-medplum',
    expiration: '2027-01-01T01:00:00Z',
    client: 'ClientApplication/portal-a-id',
    handshake: { resourceType: 'Bundle', type: 'history' },
  };

  /** What gateways of all versions seal with: they take the tokens of each other while one replaces the other. */
  const sealer = createSealer(key, 'booking-gateway websocket binding 1');

  describe('a binding token', () => {
    test('holds its binding, and nobody can read it', () => {
      expect(unseal(seal(binding))).toEqual(binding);
      expect(`${seal(binding)}${Buffer.from(seal(binding), 'base64url')}`).not.toContain('medplum');
    });

    test('is understood by gateways of other versions', () => {
      expect(unseal(sealer.seal(JSON.stringify(binding)))).toEqual(binding);
      expect(JSON.parse(sealer.open(seal(binding)) ?? '')).toEqual(binding);
    });

    test.each([
      [1, true],
      [0, false],
      [-1, false],
    ])('whose binding ends in %i ms is good: %s', (ms, isGood) => {
      const token = seal({ ...binding, expiration: new Date(now + ms).toISOString() });
      expect(unseal(token) !== undefined).toBe(isGood);
    });

    test('is good in the process that made it, where none is given a key', () => {
      const [one, other] = [createBindingTokens(), createBindingTokens()];
      const token = one.seal({ ...binding, expiration: new Date(Date.now() + 3_600_000).toISOString() });
      expect([one.unseal(token)?.id, other.unseal(token)]).toEqual(['m1', undefined]);
    });

    test('that was sealed for another purpose is none', () => {
      expect(unseal(createSealer(key, '').seal(JSON.stringify(binding)))).toBeUndefined();
    });

    test.each<[string, object]>([
      ['no id', { id: undefined }],
      ['an id that is none', { id: 'a/b' }],
      ['no token', { token: undefined }],
      ['no end', { expiration: undefined }],
      ['no client', { client: undefined }],
      ['a client that is no text', { client: { id: 'x' } }],
      ['no handshake', { handshake: undefined }],
      ['a handshake that is no Bundle', { handshake: { resourceType: 'Slot' } }],
    ])('with %s is none', (_, change) => {
      expect(unseal(sealer.seal(JSON.stringify({ ...binding, ...change })))).toBeUndefined();
    });

    test.each(['', '{', 'null', '5', '[]', '"text"'])('with the content %j is none', (content) => {
      expect(unseal(sealer.seal(content))).toBeUndefined();
    });
  });
});

describe('messages', () => {
  const handshake: Bundle = { resourceType: 'Bundle', type: 'history' };
  const binding: Binding = { id: 'm1', token: 't', expiration: '2027-01-01T00:00:00Z', client: 'portal', handshake };

  describe('the binding in the answer of the Bot', () => {
    const all = [
      { name: 'message-subscription', valueString: 'm1' },
      { name: 'token', valueString: 't' },
      { name: 'expiration', valueDateTime: binding.expiration },
      { name: 'handshake', resource: handshake },
    ];
    const read = (parameter?: object[]) => bindingIn({ resourceType: 'Parameters', parameter }, 'portal');

    test.each(all.map(({ name }) => name))('is none without %s', (name) => {
      expect(read(all.filter((one) => one.name !== name))).toBeUndefined();
    });

    test('is none in anything else', () => {
      const slot = { ...all[3], resource: { resourceType: 'Slot' } };
      expect([
        read(),
        read([...all.slice(0, 3), slot]),
        bindingIn({ parameter: all }, 'portal'),
        bindingIn(null, 'x'),
      ]).toEqual([undefined, undefined, undefined, undefined]);
    });
  });

  describe('a message of a client', () => {
    const read = (text: string) => readClientMessage(text, (token) => (token === 'good' ? binding : undefined));
    const json = (type: unknown, payload?: unknown) => JSON.stringify({ type, payload });

    test.each([
      ['bind-with-token good', { kind: 'bind', binding }],
      ['bind-with-token: good', { kind: 'bind', binding }],
      ['  bind-with-token \n good  more', { kind: 'bind', binding }],
      ['unbind-from-token good', { kind: 'unbind', binding }],
      [json('bind-with-token', { token: 'good' }), { kind: 'bind', binding }],
      [json('unbind-from-token', { token: 'good' }), { kind: 'unbind', binding }],
      ['ping', { kind: 'ping' }],
      [json('ping'), { kind: 'ping' }],
    ])('%j', (text, expected) => {
      expect(read(text)).toEqual(expected);
    });

    const unknown = 'Send bind-with-token and a token from $get-ws-binding-token.';
    const needs = (verb: string) => `${verb} needs an unexpired token from $get-ws-binding-token.`;
    test.each([
      ['', unknown],
      ['hello', unknown],
      ['bind:-with-token good', unknown],
      [' {"type":"ping"}', unknown],
      ['{"type"', unknown],
      ['{}', unknown],
      [json('toString', { token: 'good' }), unknown],
      ['bind-with-token', needs('bind-with-token')],
      ['bind-with-token bad', needs('bind-with-token')],
      ['unbind-from-token bad', needs('unbind-from-token')],
      [json('bind-with-token'), needs('bind-with-token')],
      [json('bind-with-token', 'good'), needs('bind-with-token')],
      [json('bind-with-token', { token: 1 }), needs('bind-with-token')],
    ])('%j is malformed', (text, diagnostics) => {
      expect(read(text)).toEqual({ kind: 'malformed', diagnostics });
    });
  });

  describe('a message of Medplum', () => {
    const status = (type: string, subscription: unknown = { reference: 'Subscription/m1' }) => ({
      resource: { resourceType: 'SubscriptionStatus', type, subscription },
    });
    const told: Bundle = { resourceType: 'Bundle', type: 'history', id: 'n1' };
    const message = (bundle: unknown) => ({
      resource: { resourceType: 'Communication', payload: [{ contentString: JSON.stringify(bundle) }] },
    });
    const read = (...entry: unknown[]) => readMedplumMessage(JSON.stringify({ resourceType: 'Bundle', entry }));

    test('that a token is bound', () => {
      expect(read(status('handshake'))).toEqual({ kind: 'bound', id: 'm1' });
      expect(read(status('handshake', 'm1'))).toEqual({ kind: 'bound', id: '' });
    });

    test('that something has happened', () => {
      expect(read(status('event-notification'), message(told))).toEqual({
        kind: 'notification',
        id: 'm1',
        bundle: told,
      });
    });

    test.each<[string, unknown[]]>([
      ['an event without content', [status('event-notification')]],
      ['an event about something else', [status('event-notification'), { resource: { resourceType: 'Slot' } }]],
      ['an event that cannot be read', [status('event-notification'), 'x']],
      ['a heartbeat', [status('heartbeat'), message(told)]],
      ['a name that objects inherit', [status('toString'), message(told)]],
      ['nothing', []],
      ['no resource', [{}]],
      ['no entry', ['x']],
    ])('%s concerns nobody', (_name, entries) => {
      expect(read(...entries)).toBeUndefined();
    });

    test.each(['', 'x', '{', '[]', 'null', '{"type":"pong"}', '{"resourceType":"Bundle","entry":{}}'])(
      '%j concerns nobody',
      (text) => {
        expect(readMedplumMessage(text)).toBeUndefined();
      },
    );

    test.each([
      [[{ details: { text: 'Gone.' }, diagnostics: 'Other.' }], 'Gone.'],
      [[{ diagnostics: 'Other.' }, { details: { text: 'Gone.' } }], 'Other.'],
      [[{ details: null }], 'The token is not accepted.'],
      [[null], 'The token is not accepted.'],
      [[{}], 'The token is not accepted.'],
      [[], 'The token is not accepted.'],
      ['x', 'The token is not accepted.'],
    ])('that it refuses a token: %j', (issue, diagnostics) => {
      expect(readMedplumMessage(JSON.stringify({ resourceType: 'OperationOutcome', issue }))).toEqual({
        kind: 'refusal',
        diagnostics,
      });
    });
  });
});

describe('event order', () => {
  const parameters = (parameter: object[]): Bundle =>
    JSON.parse(
      JSON.stringify({ resourceType: 'Bundle', entry: [{ resource: { resourceType: 'Parameters', parameter } }] }),
    );

  const handshake = (events: number) =>
    parameters([{ name: 'events-since-subscription-start', valueString: String(events) }]);

  const event = (number: number) =>
    parameters([{ name: 'notification-event', part: [{ name: 'event-number', valueString: String(number) }] }]);

  const numberOf = (bundle: Bundle) => Number(/"valueString":"(\d+)"/.exec(JSON.stringify(bundle))?.[1]);

  /** The numbers that are told when the events arrive in this order. */
  function told(order: Order, numbers: readonly number[]): { readonly numbers: number[]; readonly order: Order } {
    const all: number[] = [];
    let current = order;
    for (const number of numbers) {
      const next = arrived(current, event(number));
      all.push(...next.told.map(numberOf));
      current = next.order;
    }
    return { numbers: all, order: current };
  }

  describe('the order of notifications', () => {
    test.each<[number[], number[]]>([
      [
        [4, 5, 6],
        [4, 5, 6],
      ],
      [
        [5, 4, 6],
        [4, 5, 6],
      ],
      [
        [6, 5, 4],
        [4, 5, 6],
      ],
      [[5, 6], []],
      [
        [4, 4, 2],
        [4, 4, 2],
      ],
    ])('after three events, %j arrive: %j are told', (arriving, expected) => {
      expect(told(orderAfter(handshake(3)), arriving).numbers).toEqual(expected);
    });

    test('an event that waits too long is sent in its order, and the next one follows', () => {
      const { order } = told(orderAfter(handshake(0)), [3, 2]);
      const late = released(order);
      expect(late.told.map(numberOf)).toEqual([2, 3]);
      expect(told(late.order, [4]).numbers).toEqual([4]);
    });

    const odd = (...entry: unknown[]): Bundle => JSON.parse(JSON.stringify({ resourceType: 'Bundle', entry }));
    const eventOf = (valueString: unknown): Bundle =>
      parameters([{ name: 'notification-event', part: [{ name: 'event-number', valueString }] }]);

    test.each<[string, Bundle]>([
      ['no entries', JSON.parse('{"resourceType":"Bundle"}')],
      ['entries that are no list', JSON.parse('{"resourceType":"Bundle","entry":{}}')],
      ['an entry that is nothing', odd(null)],
      ['an entry without a resource', odd({})],
      ['parameters that are nothing', odd({ resource: { parameter: [null, 5] } })],
      ['parameters that are no list', odd({ resource: { parameter: 'x' } })],
      ['an event without parts', parameters([{ name: 'notification-event' }])],
      ['an event without a number', parameters([{ name: 'notification-event', part: [null, { name: 'timestamp' }] }])],
      ['another parameter', parameters([{ name: 'x', part: [{ name: 'event-number', valueString: '2' }] }])],
      ['another part', parameters([{ name: 'notification-event', part: [{ name: 'x', valueString: '2' }] }])],
      ['a number in words', eventOf('two')],
      ['a number and more', eventOf('2x')],
      ['more and a number', eventOf('x2')],
      ['a number that is no text', eventOf(2)],
      ['a number that is too large', eventOf('1234567890123456')],
    ])('with %s no event is told, and it is told at once', (_, bundle) => {
      const order = orderAfter(handshake(0));
      expect(arrived(order, bundle)).toEqual({ order, told: [bundle] });
    });

    test('a handshake without a number is that of a new Subscription', () => {
      expect(orderAfter(parameters([{ name: 'other', valueString: '3' }]))).toEqual({ last: 0, waiting: new Map() });
    });

    test('all are sent once, in the order of their numbers, whatever the order of arrival', () => {
      const arrivals = fc.integer({ min: 0, max: 12 }).chain((count) =>
        fc.shuffledSubarray(
          Array.from({ length: count }, (_, index) => index + 1),
          { minLength: count },
        ),
      );
      fc.assert(
        fc.property(arrivals, (numbers) => {
          const sorted = [...numbers].sort((one, other) => one - other);
          expect(told(orderAfter(handshake(0)), numbers).numbers).toEqual(sorted);
        }),
      );
    });
  });
});
