import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { bearer, fhirJson, gatewayTo, searchset, withGateway } from '../fake-medplum.ts';

const { fake, gateway } = withGateway();

beforeEach(() => {
  fake.answer = ({ path }) =>
    path.endsWith('/s1')
      ? { body: slot }
      : path.endsWith('/Slot')
        ? { body: searchset(fake.url, 'Slot', [slot, { ...slot, id: 's2' }]) }
        : undefined;
});

const slot = {
  resourceType: 'Slot',
  id: 's1',
  meta: { versionId: '3', lastUpdated: '2027-01-01T09:00:00.000Z' },
};

async function send(bundle: unknown, limited = gateway()) {
  const response = await limited.inject({
    method: 'POST',
    url: '/fhir/R4',
    headers: fhirJson,
    payload: JSON.stringify(bundle),
  });
  return { status: response.statusCode, body: response.json() };
}

const get = (url: string, more: object = {}) => ({ request: { method: 'GET', url, ...more } });
const batchOf = (...entry: unknown[]) => ({ resourceType: 'Bundle', type: 'batch', entry });
const statuses = (body: { entry?: { response: { status: string } }[] }) =>
  body.entry?.map(({ response }) => response.status);

describe('a batch', () => {
  test('reads what it is about, and no more: parts of the address are decoded', async () => {
    const { body } = await send(batchOf(get('Slot/s%31'), get('metadata'), get('Slot?status=%62usy?')));
    expect(statuses(body)).toEqual(['200', '200', '200']);
    expect(body.entry[1].resource.resourceType).toBe('CapabilityStatement');
    expect(fake.received[1]?.query.get('status')).toBe('busy?');
  });

  const needs = 'An entry needs request.method and request.url of at most 8192 characters.';
  test.each<[string, unknown, string, string]>([
    ['nothing', null, '400', needs],
    ['no request', {}, '400', needs],
    ['a request that is none', { request: 'GET Slot' }, '400', needs],
    ['no method', { request: { url: 'Slot' } }, '400', needs],
    ['no address', { request: { method: 'GET' } }, '400', needs],
    ['a long address', get(`Slot?_id=${'a'.repeat(8_184)}`), '400', needs],
    [
      'a write',
      { request: { method: 'DELETE', url: 'Slot/s1' } },
      '405',
      "A batch can hold GET only, not 'DELETE': send each write as a request of its own.",
    ],
    [
      'a long method',
      { request: { method: 'X'.repeat(30), url: 'Slot/s1' } },
      '405',
      `A batch can hold GET only, not '${'X'.repeat(20)}': send each write as a request of its own.`,
    ],
    ...[
      'Bot/1',
      'Slot/s1/x',
      'Appointment/a1/_history/',
      'metadata/x',
      'x/metadata',
      'Slot/s1//',
      'Slot//',
      '',
      'Slot/%zz',
      'http://other.example/Slot/s1',
      'Slot/s1/$x',
    ].map((url): [string, unknown, string, string] => [
      `the address '${url}'`,
      get(url),
      '404',
      'There is no such resource, or the caller may not see it.',
    ]),
  ])('an entry with %s is refused at its place', async (_name, entry, status, diagnostics) => {
    const { body } = await send(batchOf(entry, get('Slot/s1')));
    expect(statuses(body)).toEqual([status, '200']);
    expect(body.entry[0].response.outcome.issue[0].diagnostics).toBe(diagnostics);
  });

  test('an address may have 8192 characters', async () => {
    const { body } = await send(batchOf(get(`Slot?identifier=${'a'.repeat(8_176)}`)));
    expect(statuses(body)).toEqual(['200']);
  });

  test.each([
    ['of a read counts as one', ['1000', '999', 'read', 'read'], ['200', '200', '200', '413']],
    ['of a search counts for each resource', ['1000', '1000', 'read'], ['200', '200', '413']],
    ['without resources counts for nothing', ['0', '1000', '0', '999', 'read'], ['200', '200', '200', '200', '200']],
    ['is given whole', ['1000', '999', '1000', 'read'], ['200', '200', '200', '413']],
  ])('ends when its answers have 2000 resources; one %s', async (_, sizes, expected) => {
    const slots = Array.from({ length: 1_000 }, (_, index) => ({ ...slot, id: `s${index}` }));
    fake.answer = ({ path, query }) => {
      const { entry, ...none } = { ...searchset(fake.url, 'Slot', slots), entry: [] };
      const count = Number(query.get('_count'));
      const found = count > 0 ? searchset(fake.url, 'Slot', slots.slice(0, count)) : none;
      return { body: path.endsWith('/s1') ? slot : found };
    };
    const { body } = await send(
      batchOf(...sizes.map((size) => get(size === 'read' ? 'Slot/s1' : `Slot?_count=${size}`))),
    );
    expect(statuses(body)).toEqual(expected);
  });

  test('each entry counts as a request', async () => {
    const limited = gatewayTo(fake, { requestsPerMinute: 3 });
    const { body } = await send(batchOf(get('Slot/s1'), get('Slot/s1'), get('Slot/s1')), limited);
    expect(statuses(body)).toEqual(['200', '200', '429']);
  });
});

describe('as a batch is refused', () => {
  test.each<[unknown, string, string]>([
    [{ resourceType: 'Patient' }, 'http.body', 'The body must be a Bundle.'],
    [
      { resourceType: 'Bundle', type: 'transaction' },
      'Bundle.type',
      "The service accepts only Bundles of type 'batch': it does not support transactions.",
    ],
    [{ ...batchOf(), entry: {} }, 'Bundle.entry', 'Bundle.entry must be a list of at most 1000 entries.'],
    [
      batchOf(...Array.from({ length: 1_001 }, () => 1)),
      'Bundle.entry',
      'Bundle.entry must be a list of at most 1000 entries.',
    ],
  ])('%j', async (bundle, expression, diagnostics) => {
    const { status, body } = await send(bundle);
    expect(status).toBe(400);
    expect(body.issue[0]).toMatchObject({ expression: [expression], diagnostics });
    expect(fake.received).toEqual([]);
  });
});

describe('large answers', () => {
  const photo = 'a'.repeat(300_000);
  const patient = { resourceType: 'Patient', id: 'p1', photo: [{ data: photo }] };
  const limits = { batchBytes: 700_000, responseBytes: 400_000, largeBytes: 100_000, large: 1 };
  let large: FastifyInstance;

  beforeEach(() => {
    large = gatewayTo(fake, limits);
    fake.answer = ({ path, query }) =>
      path.endsWith('/Patient') && query.get('_count') !== '1000'
        ? { body: searchset(fake.url, 'Patient', [patient]) }
        : { body: searchset(fake.url, 'Patient', [patient, patient]) };
  });

  test('a batch whose answers grow too large answers no further entries', async () => {
    const { body } = await send(batchOf(...Array.from({ length: 12 }, () => get('Patient'))), large);
    expect(statuses(body)).toEqual(['200', '200', '200', ...Array.from({ length: 9 }, () => '413')]);
  });

  test('a page that is too large is refused, with advice', async () => {
    const response = await large.inject({ url: '/fhir/R4/Patient?_count=1000', headers: bearer });
    expect(response.statusCode).toBe(413);
    expect(response.json().issue[0].diagnostics).toContain('_count');
  });
});
