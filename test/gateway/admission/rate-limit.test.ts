import { beforeEach, expect, test } from '@jest/globals';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { createRateLimit } from '../../../gateway/admission/rate-limit.ts';
import { until } from '../../lib/until.ts';
import { bearer, config, fhirJson, gatewayTo, withGateway } from '../fake-medplum.ts';

const { fake } = withGateway();
const appointment = {
  resourceType: 'Appointment',
  id: 'a1',
  status: 'booked',
  participant: [],
  meta: { versionId: '2' },
};

beforeEach(() => {
  fake.answer = () => ({ body: appointment });
});

/** A gateway with these settings of its limits. */
const limitedTo = (settings: object) =>
  gatewayTo(fake, {}, { config: resolveConfig({ baseUrl: config.baseUrl, ...settings }) });

const patching = (gateway: ReturnType<typeof gatewayTo>, headers = {}) =>
  gateway.inject({
    method: 'PATCH',
    url: '/fhir/R4/Appointment/a1',
    headers: { ...bearer, 'content-type': 'application/json-patch+json', ...headers },
    payload: JSON.stringify([{ op: 'replace', path: '/comment', value: 'x' }]),
  });

/** Sends Parameters or another body. */
const posting = (gateway: ReturnType<typeof gatewayTo>, url: string) => async (body: object) => {
  const response = await gateway.inject({ method: 'POST', url: `/fhir/R4/${url}`, headers: fhirJson, payload: body });
  return response.statusCode;
};

test('so many changes within a minute, each requestor by itself', () => {
  let time = 0;
  const { take: takeSeveral } = createRateLimit(2, () => time);
  const take = (requestor: string) => takeSeveral(requestor, 1);
  const taken = expect.any(Function);
  expect(take('a')).toEqual(taken);
  time = 30_000;
  expect([take('a'), take('a'), take('b')]).toEqual([taken, 30, taken]);
  time = 60_000;
  expect([take('a'), take('a')]).toEqual([taken, 30]);
  time = 200_000;
  const takeBack = take('a');
  expect([take('a'), take('a')]).toEqual([taken, 60]);
  expect(typeof takeBack === 'function' && takeBack()).toBeUndefined();
  expect([take('a'), take('a')]).toEqual([taken, 60]);
  // The clock is set back.
  time = -3_600_000;
  expect([take('a'), take('a'), take('a')]).toEqual([taken, taken, 60]);
});

test('what is large counts several times; what is larger than the limit is allowed by itself', () => {
  let time = 0;
  const { take } = createRateLimit(10, () => time);
  const taken = expect.any(Function);
  expect([take('a', 6), take('a', 4), take('a', 1)]).toEqual([taken, taken, 60]);
  time = 60_000;
  expect(take('a', 20)).toEqual(taken);
  time = 90_000;
  expect([take('a', 1), take('a', 20), take('b', 20)]).toEqual([30, 30, taken]);
  time = 120_000;
  expect(take('a', 1)).toEqual(taken);
});

test('what was refused counts less, what may have been done as a change', async () => {
  const gateway = limitedTo({ requestors: { maxBookingsPerMinute: 4 } });
  const patch = async () => (await patching(gateway)).statusCode;
  fake.answer = () => ({ status: 403, body: {} });
  expect([await patch(), await patch(), await patch()]).toEqual([403, 403, 403]);
  fake.answer = () => ({ status: 502, body: {} });
  expect([await patch(), await patch(), await patch()]).toEqual([503, 503, 429]);
});

test('what only reads counts least: the place of an entry, what can be answered to a message', async () => {
  const gateway = limitedTo({ requestors: { maxBookingsPerMinute: 2 } });
  const [wait, answer] = [posting(gateway, 'Appointment/$waitlist'), posting(gateway, 'Appointment/$answer')];
  const said = (...more: object[]) => ({
    resourceType: 'Parameters',
    parameter: [{ name: 'token', valueString: `t1.${'0'.repeat(32)}` }, ...more],
  });
  const parameters = { resourceType: 'Parameters', parameter: [] };
  fake.answer = ({ body }) => ({ body: body.includes('token') ? parameters : appointment });
  const place = { resourceType: 'Appointment', id: 'a1' };
  expect([await wait(place), await wait(place), await answer(said()), await answer(said())]).not.toContain(429);
  expect([await answer(said({ name: 'answer', valueCode: 'come' })), await wait(appointment)]).toEqual([200, 429]);
  expect(await wait(place)).not.toBe(429);
});

test('patches of one appointment count one by one, a dry run less; staff and other portals go on', async () => {
  const gateway = limitedTo({ requestors: { maxBookingsPerMinute: 4 } });
  const patch = (headers = {}) => patching(gateway, headers);
  const statuses: number[] = [];
  for (let count = 0; count < 4; count++) {
    statuses.push((await patch()).statusCode);
    const dryRun = { resourceType: 'Parameters', parameter: [{ name: 'dry-run', valueBoolean: true }] };
    await posting(gateway, 'Appointment/$book')(dryRun);
  }
  expect(statuses).toEqual([200, 200, 200, 429]);
  const refused = await patch();
  expect(refused.json().issue[0].details.coding[0].code).toBe('too-many-bookings');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect((await patch({ authorization: 'Bearer portal-b' })).statusCode).toBe(200);
});

test('what changes nothing is refused, or asked, only so often in a minute', async () => {
  const gateway = limitedTo({ requestors: { maxBookingsPerMinute: 200 } });
  fake.answer = () => ({ status: 404, body: {} });
  fake.received.length = 0;
  const ask = async (method: 'GET' | 'PATCH', token = 'portal-a') => {
    const headers = { authorization: `Bearer ${token}` };
    const get = () => gateway.inject({ url: '/fhir/R4/Appointment/a1', headers });
    return (await (method === 'GET' ? get() : patching(gateway, headers))).statusCode;
  };
  const statuses = (method: 'GET' | 'PATCH', count: number) =>
    Promise.all(Array.from({ length: count }, () => ask(method)));
  const runs = () => fake.received.filter(({ path }) => path.endsWith('/Bot/$execute')).length;
  for (let count = 0; count < 4; count++) {
    expect(new Set(await statuses('PATCH', 50))).toEqual(new Set([403]));
    expect(new Set(await statuses('GET', 100))).toEqual(new Set([404]));
  }
  expect(new Set(await statuses('GET', 200))).toEqual(new Set([404]));
  expect(runs()).toBe(200 + 600);
  expect([await ask('GET'), await ask('PATCH')]).toEqual([429, 429]);
  fake.answer = () => ({ body: appointment });
  expect([await ask('PATCH'), await ask('PATCH', 'portal-b')]).toEqual([429, 200]);
  expect(await posting(gateway, 'Appointment/$waitlist')({ resourceType: 'Appointment', id: 'a1' })).toBe(429);
  expect(await posting(gateway, 'Appointment/$waitlist')(appointment)).toBe(429);
});

test('a burst of changes of one requestor is carried out a few at a time; another one books meanwhile', async () => {
  const gateway = limitedTo({ requestors: { maxBookingsPerMinute: 100 } });
  const gate = Promise.withResolvers<void>();
  fake.received.length = 0;
  fake.answer = async ({ headers }) => {
    await (headers.authorization === bearer.authorization ? gate.promise : undefined);
    return { body: appointment };
  };
  const burst = Array.from({ length: 30 }, () => patching(gateway));
  await until(() => fake.received.length === 4);
  expect((await patching(gateway, { authorization: 'Bearer portal-b' })).statusCode).toBe(200);
  expect(fake.received).toHaveLength(4 + 1);
  gate.resolve();
  expect(new Set((await Promise.all(burst)).map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
});
