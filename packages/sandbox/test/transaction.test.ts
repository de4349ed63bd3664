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
    const responses = await Promise.all(Array.from({ length: 30 }, () => client().transaction(structuredClone(entry))));
    const statuses = responses.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, ...Array<number>(29).fill(412)]);
    expect(await countOf('Race')).toBe(1);
    const { body } = await client().fhir<Bundle>('GET', `Slot/${slot.id}/_history`);
    expect(body.total).toBe(2);
  });

  test('ifNoneExist under concurrency creates one resource', async () => {
    const entry = [post(patient('Once', 'once'), 'identifier=urn:test|once')];
    const responses = await Promise.all(Array.from({ length: 5 }, () => client().transaction(structuredClone(entry))));
    expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    expect(responses.every(({ status }) => status === 200 || status === 409)).toBe(true);
    expect(await countOf('Once')).toBe(1);
  });
});
