import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import type { Binding } from '../../../gateway/websocket/binding-token.ts';
import { bindingIn, readClientMessage, readMedplumMessage } from '../../../gateway/websocket/messages.ts';

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

  test('is read as a whole', () => {
    expect(read(all.toReversed())).toEqual(binding);
  });

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
    expect(read(status('event-notification'), message(told))).toEqual({ kind: 'notification', id: 'm1', bundle: told });
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
