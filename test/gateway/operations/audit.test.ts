import { beforeEach, expect, test } from '@jest/globals';
import pino from 'pino';
import { bearer, fhirJson, gatewayTo, withGateway } from '../fake-medplum.ts';

const [appointment, patient] = ['0b1c2d3e-0000-4000-8000-000000000001', '0b1c2d3e-0000-4000-8000-000000000002'];
const stored = {
  resourceType: 'Appointment',
  id: appointment,
  status: 'booked',
  comment: 'Secret',
  participant: [
    { actor: { reference: `Patient/${patient}`, display: 'Secret' }, status: 'accepted' },
    { actor: { reference: 'Practitioner/p1' }, status: 'accepted' },
  ],
};
const bundle = { resourceType: 'Bundle', type: 'searchset', total: 1, entry: [{ resource: stored }] };

const lines: Record<string, unknown>[] = [];
const logger = pino({ level: 'info' }, { write: (text) => void lines.push(JSON.parse(text)) });

const { fake, inject } = withGateway({}, { logger, audit: true });

beforeEach(() => {
  lines.length = 0;
});

/** What is recorded of a request; Medplum answers with a resource. */
async function recorded(
  method: 'GET' | 'POST' | 'PATCH' | 'PUT',
  path: string,
  body: unknown,
  sent?: string,
  more = {},
) {
  fake.answer = () => (body ? { body } : { status: 404 });
  const headers = sent?.startsWith('_') ? { ...bearer, 'content-type': 'application/x-www-form-urlencoded' } : fhirJson;
  const answer = await inject({
    method,
    url: `/fhir/R4${path}`,
    headers: { ...(sent ? headers : bearer), 'x-request-id': 'request-7', ...more },
    ...(sent && { payload: sent }),
  });
  const found = lines.filter((line) => line.msg === 'audit');
  expect(JSON.stringify(found)).not.toContain('Secret');
  expect(found.every(({ reqId }) => reqId === 'request-7')).toBe(true);
  return { status: answer.statusCode, audit: found.map(({ audit }) => audit) };
}

const client = 'ClientApplication/portal-a-id';
const both = [`Appointment/${appointment}`, `Patient/${patient}`];

test('reading names the appointment and its patient', async () => {
  const { audit } = await recorded('GET', `/Appointment/${appointment}`, stored);
  expect(audit).toEqual([{ client, interaction: 'read', resources: both, status: 200 }]);
});

test('what is not found is recorded, too: who asked for it', async () => {
  const { audit } = await recorded('GET', `/Patient/${patient}`, undefined);
  expect(audit).toEqual([{ client, interaction: 'read', resources: [`Patient/${patient}`], status: 404 }]);
});

test.each([
  ['GET', '/Appointment?patient=Patient/Secret', undefined],
  ['POST', '/Appointment/_search', '_id=Secret'],
] as const)('%s %s names what was found, not what was asked', async (method, path, form) => {
  const { status, audit } = await recorded(method, path, bundle, form);
  expect(audit).toEqual([{ client, interaction: 'search-type', resources: both, status }]);
  expect(status).toBe(200);
});

test('of slots nothing is recorded, nor of strangers', async () => {
  expect((await recorded('GET', '/Slot', { ...bundle, entry: [], total: 0 })).audit).toEqual([]);
  await inject({ method: 'GET', url: `/fhir/R4/Patient/${patient}` });
  expect(lines.filter(({ msg }) => msg === 'audit')).toEqual([]);
});

test('changes name what was changed, also where the answer is minimal', async () => {
  const sent = JSON.stringify([{ op: 'replace', path: '/status', value: 'cancelled' }]);
  const minimal = { prefer: 'return=minimal', 'content-type': 'application/json-patch+json' };
  const { status, audit } = await recorded('PATCH', `/Appointment/${appointment}`, stored, sent, minimal);
  expect([status, audit]).toEqual([
    200,
    [{ client, interaction: 'patch', resources: [`Appointment/${appointment}`], status: 200 }],
  ]);
});

test('an operation is named', async () => {
  const { status, audit } = await recorded('POST', '/Appointment/$book', stored, JSON.stringify(stored));
  expect(audit).toEqual([{ client, interaction: 'operation', operation: '$book', resources: both, status }]);
});

test('without the setting nothing is recorded', async () => {
  const silent = gatewayTo(fake, {}, { logger });
  fake.answer = () => ({ body: stored });
  await silent.inject({ method: 'GET', url: `/fhir/R4/Appointment/${appointment}`, headers: bearer });
  expect(lines.map(({ msg }) => msg)).toEqual(['answered']);
  await silent.close();
});
