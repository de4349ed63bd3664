import { describe, expect, test } from '@jest/globals';
import type { Bundle, Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { withSandbox } from './start.ts';

const client = withSandbox();
const unknownVersion = 'W/"00000000-0000-4000-8000-000000000000"';

async function freeSlot(): Promise<Slot & { id: string; meta: { versionId: string } }> {
  const schedule = await client().create<Schedule>({ resourceType: 'Schedule', actor: [{ display: 'CT' }] });
  return client().create<Slot>({
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${schedule.id}` },
    status: 'free',
    start: '2027-01-01T10:00:00Z',
    end: '2027-01-01T11:00:00Z',
  });
}

async function countOf(family: string): Promise<number | undefined> {
  const { body } = await client().fhir<Bundle>('GET', `Patient?family=${family}&_summary=count`);
  return body.total;
}

function patient(family: string, identifier?: string): Patient {
  return {
    resourceType: 'Patient',
    name: [{ family }],
    ...(identifier && { identifier: [{ system: 'urn:test', value: identifier }] }),
  };
}

const post = (resource: Patient, ifNoneExist?: string) => ({
  request: { method: 'POST' as const, url: 'Patient', ...(ifNoneExist && { ifNoneExist }) },
  resource,
});

describe('transaction', () => {
  test('a failed transaction leaves nothing behind', async () => {
    const slot = await freeSlot();
    const { status, body } = await client().transaction([
      post(patient('Rollback')),
      {
        request: { method: 'PUT', url: `Slot/${slot.id}`, ifMatch: unknownVersion },
        resource: { ...slot, status: 'busy' },
      },
    ]);
    expect(status).toBe(412);
    expect(body.id).toBe('precondition-failed');
    expect(await countOf('Rollback')).toBe(0);
    expect((await client().fhir<Slot>('GET', `Slot/${slot.id}`)).body.meta?.versionId).toBe(slot.meta.versionId);
  });

  test('of 30 simultaneous transactions with ifMatch on one slot one succeeds and 29 get 412', async () => {
    const slot = await freeSlot();
    const entry = [
      post(patient('Race')),
      {
        request: { method: 'PUT' as const, url: `Slot/${slot.id}`, ifMatch: `W/"${slot.meta.versionId}"` },
        resource: { ...slot, status: 'busy' as const },
      },
    ];
    const answers = await Promise.all(Array.from({ length: 30 }, () => client().transaction(structuredClone(entry))));
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array<number>(29).fill(412)]);
    expect(await countOf('Race')).toBe(1);
    const { body } = await client().fhir<Bundle>('GET', `Slot/${slot.id}/_history`);
    expect(body.total).toBe(2);
  });

  test('references to urn:uuid are rewritten to the ids that the server gives', async () => {
    const fullUrl = 'urn:uuid:11111111-1111-4111-8111-111111111111';
    const { status, body } = await client().transaction([
      { fullUrl, ...post(patient('Linked')) },
      {
        request: { method: 'POST', url: 'RelatedPerson' },
        resource: { resourceType: 'RelatedPerson', patient: { reference: fullUrl } },
      },
    ]);
    expect(status).toBe(200);
    const [first, second] = body.entry ?? [];
    expect(first?.response?.status).toBe('201');
    expect(second?.resource).toMatchObject({ patient: { reference: `Patient/${first?.resource?.id}` } });
  });

  test('ifNoneExist under concurrency creates one resource', async () => {
    const entry = [post(patient('Once', 'once'), 'identifier=urn:test|once')];
    const answers = await Promise.all(Array.from({ length: 5 }, () => client().transaction(structuredClone(entry))));
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
    expect(await countOf('Once')).toBe(1);
  });

  test('more than 50 updates, or more than 8 entries with a conditional one, are refused', async () => {
    const updates = Array.from({ length: 51 }, (_, index) => {
      const id = `00000000-0000-4000-8000-0000000000${String(index).padStart(2, '0')}`;
      return { request: { method: 'PUT' as const, url: `Patient/${id}` }, resource: { ...patient('Many'), id } };
    });
    const tooMany = await client().transaction(updates);
    expect(tooMany.status).toBe(400);
    expect(tooMany.body.issue[0]?.details?.text).toBe('Transaction contains more update operations than allowed');
    const conditional = await client().transaction([
      ...Array.from({ length: 8 }, () => post(patient('Many'))),
      post(patient('Many'), 'identifier=urn:test|many'),
    ]);
    expect(conditional.status).toBe(400);
    expect(await countOf('Many')).toBe(0);
  });

  test('FHIRPath Patch inside a transaction is refused, as in Medplum 5.1', async () => {
    const slot = await freeSlot();
    const part = [
      { name: 'type', valueCode: 'replace' },
      { name: 'path', valueString: 'Slot.status' },
      { name: 'value', valueCode: 'busy' },
    ];
    const { status, body } = await client().transaction([
      {
        request: { method: 'PATCH', url: `Slot/${slot.id}` },
        resource: { resourceType: 'Parameters', parameter: [{ name: 'operation', part }] },
      },
    ]);
    expect(status).toBe(400);
    expect(body.issue[0]?.details?.text).toBe('PATCH Parameters missing op');
  });
});

test('the entries of a batch do not depend on each other', async () => {
  const { status, body } = await client().fhir<Bundle>('POST', '', {
    resourceType: 'Bundle',
    type: 'batch',
    entry: [post(patient('Batch')), { request: { method: 'GET', url: 'Patient/unknown' } }],
  });
  expect(status).toBe(200);
  expect(body.entry?.map(({ response }) => response?.status)).toEqual(['201', '404']);
  expect(await countOf('Batch')).toBe(1);
});
