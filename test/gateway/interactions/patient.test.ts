import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyInstance } from 'fastify';
import { artefactUri } from '../../../core/config/config.ts';
import { base, config, type FakeMedplum, fhirJson, gatewayTo, type Reply, startFakeMedplum } from '../fake-medplum.ts';

let fake: FakeMedplum;
let gateway: FastifyInstance;
let verify: FakeMedplum['verify'];
let clock = 0;
const tagSystem = artefactUri(config, 'LocalRequestor');
const own = { system: tagSystem, code: 'portal-a-id' };
const external = { system: config.metaTagSystem, code: 'external' };

beforeAll(async () => {
  fake = await startFakeMedplum();
  verify = fake.verify;
});
afterAll(() => fake.close());
beforeEach(async () => {
  await gateway?.close();
  gateway = gatewayTo(fake, {}, { now: () => clock });
  fake.received.length = 0;
  fake.verified.length = 0;
  fake.verify = verify;
  respond({ status: 201, body: { resourceType: 'Patient', id: 'p1', meta: { versionId: 'v1' } } });
});
afterAll(() => gateway.close());

function respond(reply: Reply): void {
  fake.answer = ({ path }) => (path.startsWith('/fhir/R4/Patient') ? reply : undefined);
}
const create = (patient: object, headers = {}) =>
  gateway.inject({ method: 'POST', url: '/fhir/R4/Patient', headers: { ...fhirJson, ...headers }, payload: patient });
const update = (patient: object, headers = {}) =>
  gateway.inject({ method: 'PUT', url: '/fhir/R4/Patient/p1', headers: { ...fhirJson, ...headers }, payload: patient });
const stored = () => JSON.parse(fake.received.find(({ method }) => method !== 'GET')?.body ?? '{}');

describe('POST /Patient', () => {
  test('201 with Location and ETag; stored with the tags external and of the requestor', async () => {
    const answer = await create({ resourceType: 'Patient', name: [{ family: 'M' }] });
    expect(answer.statusCode).toBe(201);
    expect(answer.headers).toMatchObject({ location: `${base}/Patient/p1`, etag: 'W/"v1"' });
    expect(stored().meta.tag).toEqual([external, own]);
  });

  test("another requestor's tag and accounts are dropped", async () => {
    const meta = {
      tag: [
        { system: tagSystem, code: 'portal-b-id' },
        { system: 's', code: 'c' },
      ],
      account: { reference: 'Organization/1' },
    };
    await create({ resourceType: 'Patient', meta });
    expect(stored().meta).toEqual({ tag: [{ system: 's', code: 'c' }, external, own] });
  });

  test('a patient from staff is not tagged, also from a client of theirs', async () => {
    fake.verify = () => ({ body: { profile: { resourceType: 'Practitioner', id: 'x' } } });
    await create({ resourceType: 'Patient' });
    expect(stored().meta).toBeUndefined();
  });

  test('who calls is asked once a minute and token', async () => {
    const asked = () => fake.verified.length;
    await create({ resourceType: 'Patient' });
    await create({ resourceType: 'Patient' });
    expect(asked()).toBe(1);
    await create({ resourceType: 'Patient' }, { authorization: 'Bearer portal-b' });
    expect(asked()).toBe(2);
    clock += 60_001;
    await create({ resourceType: 'Patient' });
    expect(asked()).toBe(3);
  });

  test('a token that is not known writes nothing: 401', async () => {
    fake.verify = () => ({ status: 401 });
    expect((await create({ resourceType: 'Patient' })).statusCode).toBe(401);
    expect(fake.verified).toHaveLength(1);
    expect(fake.received).toEqual([]);
  });

  test.each([
    ['minimal', ''],
    ['representation', 'Patient'],
    ['OperationOutcome', 'OperationOutcome'],
  ])('Prefer: return=%s', async (preference, resourceType) => {
    const answer = await create({ resourceType: 'Patient' }, { prefer: `return=${preference}` });
    expect(answer.statusCode).toBe(201);
    expect(answer.headers).toMatchObject({
      location: `${base}/Patient/p1`,
      'preference-applied': `return=${preference}`,
    });
    expect(answer.body === '' ? '' : answer.json().resourceType).toBe(resourceType);
    expect(fake.received.every(({ headers }) => headers.prefer === undefined)).toBe(true);
  });

  test('another resource is 400', async () => {
    const answer = await create({ resourceType: 'Bot' });
    expect(answer.statusCode).toBe(400);
    expect(fake.received).toEqual([]);
  });

  test('If-None-Exist is checked like a search', async () => {
    await create({ resourceType: 'Patient' }, { 'if-none-exist': 'identifier=s|1' });
    expect(fake.received[0]?.headers['if-none-exist']).toBe('identifier=s%7C1');
    const answer = await create({ resourceType: 'Patient' }, { 'if-none-exist': '_has:AuditEvent:patient:x=1' });
    expect(answer.statusCode).toBe(400);
  });
});

describe('PUT /Patient/{id}', () => {
  const patient = { resourceType: 'Patient', id: 'p1' };
  const others = { system: tagSystem, code: 'portal-b-id' };
  const onceStored = (tag: object[]): Reply => ({ body: { ...patient, meta: { versionId: 'v1', tag } } });
  const respondToPut = (reply: Reply, before: Reply = onceStored([external, own])) => {
    fake.answer = ({ method }) => (method === 'PUT' ? reply : before);
  };
  const updated: Reply = { body: { ...patient, meta: { versionId: 'v2' } } };
  beforeEach(() => respondToPut(updated));

  test('200 with ETag, without Location', async () => {
    const answer = await update(patient);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers.etag).toBe('W/"v2"');
    expect(answer.headers.location).toBeUndefined();
  });

  test.each<[string, object[], object[], object[]]>([
    ['stay when nothing is sent', [external, own], [], [external, own]],
    ['cannot be taken over', [external, own], [others], [external, own]],
    ['stay when staff update', [external, others], [], [external, others]],
    ['cannot be claimed', [], [external, own], []],
    ['do not keep other tags away', [own], [{ system: 's', code: 'c' }], [{ system: 's', code: 'c' }, own]],
  ])('the tags of ownership %s', async (_name, before, sent, after) => {
    respondToPut(updated, onceStored(before));
    await update({ ...patient, meta: sent.length > 0 ? { tag: sent } : {} });
    expect(stored().meta.tag ?? []).toEqual(after);
  });

  test('If-Match goes to Medplum; not the current version: 412 version-conflict', async () => {
    respondToPut({ status: 412, body: { resourceType: 'OperationOutcome', id: 'precondition-failed', issue: [] } });
    const answer = await update(patient, { 'if-match': 'W/"v1"' });
    expect(fake.received[1]?.headers['if-match']).toBe('W/"v1"');
    expect(answer.statusCode).toBe(412);
    expect(answer.json().issue[0].details.coding[0].code).toBe('version-conflict');
  });

  test('an If-Match that Medplum would pass over is 400', async () => {
    expect((await update(patient, { 'if-match': 'v1' })).statusCode).toBe(400);
    expect(fake.received).toEqual([]);
  });

  test('an unknown patient is 404', async () => {
    respond({ status: 404 });
    expect((await update(patient)).statusCode).toBe(404);
  });

  test('the id must be that of the address', async () => {
    const answer = await update({ resourceType: 'Patient', id: 'p2' });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().issue[0].expression).toEqual(['Patient.id']);
    expect(fake.received).toEqual([]);
  });
});
