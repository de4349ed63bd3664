import { describe, expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { medplum } from '../http.ts';
import { config, type Role } from '../installation.ts';

const callable = [
  'book',
  'enqueue-booking',
  'cancel-booking-job',
  'patch',
  'find-deleted',
  'write-subscription',
  'subscription-operations',
] as const;

const execute = (name: string, body: unknown, role: Role = 'portal-a') =>
  medplum(role, 'POST', `/Bot/$execute?identifier=${artefactUri(config, 'LocalBot')}|${name}`, {
    body,
    headers: { 'content-type': 'application/json' },
  });

/** Names that every JavaScript object has without having been given them. */
const inherited = ['constructor', 'toString', 'valueOf', 'hasOwnProperty', '__proto__', '__defineGetter__'];

const hostile: readonly (readonly [what: string, body: unknown])[] = [
  ...inherited.map((name) => [name, { operation: name, interaction: name, resourceType: name, id: name }] as const),
  ['lists of inherited names', { operation: inherited, interaction: inherited, parameter: inherited }],
  ['nothing', {}],
  ['a list', []],
  ['a list of nothing', [null]],
  ['parameters of nothing', { resourceType: 'Parameters', parameter: [null, { name: 'constructor' }] }],
  ['parameters that are no list', { resourceType: 'Parameters', parameter: { name: 'id', valueId: 'x' } }],
  ['an id of every task', { resourceType: 'Parameters', parameter: [{ name: 'id', valueId: '' }] }],
  ['an id that is a search', { resourceType: 'Parameters', parameter: [{ name: 'id', valueId: 'a&status=x' }] }],
  ['an interaction without a resource', { interaction: 'create', operation: 'status', ids: 'a', since: 'b' }],
  ['an interaction with an id that climbs', { interaction: 'delete', operation: 'events', id: '../Patient/a' }],
];

describe.each(callable)('the Bot %s, called past the gateway', (name) => {
  it.each(hostile)('answers a resource or a refusal, and nothing of its own: %s', async (_what, body) => {
    const answer = await execute(name, body);
    expect(answer.text).not.toMatch(/accessToken|clientSecret|Bearer|eyJ[\w-]+\./);
    expect(answer.body).toMatchObject({ resourceType: expect.stringMatching(/^(OperationOutcome|Bundle)$/) });
    expect([200, 400, 404]).toContain(answer.status);
  });
});

it.each(['process-booking', 'record-events', 'retry-deliveries'])(
  'the Bot %s, which Medplum starts, no portal can call',
  async (name) => {
    expect((await execute(name, {})).status).toBe(404);
  },
);
