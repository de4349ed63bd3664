import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { codesWhere } from '../../../core/rows/row.ts';
import { aClinic, book, proposed } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { outboxTurnsTo, rowOf, submit, toWebsocket, unsubscribeAll } from '../notifications/fixtures.ts';
import { aRequest, tasksOf } from '../requests/fixtures.ts';

const system = artefactUri(config, 'LocalTask');
const forStaff: readonly string[] = ['affected', 'confirm', 'collision', 'undelivered'];
const ofService = codesWhere(() => true).filter((code) => !forStaff.includes(code));

const desk = (method: string, path: string, body?: unknown, headers = {}) =>
  medplum('front-desk', method, path, { ...(body !== undefined && { body }), headers });

const plain = { resourceType: 'Task', status: 'draft', intent: 'order' };
const coded = (...codes: string[]) => ({ ...plain, code: { coding: codes.map((code) => ({ system, code })) } });

/** The outbox of a Subscription, and the job of an asynchronous booking, which has ended. */
let outbox: Task;
let job: Task;

beforeAll(async () => {
  const subscription = resourceIn('Subscription', await submit(toWebsocket()));
  await outboxTurnsTo('accepted', subscription.id);
  outbox = resourceIn('Task', await medplum('admin', 'GET', `/Task/${(await rowOf(subscription.id))?.task.id}`));
  const { slot, patient } = await aClinic();
  const accepted = await book(proposed(patient, [slot]), 'portal-a', { prefer: 'respond-async' });
  const path = new URL(accepted.headers.get('content-location') ?? '').pathname;
  job = resourceIn('Task', await medplum('admin', 'GET', `/Task/${path.split('/').at(-1)}`));
});
afterAll(unsubscribeAll);

const kept = (): [string, Task][] => [
  ['an outbox', outbox],
  ['a job', job],
];

/** The criteria of an outbox say what its subscriber is told: whoever writes them reads everything. */
const wider = (task: Task): Task => ({ ...task, input: [{ type: { text: 'readable' }, valueString: 'Appointment' }] });

describe('staff and the Tasks in which the service keeps its state', () => {
  it('are read by them', async () => {
    for (const [what, { id, code }] of kept()) {
      const read = await desk('GET', `/Task/${id}`);
      expect({ what, code: resourceIn('Task', read).code }).toEqual({ what, code });
    }
    const found = resourceIn('Bundle', await desk('GET', `/Task?_id=${outbox.id},${job.id}`));
    expect(found.entry).toHaveLength(2);
  });

  it.each<[string, (task: Task) => ReturnType<typeof desk>]>([
    ['PUT', (task) => desk('PUT', `/Task/${task.id}`, wider(task))],
    ['PUT without the code', ({ id }) => desk('PUT', `/Task/${id}`, { ...plain, id })],
    [
      'PATCH',
      ({ id }) =>
        desk('PATCH', `/Task/${id}`, [{ op: 'add', path: '/description', value: 'x' }], {
          'content-type': 'application/json-patch+json',
        }),
    ],
    ['DELETE', ({ id }) => desk('DELETE', `/Task/${id}`)],
  ])('%s: 403, and nothing has changed', async (_, write) => {
    for (const [what, task] of kept()) {
      const { status } = await write(task);
      const after = resourceIn('Task', await medplum('admin', 'GET', `/Task/${task.id}`));
      expect({ what, status, code: after.code }).toEqual({ what, status: 403, code: task.code });
      expect(after.input).toEqual(what === 'an outbox' ? task.input : after.input);
      expect(after.description).not.toBe('x');
    }
  });

  it('a transaction writes none either', async () => {
    const entry = [{ request: { method: 'PUT', url: `Task/${outbox.id}` }, resource: wider(outbox) }];
    const response = await desk('POST', '', { resourceType: 'Bundle', type: 'transaction', entry });
    expect(response.status).toBeGreaterThanOrEqual(400);
    const after = resourceIn('Task', await medplum('admin', 'GET', `/Task/${outbox.id}`));
    expect(after.input).toEqual(outbox.input);
  });

  it.each(ofService)('a Task %s is not made: 403', async (code) => {
    const upper = { ...plain, code: { coding: [{ system: system.toUpperCase(), code }] } };
    for (const body of [coded(code), coded('confirm', code), upper]) {
      const response = await desk('POST', '/Task', body);
      if (response.status === 201) {
        await medplum('admin', 'DELETE', `/Task/${resourceIn('Task', response).id}`);
      }
      expect(response.status).toBe(403);
    }
  });

  it('none of their own becomes one: 403', async () => {
    const own = resourceIn('Task', await desk('POST', '/Task', plain));
    for (const code of ['outboxes', 'publish']) {
      expect((await desk('PUT', `/Task/${own.id}`, { ...coded(code), id: own.id })).status).toBe(403);
    }
    expect((await desk('DELETE', `/Task/${own.id}`)).status).toBe(200);
  });
});

describe('staff and the Tasks that are theirs', () => {
  it('their own: made, changed, deleted', async () => {
    const own = resourceIn('Task', await desk('POST', '/Task', { ...plain, description: 'Call back' }));
    expect((await desk('PUT', `/Task/${own.id}`, { ...own, status: 'completed' })).status).toBe(200);
    expect((await desk('DELETE', `/Task/${own.id}`)).status).toBe(200);
  });

  it('a request that waits for them: taken, set aside, sorted', async () => {
    const { id } = await aRequest(2, 'd');
    const [task] = await tasksOf(id);
    const taken = { ...task, status: 'in-progress', priority: 'asap' };
    expect((await desk('PUT', `/Task/${task?.id}`, taken)).status).toBe(200);
    const confirmed = [{ op: 'replace', path: '/status', value: 'booked' }];
    const headers = { 'content-type': 'application/json-patch+json' };
    expect((await request('front-desk', 'PATCH', `/Appointment/${id}`, { body: confirmed, headers })).status).toBe(200);
    expect((await tasksOf(id)).map(({ status }) => status)).toEqual(['completed']);
  });
});

it('no message of staff passes for a message to the websockets of a subscriber: 403', async () => {
  const id = outbox.focus?.reference?.split('/')[1];
  const forged = {
    resourceType: 'Communication',
    status: 'completed',
    category: [{ coding: [{ system, code: 'message' }] }],
    identifier: [{ system: artefactUri(config, 'LocalEvent'), value: `${id}/last` }],
    payload: [{ contentString: JSON.stringify({ resourceType: 'Bundle', type: 'history' }) }],
  };
  expect((await desk('POST', '/Communication', forged)).status).toBe(403);
  const { identifier: _, ...message } = forged;
  expect((await desk('POST', '/Communication', message)).status).toBe(201);
});
