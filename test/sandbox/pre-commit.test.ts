import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Bundle, Subscription, Task } from '@medplum/fhirtypes';
import { withSandbox } from './start.ts';

const client = withSandbox();

const code = `exports.handler = async (medplum, event) => {
  const task = event.input;
  const isDeletion = Boolean(event.headers['X-Medplum-Deleted-Resource']);
  const refusal = (id) => ({ resourceType: 'OperationOutcome', id, issue: [{ severity: 'error', code: 'business-rule' }] });
  if (task.description === 'throw') throw new Error('refused');
  if (task.description === 'refuse') return refusal('business-rule');
  if (task.description === 'refuse without id') return refusal(undefined);
  if (task.description === 'keep' && isDeletion) return refusal('conflict');
  if (task.description === 'author') return { ...task, description: task.meta.author.reference };
  return true;
};`;

function task(description: string): Task {
  return { resourceType: 'Task', status: 'requested', intent: 'order', description };
}

async function subscribe(bot: string): Promise<void> {
  await client().create<Subscription>({
    resourceType: 'Subscription',
    status: 'active',
    reason: 'test',
    criteria: 'Task',
    channel: { type: 'rest-hook', endpoint: `Bot/${bot}` },
    extension: [{ url: 'https://medplum.com/fhir/StructureDefinition/pre-commit-bot', valueBoolean: true }],
  });
}

beforeAll(async () => {
  await subscribe(await client().bot(code));
  await subscribe(await client().bot('exports.handler = async () => { throw new Error("second"); };'));
});

describe('a pre-commit Bot', () => {
  test.each([
    ['throw', 400],
    ['refuse', 422],
    ['refuse without id', 400],
  ])('refuses a creation: %s', async (description, status) => {
    expect((await client().fhir('POST', 'Task', task(description))).status).toBe(status);
    const { body } = await client().fhir<Bundle>('GET', 'Task?_count=100');
    expect(JSON.stringify(body)).not.toContain(`"${description}"`);
  });

  test('is the only one that is asked, and may rewrite what is stored', async () => {
    const { status, body } = await client().fhir<Task>('POST', 'Task', task('author'));
    expect([status, body.description]).toEqual([201, `ClientApplication/${client().sandbox.clientId}`]);
  });

  test('refuses PUT and PATCH, and a transaction with nothing left behind', async () => {
    const { body: stored } = await client().fhir<Task>('POST', 'Task', task('plain'));
    const path = `Task/${stored.id}`;
    expect((await client().fhir('PUT', path, { ...stored, description: 'refuse' })).status).toBe(422);
    const patch = [{ op: 'replace', path: '/description', value: 'refuse' }];
    expect((await client().fhir('PATCH', path, patch)).status).toBe(422);
    const { status } = await client().transaction([
      { request: { method: 'POST', url: 'Patient' }, resource: { resourceType: 'Patient' } },
      { request: { method: 'PUT', url: path }, resource: { ...stored, description: 'refuse' } },
    ]);
    expect(status).toBe(422);
    expect((await client().fhir<Bundle>('GET', 'Patient?_summary=count')).body.total).toBe(0);
    expect((await client().fhir<Task>('GET', path)).body.meta?.versionId).toBe(stored.meta?.versionId);
  });

  test('refuses a deletion', async () => {
    const { body } = await client().fhir<Task>('POST', 'Task', task('keep'));
    expect((await client().fhir('DELETE', `Task/${body.id}`)).status).toBe(409);
    expect((await client().fhir('GET', `Task/${body.id}`)).status).toBe(200);
  });
});
