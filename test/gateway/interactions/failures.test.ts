/** What every way to a Bot or to Medplum has in common when it fails. */
import { describe, expect, test } from '@jest/globals';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { bearer, config, fhirJson, type Reply, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

type Way = readonly [method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, prefer?: string];

const bodies = {
  Appointment: { resourceType: 'Appointment' },
  Subscription: { resourceType: 'Subscription' },
  Patient: { resourceType: 'Patient', id: 'p1' },
  patch: { resourceType: 'Parameters', parameter: [{ name: 'operation' }] },
};

async function go([method, path, prefer]: Way, reply?: Reply) {
  fake.received.length = 0;
  fake.answer = () => reply;
  const [type] = path.split('/');
  const payload =
    bodies[method === 'PATCH' ? 'patch' : type === 'Subscription' || type === 'Patient' ? type : 'Appointment'];
  const isSent = method === 'PUT' || method === 'POST' || method === 'PATCH';
  const headers = { ...(isSent ? fhirJson : bearer), ...(prefer && { prefer }) };
  const response = await inject({ method, url: `/fhir/R4/${path}`, headers, ...(isSent && { payload }) });
  return { status: response.statusCode, body: response.json() };
}

const outcome = (...issue: object[]) => ({ resourceType: 'OperationOutcome', issue });
const refusal = toOperationOutcome([{ code: 'slot-not-free', diagnostics: 'The slot is taken.' }], config);
const own = refusal.issue[0]?.details?.coding?.[0];

describe.each<Way>([
  ['POST', 'Appointment/$book'],
  ['POST', 'Appointment/$book', 'respond-async'],
  ['POST', 'Appointment/$hold'],
  ['PATCH', 'Appointment/a1'],
  ['DELETE', 'async/t1'],
  ['POST', 'Subscription'],
  ['PUT', 'Subscription/u1'],
  ['DELETE', 'Subscription/u1'],
  ['GET', 'Subscription/u1/$status'],
  ['GET', 'Subscription/u1/$events'],
  ['GET', 'Subscription/u1/$get-ws-binding-token'],
])('%s %s', (...way) => {
  test('what the Bot refuses is refused in its words, with the status of its code', async () => {
    for (const status of [200, 400]) {
      expect(await go(way, { status, body: refusal })).toEqual({ status: 409, body: refusal });
    }
  });

  test.each<[Reply, number]>([
    [{ status: 500 }, 503],
    [{ body: { resourceType: 'Basic' } }, 503],
    [{ body: '' }, 503],
    [{ body: '<html>', headers: { 'content-type': 'text/html' } }, 503],
    [{ status: 403 }, 403],
    [{ status: 429 }, 429],
    [{ status: 401 }, 401],
    [{ status: 302 }, 502],
    [{ status: 404, body: outcome({ code: 'not-found' }) }, 403],
    [{ body: outcome() }, 503],
    [{ body: outcome({ code: 'exception' }, ...refusal.issue) }, 503],
    [{ body: outcome({ details: { coding: [{ ...own, system: 'urn:x' }] } }) }, 503],
    [{ body: outcome({ details: { coding: [{ ...own, code: 'toString' }] } }) }, 503],
    [{ body: { resourceType: 'OperationOutcome', issue: 'x' } }, 503],
  ])('the Bot is answered for by %j: %i', async (reply, status) => {
    expect((await go(way, reply)).status).toBe(status);
  });
});

test.each([
  ['not-found', 404],
  ['deleted', 410],
  ['forbidden', 403],
])('what a Bot says is %s is %i, in its words', async (code, expected) => {
  const reply = { body: outcome({ code, diagnostics: 'In its words.' }) };
  const { status, body } = await go(['PATCH', 'Appointment/a1'], reply);
  expect([status, body.issue[0].diagnostics]).toEqual([expected, 'In its words.']);
});

test.each<Way>([
  ['PATCH', 'Appointment/a_1'],
  ['GET', 'async/t_1'],
  ['DELETE', 'async/t_1'],
  ['PUT', 'Subscription/u_1'],
  ['DELETE', 'Subscription/u_1'],
  ['GET', 'Subscription/u_1/$status'],
  ['POST', 'Subscription/u_1/$deliver'],
  ['GET', 'Slot/s_1'],
  ['PUT', 'Patient/p_1'],
])('%s %s, which is no id, is 404, and nobody is asked', async (...way) => {
  expect([(await go(way)).status, fake.received]).toEqual([404, []]);
});

const text = 'secret at http://medplum:8103';

test.each<Way>([
  ['GET', 'Appointment/a1'],
  ['GET', 'Appointment/a1/_history'],
  ['GET', 'Slot?schedule=1'],
  ['GET', 'Slot?schedule.actor:Practitioner.name=x'],
  ['GET', 'Appointment?patient=p1'],
  ['GET', 'StructureDefinition'],
  ['GET', 'StructureDefinition/LocalTermin'],
  ['GET', 'Appointment/a1/_history/v1'],
  ['GET', 'Appointment?patient.active=true'],
  ['GET', 'Appointment?patient.organization.name=x'],
  ['GET', 'CodeSystem?context-type-value=a$b'],
  ['GET', 'Encounter?date=ge2020'],
  ['GET', 'Slot?status=free'],
  ['POST', 'Patient'],
  ['PUT', 'Patient/p1'],
])('%s %s, which Medplum does not answer', async (...way) => {
  for (const [said, status] of [
    [403, 403],
    [429, 429],
    [500, 503],
    [504, 504],
    [302, 502],
  ] as const) {
    const issue = [{ details: { text } }];
    const answer = await go(way, { status: said, body: { resourceType: 'OperationOutcome', issue } });
    expect([way, said, answer.status]).toEqual([way, said, status]);
    expect(JSON.stringify(answer.body)).not.toContain('secret');
  }
  for (const body of [{ resourceType: 'Bot', id: 'a1' }, { resourceType: 'Bundle', entry: {} }, '{']) {
    expect([502, 503]).toContain((await go(way, { body })).status);
  }
});
