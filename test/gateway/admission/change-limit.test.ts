import { beforeEach, expect, test } from '@jest/globals';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { createChangeLimit } from '../../../gateway/admission/change-limit.ts';
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

test('so many changes within a minute, each requestor by itself', () => {
  let time = 0;
  const { secondsLeft, note } = createChangeLimit(2, () => time);
  note('a');
  time = 30_000;
  expect(secondsLeft('a')).toBe(0);
  note('a');
  expect([secondsLeft('a'), secondsLeft('b')]).toEqual([30, 0]);
  time = 60_000;
  expect(secondsLeft('a')).toBe(0);
  note('a');
  expect(secondsLeft('a')).toBe(30);
  time = 200_000;
  expect(secondsLeft('a')).toBe(0);
});

test('patches of one appointment count one by one, a dry run does not; staff and other portals go on', async () => {
  const limited = resolveConfig({ baseUrl: config.baseUrl, requestors: { maxBookingsPerMinute: 3 } });
  const gateway = gatewayTo(fake, {}, { config: limited });
  const patch = (headers = {}) =>
    gateway.inject({
      method: 'PATCH',
      url: '/fhir/R4/Appointment/a1',
      headers: { ...bearer, 'content-type': 'application/json-patch+json', ...headers },
      payload: JSON.stringify([{ op: 'replace', path: '/comment', value: 'x' }]),
    });
  const statuses: number[] = [];
  for (let count = 0; count < 4; count++) {
    statuses.push((await patch()).statusCode);
    await gateway.inject({
      method: 'POST',
      url: '/fhir/R4/Appointment/$book',
      headers: fhirJson,
      payload: JSON.stringify({
        resourceType: 'Parameters',
        parameter: [{ name: 'dry-run', valueBoolean: true }],
      }),
    });
  }
  expect(statuses).toEqual([200, 200, 200, 429]);
  const refused = await patch();
  expect(refused.json().issue[0].details.coding[0].code).toBe('too-many-bookings');
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
  expect((await patch({ authorization: 'Bearer portal-b' })).statusCode).toBe(200);
  await gateway.close();
});
