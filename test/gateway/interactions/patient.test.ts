import { beforeEach, describe, expect, test } from '@jest/globals';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { knownPatient } from '../../profiles/isik.ts';
import { base, config, fhirJson, gatewayTo, type Reply, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();
const { verify } = fake;
const tagSystem = artefactUri(config, 'LocalRequestor');
const own = { system: tagSystem, code: 'portal-a-id' };
const external = { system: config.metaTagSystem, code: 'external' };

beforeEach(() => {
  fake.verify = verify;
  respond({ status: 201, body: { resourceType: 'Patient', id: 'p1', meta: { versionId: 'v1' } } });
});
function respond(reply: Reply): void {
  fake.answer = ({ path }) => (path.startsWith('/fhir/R4/Patient') ? reply : undefined);
}
const create = (patient: object, headers = {}) =>
  inject({ method: 'POST', url: '/fhir/R4/Patient', headers: { ...fhirJson, ...headers }, payload: patient });
const update = (patient: object, headers = {}) =>
  inject({ method: 'PUT', url: '/fhir/R4/Patient/p1', headers: { ...fhirJson, ...headers }, payload: patient });
const stored = () => JSON.parse(fake.received.find(({ method }) => method !== 'GET')?.body ?? '{}');

describe('POST /Patient', () => {
  test.each([
    ['?identifier=s|1', 'identifier=s%7C1'],
    ['identifier=s|1&_count=5&_sort=_id', 'identifier=s%7C1'],
    ['identifier=s|1&family=M', 'identifier=s%7C1&family=M'],
    ['_count=5', ''],
  ])('If-None-Exist %s asks Medplum for %j', async (sent, expected) => {
    await create({ resourceType: 'Patient' }, { 'if-none-exist': sent });
    expect(fake.received[0]?.headers['if-none-exist']).toBe(expected);
  });

  test('If-None-Exist is strict, and about the patient itself', async () => {
    const unknown = await create(
      { resourceType: 'Patient' },
      { 'if-none-exist': 'colour=red', prefer: 'handling=lenient' },
    );
    expect([unknown.statusCode, unknown.json().issue[0].expression]).toEqual([400, ['http.colour']]);
    const chained = await create(
      { resourceType: 'Patient' },
      { 'if-none-exist': 'family=M&general-practitioner:Practitioner.name=x' },
    );
    expect([chained.statusCode, chained.json().issue]).toMatchObject([
      400,
      [
        {
          expression: ['http.general-practitioner:Practitioner.name'],
          diagnostics:
            "If-None-Exist supports conditions on the patient itself only, not 'general-practitioner:Practitioner.name'.",
        },
      ],
    ]);
    expect(fake.received).toEqual([]);
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

  test('does not undo what the clinic has merged meanwhile, and gives way to others who change it all the time', async () => {
    const merged = {
      ...patient,
      meta: { versionId: 'v2' },
      link: [{ type: 'replaced-by', other: { reference: 'Patient/q' } }],
    };
    fake.answer = ({ method, headers }) => {
      const isMerged = fake.received.length > 1;
      return method === 'GET'
        ? { body: isMerged ? merged : onceStored([own]).body }
        : { status: headers['if-match'] === 'W/"v1"' ? 412 : 200, body: updated.body };
    };
    expect((await update(patient, { authorization: 'Bearer portal-b' })).statusCode).toBe(422);
    respondToPut({ status: 412 });
    expect((await update(patient)).statusCode).toBe(409);
  });

  test.each([
    ['an unknown patient', { status: 404 }, 404],
    ['one that the caller may not see', { status: 403 }, 403],
    ['one that Medplum gives as something else', { body: { resourceType: 'Bot', id: 'p1' } }, 502],
  ])('%s is not written', async (_, before, status) => {
    respondToPut(updated, before);
    expect((await update(patient)).statusCode).toBe(status);
    expect(fake.received.map(({ method, path }) => [method, path])).toEqual([['GET', '/fhir/R4/Patient/p1']]);
  });
});

describe("the claim to conform to a publisher's profile", () => {
  const isik = resolveConfig({ preset: 'isik3', baseUrl: base });
  const profile = [artefactUri(isik, 'LocalPatient'), 'urn:other'];
  const provisional = { resourceType: 'Patient', id: 'p1', meta: { profile }, name: [{ family: 'M' }] };
  const known = { ...provisional, ...knownPatient };

  test.each([
    ['a requestor', () => ({ body: { profile: { resourceType: 'ClientApplication', id: 'portal-a-id' } } })],
    ['staff', () => ({ body: { profile: { resourceType: 'Practitioner', id: 'x' } } })],
  ])('is kept if it is true, and dropped if it is false, whether created or replaced, from %s', async (_, who) => {
    fake.verify = who;
    const portal = gatewayTo(fake, {}, { config: isik });
    const claims: unknown[] = [];
    for (const [method, url] of [
      ['POST', '/fhir/R4/Patient'],
      ['PUT', '/fhir/R4/Patient/p1'],
    ] as const) {
      for (const payload of [provisional, known]) {
        fake.received.length = 0;
        await portal.inject({ method, url, headers: fhirJson, payload });
        claims.push(stored().meta.profile);
      }
    }
    expect(claims).toEqual([['urn:other'], profile, ['urn:other'], profile]);
  });
});
