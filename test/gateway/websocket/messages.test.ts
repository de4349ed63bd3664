import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { type Binding, createBindingTokens } from '../../../gateway/websocket/binding-token.ts';
import { arrived, type Order, orderAfter, released } from '../../../gateway/websocket/event-order.ts';
import { readClientMessage, readMedplumMessage } from '../../../gateway/websocket/messages.ts';
import { keysOf } from '../sealing/keys.ts';

const now = Date.parse('2027-01-01T00:00:00Z');
const handshake: Bundle = { resourceType: 'Bundle', type: 'history' };
const binding: Binding = {
  id: 'm1',
  token: 'token-of-medplum',
  expiration: '2027-01-01T01:00:00Z',
  client: 'ClientApplication/a',
  handshake,
};

describe('a binding token', () => {
  const keys = keysOf(1);
  const { seal, unseal } = createBindingTokens(keys, () => now);
  /** What gateways of all versions seal with: they take the tokens of each other while one replaces the other. */
  const sealer = keys[0].bindings;

  test('holds its binding, nobody can read it, and gateways of other versions understand it', () => {
    expect(unseal(seal(binding))).toEqual(binding);
    expect(`${seal(binding)}${Buffer.from(seal(binding), 'base64url')}`).not.toContain('medplum');
    expect(unseal(sealer.seal(JSON.stringify(binding)))).toEqual(binding);
    expect(JSON.parse(sealer.open(seal(binding)) ?? '')).toEqual(binding);
  });

  test('is good at gateways that have the key, also once there is a newer one', () => {
    const token = seal(binding);
    const read = (...bytes: number[]) => createBindingTokens(keysOf(...bytes), () => now).unseal(token)?.id;
    expect([read(1), read(2, 1), read(2)]).toEqual(['m1', 'm1', undefined]);
  });

  test.each([
    [1, true],
    [0, false],
    [-1, false],
  ])('whose binding ends in %i ms is good: %s', (ms, isGood) => {
    expect(unseal(seal({ ...binding, expiration: new Date(now + ms).toISOString() })) !== undefined).toBe(isGood);
  });

  test.each<unknown>([
    ...['id', 'token', 'expiration', 'client', 'handshake'].map((name) => ({ ...binding, [name]: undefined })),
    { ...binding, id: 'a/b' },
    { ...binding, client: { id: 'x' } },
    { ...binding, handshake: { resourceType: 'Slot' } },
    ...['', '{', 'null', '5', '[]', '"text"'],
  ])('with the content %j is none, nor what was sealed for another purpose', (content) => {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    expect(unseal(sealer.seal(text))).toBeUndefined();
    expect(unseal(keys[0].offers.seal(JSON.stringify(binding)))).toBeUndefined();
  });
});

describe('a message of a client', () => {
  const read = (text: string) => readClientMessage(text, (token) => (token === 'good' ? binding : undefined));
  const json = (type: unknown, payload?: unknown) => JSON.stringify({ type, payload });

  test.each([
    [
      'bind',
      'bind-with-token good',
      'bind-with-token: good',
      '  bind-with-token \n good  more',
      json('bind-with-token', { token: 'good' }),
    ],
    ['unbind', 'unbind-from-token good', json('unbind-from-token', { token: 'good' })],
    ['ping', 'ping', json('ping')],
  ])('that asks for %s', (kind, ...texts) => {
    expect(texts.map(read)).toEqual(texts.map(() => ({ kind, ...(kind !== 'ping' && { binding }) })));
  });

  test.each<[string, ...string[]]>([
    [
      'Send bind-with-token',
      '',
      'hello',
      'bind:-with-token good',
      ' {"type":"ping"}',
      '{"type"',
      '{}',
      '{"type":{"toString":1,"valueOf":1}}',
      json('toString', { token: 'good' }),
    ],
    [
      'bind-with-token needs',
      'bind-with-token',
      'bind-with-token bad',
      json('bind-with-token'),
      json('bind-with-token', 'good'),
      json('bind-with-token', { token: 1 }),
    ],
    ['unbind-from-token needs', 'unbind-from-token bad'],
  ])('that is malformed: %s', (words, ...texts) => {
    expect(texts.map(read)).toEqual(
      texts.map(() => ({ kind: 'malformed', diagnostics: expect.stringContaining(words) })),
    );
  });
});

describe('a message of Medplum', () => {
  const status = (type: string, subscription: unknown = { reference: 'Subscription/m1' }) => ({
    resource: { resourceType: 'SubscriptionStatus', type, subscription },
  });
  const notified: Bundle = { resourceType: 'Bundle', type: 'history', id: 'n1' };
  const message = {
    resource: { resourceType: 'Communication', payload: [{ contentString: JSON.stringify(notified) }] },
  };
  const read = (...entry: unknown[]) => readMedplumMessage(JSON.stringify({ resourceType: 'Bundle', entry }));

  test('tells that a token is bound, or that something has happened', () => {
    expect(read(status('handshake'))).toEqual({ kind: 'bound', id: 'm1' });
    expect(read(status('handshake', 'm1'))).toEqual({ kind: 'bound', id: '' });
    expect(read(status('event-notification'), message)).toEqual({ kind: 'notification', id: 'm1', bundle: notified });
  });

  test.each<[string, ...unknown[]]>([
    ['an event without content', status('event-notification')],
    ['an event about something else', status('event-notification'), { resource: { resourceType: 'Slot' } }],
    ['an event that cannot be read', status('event-notification'), 'x'],
    ['a heartbeat', status('heartbeat'), message],
    ['a name that objects inherit', status('toString'), message],
    ['nothing'],
    ['no resource', {}],
    ['no entry', 'x'],
  ])('of %s concerns nobody', (_name, ...entries) => {
    expect(read(...entries)).toBeUndefined();
  });

  test.each(['', 'x', '{', '[]', 'null', '{"type":"pong"}', '{"resourceType":"Bundle","entry":{}}'])(
    '%j concerns nobody',
    (text) => {
      expect(readMedplumMessage(text)).toBeUndefined();
    },
  );

  test.each([
    ['Gone.', [{ details: { text: 'Gone.' }, diagnostics: 'Other.' }]],
    ['Other.', [{ diagnostics: 'Other.' }, { details: { text: 'Gone.' } }]],
    ...[[{ details: null }], [null], [{}], [], 'x'].map((issue) => ['The token is not accepted.', issue] as const),
  ])('that refuses a token: %s', (diagnostics, issue) => {
    const text = JSON.stringify({ resourceType: 'OperationOutcome', issue });
    expect(readMedplumMessage(text)).toEqual({ kind: 'refusal', diagnostics });
  });
});

describe('the order of notifications', () => {
  const bundleOf = (...entry: unknown[]): Bundle => JSON.parse(JSON.stringify({ resourceType: 'Bundle', entry }));
  const parameters = (...parameter: unknown[]) => bundleOf({ resource: { resourceType: 'Parameters', parameter } });
  const since = (events: number) =>
    parameters({ name: 'events-since-subscription-start', valueString: String(events) });
  const event = (valueString: unknown) =>
    parameters({ name: 'notification-event', part: [{ name: 'event-number', valueString }] });
  const numberOf = (bundle: Bundle) => Number(/"valueString":"(\d+)"/.exec(JSON.stringify(bundle))?.[1]);

  /** The numbers that are told when the events arrive in this order. */
  function told(order: Order, numbers: readonly number[]): { readonly numbers: number[]; readonly order: Order } {
    const all: number[] = [];
    let current = order;
    for (const number of numbers) {
      const next = arrived(current, event(String(number)));
      all.push(...next.notified.map(numberOf));
      current = next.order;
    }
    return { numbers: all, order: current };
  }

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
        expect(told(orderAfter(since(0)), numbers).numbers).toEqual(sorted);
      }),
    );
  });

  test('a missing one is waited for, and what waits too long is sent in its order; what comes late is told at once', () => {
    expect(told(orderAfter(since(3)), [5, 6]).numbers).toEqual([]);
    expect(told(orderAfter(since(3)), [4, 4, 2]).numbers).toEqual([4, 4, 2]);
    const late = released(told(orderAfter(since(0)), [3, 2]).order);
    expect(late.notified.map(numberOf)).toEqual([2, 3]);
    expect(late.order.waiting.size).toBe(0);
    expect(told(late.order, [4]).numbers).toEqual([4]);
    expect(orderAfter(parameters({ name: 'other', valueString: '3' })).last).toBe(0);
    expect(orderAfter(since(123456789012345)).last).toBe(123456789012345);
  });

  test.each<[string, Bundle]>([
    ['a handshake', since(0)],
    ['no entries', JSON.parse('{"resourceType":"Bundle"}')],
    ['entries that are no list', JSON.parse('{"resourceType":"Bundle","entry":{}}')],
    ['an entry that is nothing', bundleOf(null)],
    ['parameters that are nothing', bundleOf({ resource: { parameter: [null, 5] } })],
    ['parameters that are no list', bundleOf({ resource: { parameter: 'x' } })],
    ['an event without parts', parameters({ name: 'notification-event' })],
    ['an event without a number', parameters({ name: 'notification-event', part: [null, { name: 'timestamp' }] })],
    ['another parameter', parameters({ name: 'x', part: [{ name: 'event-number', valueString: '2' }] })],
    ['another part', parameters({ name: 'notification-event', part: [{ name: 'x', valueString: '2' }] })],
    ...['two', '2x', 'x2', 2, '1234567890123456'].map((number): [string, Bundle] => [
      `the number ${number}`,
      event(number),
    ]),
  ])('with %s no event is told, and it is told at once', (_, bundle) => {
    const order = orderAfter(since(0));
    expect(arrived(order, bundle)).toEqual({ order, notified: [bundle] });
  });
});
