import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import type { buildGateway } from '../../../gateway/server.ts';
import { base, bearer, config, type FakeMedplum, fhirJson, gatewayTo, startFakeMedplum } from '../fake-medplum.ts';

let fake: FakeMedplum;
let gateway: ReturnType<typeof buildGateway>;

beforeAll(async () => {
  fake = await startFakeMedplum();
  gateway = gatewayTo(fake);
});
afterAll(() => Promise.all([gateway.close(), fake.close()]));
beforeEach(() => {
  fake.received.length = 0;
});

const task = (more: object) => ({ resourceType: 'Task', id: 't1', status: 'requested', intent: 'order', ...more });
const refused = toOperationOutcome([{ code: 'slot-not-free', diagnostics: 'The slot is taken.' }], config);

describe('asynchronous bookings', () => {
  test.each(['respond-async', 'Respond-Async', 'return=minimal, respond-async; wait=10', 'foo="a, b", respond-async'])(
    'Prefer: %s hands the booking in as a job',
    async (prefer) => {
      fake.answer = () => ({ body: task({}) });
      const payload = { resourceType: 'Appointment' };
      const url = '/fhir/R4/Appointment/$book';
      const answer = await gateway.inject({ method: 'POST', url, headers: { ...fhirJson, prefer }, payload });
      expect(answer.statusCode).toBe(202);
      expect(answer.headers['content-location']).toBe(`${base}/async/t1`);
      expect(answer.json()).toMatchObject({ resourceType: 'OperationOutcome', issue: [{ severity: 'information' }] });
      expect(fake.received[0]?.query.get('identifier')).toBe(`${artefactUri(config, 'LocalBot')}|enqueue-booking`);
      expect(fake.received[0]?.headers.prefer).toBeUndefined();
    },
  );

  test.each([
    ['an Appointment', { resourceType: 'Appointment', id: 'a1', status: 'pending' }],
    ['a Task without an id', { resourceType: 'Task', status: 'requested' }],
    ['nothing', {}],
  ])('%s instead of a job is not answered with 202', async (_, body) => {
    fake.answer = () => ({ body });
    const headers = { ...fhirJson, prefer: 'respond-async' };
    const payload = { resourceType: 'Appointment' };
    const answer = await gateway.inject({ method: 'POST', url: '/fhir/R4/Appointment/$book', headers, payload });
    expect([answer.statusCode, answer.headers['content-location']]).toEqual([503, undefined]);
  });

  test.each([
    ['runs', task({}), 202],
    ['was refused', task({ status: 'failed', contained: [{ ...refused, id: 'outcome' }] }), 409],
    ['was dropped', task({ status: 'cancelled' }), 404],
    ['cannot be understood', task({ status: 'failed' }), 502],
    ['is something else', { resourceType: 'Task', id: 't1', status: 'draft' }, 404],
  ])('a job that %s', async (_, body, status) => {
    fake.answer = () => ({ body });
    const answer = await gateway.inject({ url: '/fhir/R4/async/t1', headers: bearer });
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['retry-after']).toBe(status === 202 ? '1' : undefined);
  });

  test('a job that has booked gives the Appointment', async () => {
    const appointment = { resourceType: 'Appointment', id: 'a1', status: 'pending', meta: { versionId: 'v1' } };
    const output = [{ type: { text: 'appointment' }, valueReference: { reference: 'Appointment/a1' } }];
    fake.answer = ({ path }) => ({ body: path.includes('Task') ? task({ status: 'completed', output }) : appointment });
    const answer = await gateway.inject({ url: '/fhir/R4/async/t1', headers: bearer });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual(appointment);
  });

  test.each([403, 404])("a stranger's job (%i at Medplum) is 404", async (status) => {
    fake.answer = () => ({ status, body: { resourceType: 'OperationOutcome', issue: [] } });
    expect((await gateway.inject({ url: '/fhir/R4/async/t1', headers: bearer })).statusCode).toBe(404);
  });

  test('DELETE drops a job', async () => {
    fake.answer = () => ({ body: task({ status: 'cancelled' }) });
    const answer = await gateway.inject({ method: 'DELETE', url: '/fhir/R4/async/t1', headers: bearer });
    expect(answer.statusCode).toBe(202);
    expect(JSON.parse(fake.received[0]?.body ?? '')).toEqual({
      resourceType: 'Parameters',
      parameter: [{ name: 'id', valueId: 't1' }],
    });
  });
});
