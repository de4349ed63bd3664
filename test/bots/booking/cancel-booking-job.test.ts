import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/cancel-booking-job.ts';
import { withMedplum } from '../medplum.ts';
import {
  aPortal,
  asks,
  eventOf,
  only,
  overtaken,
  type Portal,
  parameters,
  problems,
  refused,
  tagsOf,
  unavailable,
  writes,
} from './fixtures.ts';

const medplum = withMedplum();

const aJob = (portal: Portal, status: Task['status'] = 'requested') =>
  medplum().create<Task>({
    resourceType: 'Task',
    meta: tagsOf(portal),
    status,
    intent: 'order',
    input: [{ type: { text: 'job' }, valueString: '{}' }],
  });

const cancel = (id: string | undefined, portal: Portal) =>
  handler(
    medplum().medplum,
    eventOf<unknown>(parameters({ name: 'other', valueId: 'x' }, { name: 'id', valueId: id }), portal),
  );

const notFound = {
  id: 'not-found',
  issue: [{ code: 'not-found', diagnostics: 'There is no such job.', severity: 'error' }],
};

describe('a job', () => {
  it('is cancelled, and shown without what was sent', async () => {
    const portal = await aPortal(medplum());
    const job = await aJob(portal);
    const answer = await cancel(job.id, portal);
    expect(answer).toMatchObject({ resourceType: 'Task', id: job.id, status: 'cancelled' });
    expect(JSON.stringify(answer)).not.toContain('input');
    const stored = await medplum().read<Task>(`Task/${job.id}`);
    expect([stored?.status, stored?.input]).toEqual(['cancelled', undefined]);
  });

  it.each(['completed', 'failed', 'cancelled'] as const)('that is %s stays as it is', async (status) => {
    const portal = await aPortal(medplum());
    const job = await aJob(portal, status);
    const answer = await cancel(job.id, portal);
    expect(answer).toMatchObject({ id: job.id, status });
    expect(JSON.stringify(answer)).not.toContain('input');
  });

  it('of another portal is unknown, and stays', async () => {
    const job = await aJob(await aPortal(medplum()));
    expect(await cancel(job.id, await aPortal(medplum()))).toMatchObject(notFound);
    expect(await medplum().read(`Task/${job.id}`)).toMatchObject({ status: 'requested' });
  });

  it('that somebody ends meanwhile is shown as it is then', async () => {
    const portal = await aPortal(medplum());
    const job = await aJob(portal);
    medplum().interfere(
      only(writes, async () => {
        await medplum().change<Task>(job, { status: 'completed' });
        return undefined;
      }),
    );
    expect(await cancel(job.id, portal)).toMatchObject({ status: 'completed' });
  });

  it('that is deleted meanwhile is unknown', async () => {
    const portal = await aPortal(medplum());
    const job = await aJob(portal);
    medplum().interfere(
      only(writes, async () => {
        await medplum().fhir('DELETE', `Task/${job.id}`);
        return overtaken();
      }),
    );
    expect(await cancel(job.id, portal)).toMatchObject(notFound);
  });

  it.each([
    ['refused', refused],
    [
      'answered without the Task',
      () => ({ status: 200, body: { resourceType: 'Bundle', type: 'transaction-response' } }),
    ],
    [
      'answered with nothing',
      () => ({ status: 200, body: { resourceType: 'Bundle', type: 'transaction-response', entry: [] } }),
    ],
  ])('whose end is %s is tried again', async (_, answer) => {
    const portal = await aPortal(medplum());
    const job = await aJob(portal);
    medplum().interfere(only(writes, answer));
    expect(await cancel(job.id, portal)).toMatchObject({ id: job.id, status: 'cancelled' });
  });

  it('that cannot be read is an error', async () => {
    const portal = await aPortal(medplum());
    const job = await aJob(portal);
    medplum().interfere((asked) => (asks(/Task/)(asked) ? unavailable() : undefined));
    await expect(cancel(job.id, portal)).rejects.toThrow('could not be read');
  });
});

it.each<[string, unknown]>([
  ['nothing', undefined],
  ['no Parameters', { resourceType: 'Task', parameter: [{ name: 'id', valueId: 'a' }] }],
  ['no list', { resourceType: 'Parameters', parameter: { name: 'id', valueId: 'a' } }],
  ['no id', { resourceType: 'Parameters', parameter: [null, 'id', { name: 'other', valueId: 'a' }] }],
  ['an id that is none', { resourceType: 'Parameters', parameter: [{ name: 'id', valueId: 'a b' }] }],
  ['an id of another type', { resourceType: 'Parameters', parameter: [{ name: 'id', valueId: 5 }] }],
])('an input with %s names no job', async (_, input) => {
  const answer = await handler(medplum().medplum, eventOf(input, { id: 'portal', authorization: '' }));
  expect(answer).toMatchObject(notFound);
  expect(problems(answer)).toEqual(['not-found']);
});
