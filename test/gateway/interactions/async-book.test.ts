import { describe, expect, test } from '@jest/globals';
import { absentOutcome } from '../../../core/booking/deleted.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { base, bearer, config, fhirJson, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

const task = (more: object) => ({ resourceType: 'Task', id: 't1', status: 'requested', intent: 'order', ...more });
const refused = toOperationOutcome([{ code: 'slot-not-free', diagnostics: 'The slot is taken.' }], config);

/** What is told of a job. */
const told = (diagnostics: string) => ({
  resourceType: 'OperationOutcome',
  issue: [{ severity: 'information', code: 'informational', diagnostics }],
});

describe('asynchronous bookings', () => {
  test.each(['respond-async', 'Respond-Async', 'return=minimal, respond-async; wait=10', 'foo="a, b", respond-async'])(
    'Prefer: %s hands the booking in as a job',
    async (prefer) => {
      fake.answer = () => ({ body: task({}) });
      const payload = { resourceType: 'Appointment' };
      const url = '/fhir/R4/Appointment/$book';
      const answer = await inject({ method: 'POST', url, headers: { ...fhirJson, prefer }, payload });
      expect(answer.statusCode).toBe(202);
      expect(answer.headers).toMatchObject({
        'content-location': `${base}/async/t1`,
        'preference-applied': 'respond-async',
        'retry-after': '1',
      });
      expect(answer.json()).toEqual(told(`The booking was accepted; its result will be at ${base}/async/t1.`));
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
    const answer = await inject({ method: 'POST', url: '/fhir/R4/Appointment/$book', headers, payload });
    expect([answer.statusCode, answer.headers['content-location']]).toEqual([503, undefined]);
  });

  test('what the Bot refuses is no job', async () => {
    fake.answer = () => ({ body: refused });
    const headers = { ...fhirJson, prefer: 'respond-async' };
    const payload = { resourceType: 'Appointment' };
    const answer = await inject({ method: 'POST', url: '/fhir/R4/Appointment/$book', headers, payload });
    expect([answer.statusCode, answer.json()]).toEqual([409, refused]);
  });

  test.each([
    ['runs', task({}), 202],
    ['was refused', task({ status: 'failed', contained: [{ ...refused, id: 'outcome' }] }), 409],
    ['was dropped', task({ status: 'cancelled' }), 404],
    ['cannot be understood', task({ status: 'failed' }), 502],
    ['is something else', { resourceType: 'Task', id: 't1', status: 'draft' }, 404],
    ['is no Task', { resourceType: 'Patient', id: 't1', status: 'requested' }, 404],
    ['has booked, but not what', task({ status: 'completed' }), 404],
    [
      'has booked something else',
      task({ status: 'completed', output: [{ valueReference: { reference: 'Patient/t1' } }] }),
      404,
    ],
  ])('a job that %s', async (_, body, status) => {
    fake.answer = () => ({ body });
    const answer = await inject({ url: '/fhir/R4/async/t1', headers: bearer });
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['retry-after']).toBe(status === 202 ? '1' : undefined);
    expect(fake.received.map(({ path }) => path)).toEqual(['/fhir/R4/Task/t1']);
  });

  test('a job that runs says so', async () => {
    fake.answer = () => ({ body: task({}) });
    const answer = await inject({ url: '/fhir/R4/async/t1', headers: bearer });
    expect([answer.body, answer.headers['x-progress']]).toEqual(['', 'The booking is waiting to be carried out.']);
  });

  test.each([
    ['was refused', [{ ...refused, id: 'outcome' }], { issue: refused.issue }],
    ['cannot be read', [], { issue: [{ diagnostics: 'The result of the booking cannot be read.' }] }],
  ])('a job that %s says why', async (_, contained, expected) => {
    fake.answer = () => ({ body: task({ status: 'failed', contained }) });
    const outcome = (await inject({ url: '/fhir/R4/async/t1', headers: bearer })).json();
    expect([outcome, outcome.id]).toMatchObject([expected, undefined]);
  });

  test.each([403, 404])("a stranger's job (%i at Medplum) is 404", async (status) => {
    fake.answer = () => ({ status, body: { resourceType: 'OperationOutcome', issue: [] } });
    expect((await inject({ url: '/fhir/R4/async/t1', headers: bearer })).statusCode).toBe(404);
  });

  test('a job that Medplum cannot give is 503', async () => {
    fake.answer = () => ({ status: 500, body: task({}) });
    expect((await inject({ url: '/fhir/R4/async/t1', headers: bearer })).statusCode).toBe(503);
  });

  test.each(['GET', 'DELETE'] as const)('%s of what is no id is 404, and Medplum is not asked', async (method) => {
    expect((await inject({ method, url: '/fhir/R4/async/t_1', headers: bearer })).statusCode).toBe(404);
    expect(fake.received).toEqual([]);
  });

  test.each([
    ['cancelled', 'The job was cancelled.'],
    ['completed', 'The job has already finished; what it booked stays booked.'],
  ])('DELETE drops a job unless it has finished: %s', async (status, words) => {
    fake.answer = () => ({ body: task({ status }) });
    const answer = await inject({ method: 'DELETE', url: '/fhir/R4/async/t1', headers: bearer });
    expect([answer.statusCode, answer.json()]).toEqual([202, told(words)]);
    expect(fake.received[0]?.query.get('identifier')).toBe(`${artefactUri(config, 'LocalBot')}|cancel-booking-job`);
    expect(JSON.parse(fake.received[0]?.body ?? '')).toEqual({
      resourceType: 'Parameters',
      parameter: [{ name: 'id', valueId: 't1' }],
    });
  });

  test.each([
    ['refuses', { body: refused }, 409],
    ['does not find the job', { status: 404, body: absentOutcome('unknown', 'job') }, 404],
    ['answers something else', { body: { resourceType: 'Patient' } }, 503],
    ['fails', { status: 500, body: task({ status: 'cancelled' }) }, 503],
  ])('DELETE where the Bot %s', async (_, reply, status) => {
    fake.answer = () => reply;
    const answer = await inject({ method: 'DELETE', url: '/fhir/R4/async/t1', headers: bearer });
    expect(answer.statusCode).toBe(status);
  });
});
