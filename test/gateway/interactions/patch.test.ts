import { beforeEach, describe, expect, test } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { type Issue, toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { bearer, config, fhirJson, type Reply, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

beforeEach(() => {
  respond({ body: cancelled });
});

const cancelled = { resourceType: 'Appointment', id: 'a1', status: 'cancelled', meta: { versionId: 'v2' } };
const fhirPath = { resourceType: 'Parameters', parameter: [{ name: 'operation' }] };
const jsonPatch = [{ op: 'replace', path: '/status', value: 'cancelled' }];
const respond = (reply: Reply) => {
  fake.answer = () => reply;
};
const patch = (payload: object | string = fhirPath, headers: Readonly<Record<string, string>> = fhirJson) =>
  inject({ method: 'PATCH', url: '/fhir/R4/Appointment/a1', headers, payload });
const json = { ...bearer, 'content-type': 'application/json-patch+json' };

describe('PATCH /Appointment/{id}', () => {
  test.each([
    [fhirPath, fhirJson, { name: 'patch', resource: fhirPath }],
    [jsonPatch, json, { name: 'patch', valueString: JSON.stringify(jsonPatch) }],
  ] as const)('hands the patch to the Bot with the id, the version and the token', async (payload, headers, sent) => {
    const answer = await patch(payload, { ...headers, 'if-match': 'W/"v1"', prefer: 'return=representation' });
    const [call] = fake.received;
    expect(call?.query.get('identifier')).toBe(`${artefactUri(config, 'LocalBot')}|patch`);
    expect(call?.headers.authorization).toBe('Bearer portal-a');
    expect(JSON.parse(call?.body ?? '')).toEqual({
      resourceType: 'Parameters',
      parameter: [{ name: 'id', valueId: 'a1' }, { name: 'ifMatch', valueString: 'v1' }, sent],
    });
    expect([answer.statusCode, answer.json(), answer.headers.etag]).toEqual([200, cancelled, 'W/"v2"']);
  });

  const issue = (code: Issue['code']): Issue => ({ code, diagnostics: 'What was sent and what is allowed.' });

  test.each([
    ['immutable-element', 400],
    ['profile-violation', 400],
    ['patient-inactive', 422],
    ['version-conflict', 412],
    ['upstream-unavailable', 503],
  ] as const)('%s: %i with the outcome of the Bot', async (code, status) => {
    respond({ status: 400, body: toOperationOutcome([issue(code)], config, 'patch') });
    const answer = await patch();
    expect([answer.statusCode, answer.json().issue[0].details.coding[0].code]).toEqual([status, code]);
  });

  test.each([
    ['not-found', 404],
    ['deleted', 410],
  ])('the Bot says %s: %i', async (code, status) => {
    const outcome = {
      resourceType: 'OperationOutcome',
      issue: [{ code, diagnostics: 'There is no such appointment.' }],
    };
    respond({ status, body: outcome });
    expect((await patch()).statusCode).toBe(status);
  });

  test('of no id is 404, and no Bot is called', async () => {
    const answer = await inject({
      method: 'PATCH',
      url: '/fhir/R4/Appointment/a_1',
      headers: fhirJson,
      payload: fhirPath,
    });
    expect([answer.statusCode, fake.received]).toEqual([404, []]);
  });

  test('the answer is as the client prefers', async () => {
    const answer = await patch(fhirPath, { ...fhirJson, prefer: 'return=minimal' });
    expect([answer.statusCode, answer.body, answer.headers.etag]).toEqual([200, '', 'W/"v2"']);
  });

  test('without If-Match no version is asked for', async () => {
    await patch();
    expect(JSON.parse(fake.received[0]?.body ?? '').parameter.map(({ name }: { name: string }) => name)).toEqual([
      'id',
      'patch',
    ]);
  });

  test.each([
    ['another resource', { body: { resourceType: 'Patient', id: 'a1' } }],
    ['nothing', { body: '' }],
    ['an error of its own', { status: 500 }],
  ])('a Bot that answers %s has failed: 503', async (_, reply) => {
    respond(reply);
    expect((await patch()).statusCode).toBe(503);
  });

  test("Medplum's own 404, because the caller may not call the Bot: 403", async () => {
    respond({
      status: 404,
      body: {
        resourceType: 'OperationOutcome',
        id: 'not-found',
        issue: [{ code: 'not-found', details: { text: 'x' } }],
      },
    });
    expect((await patch()).statusCode).toBe(403);
  });

  test.each([
    ['no patch', { resourceType: 'Appointment' }, fhirJson, 400],
    ['a list as FHIR', jsonPatch, fhirJson, 400],
    ['Parameters as JSON Patch', fhirPath, json, 400],
    ['another kind of patch', {}, { ...bearer, 'content-type': 'application/merge-patch+json' }, 415],
    ['another charset', jsonPatch, { ...bearer, 'content-type': 'application/json-patch+json; charset=latin1' }, 415],
    ['300 KB', [{ op: 'add', path: '/comment', value: 'x'.repeat(300_000) }], json, 413],
    ['an unquoted If-Match', fhirPath, { ...fhirJson, 'if-match': 'v1' }, 400],
  ] as const)('%s is refused before any Bot is called', async (_, payload, headers, status) => {
    const answer = await patch(payload, headers);
    expect([answer.statusCode, answer.json().resourceType]).toEqual([status, 'OperationOutcome']);
    expect(fake.received).toEqual([]);
  });
});
