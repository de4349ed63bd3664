import { describe, expect, test } from '@jest/globals';
import type { UnsealedPolicy } from '../../../gateway/sealing/access-tokens.ts';
import { config, gatewayTo, withGateway } from '../fake-medplum.ts';
import { keysOf } from '../sealing/keys.ts';

const { fake, inject } = withGateway();

test('a process that lives says so', async () => {
  const answer = await inject('/healthz');
  expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }]);
});

describe('a gateway is ready', () => {
  const ready = { status: 'ready', bots: config.bots };

  test('if Medplum is well', async () => {
    fake.answer = ({ method, path }) =>
      method === 'GET' && path === '/healthcheck' ? { body: { ok: true } } : undefined;
    const answer = await inject('/readyz');
    expect([answer.statusCode, answer.json()]).toEqual([200, { ...ready, credentials: 'medplum' }]);
  });

  test.each<[UnsealedPolicy, string]>([
    ['refused', 'sealed'],
    ['accepted', 'both'],
  ])('and says which credentials portals use: where others are %s, %s', async (unsealed, credentials) => {
    fake.answer = () => ({ body: { ok: true } });
    const sealing = gatewayTo(fake, {}, { sealing: { keys: keysOf(1), unsealed } });
    expect((await sealing.inject('/readyz')).json()).toEqual({ ...ready, credentials });
    await sealing.close();
  });

  test('unless Medplum is not', async () => {
    fake.answer = () => ({ status: 503 });
    const answer = await inject('/readyz');
    expect([answer.statusCode, answer.headers['content-type'], answer.json().issue[0].code]).toEqual([
      503,
      'application/fhir+json; charset=utf-8',
      'transient',
    ]);
  });
});
