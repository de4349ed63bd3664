import { type Sandbox, startSandbox } from '@appointment-booking/sandbox';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { MedplumClient } from '@medplum/core';
import type { Appointment, Slot, Task } from '@medplum/fhirtypes';
import { quotaRow } from '../../core/booking/policy/quota.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { clear } from '../../scripts/retention.ts';
import { config } from './installation.ts';

let sandbox: Sandbox;
let medplum: MedplumClient;
const DAY = 24 * 60 * 60_000;

beforeAll(async () => {
  sandbox = await startSandbox();
  medplum = new MedplumClient({ baseUrl: sandbox.baseUrl, cacheTime: 0, maxRetries: 0 });
  await medplum.startClientLogin(sandbox.clientId, sandbox.clientSecret);
});
afterAll(() => sandbox.close());

/** Clears what was last changed before a moment, by default tomorrow: everything. */
async function run(options: { cutoff?: number; dryRun?: boolean; client?: MedplumClient } = {}) {
  const { cutoff = Date.now() + DAY, dryRun = false, client = medplum } = options;
  const counts: Record<string, number> = {};
  await clear({
    medplum: client,
    config,
    cutoff,
    dryRun,
    onProgress: (kind, count) => {
      counts[kind] = (counts[kind] ?? 0) + count;
    },
  });
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

beforeEach(async () => {
  await run();
});

const job = (status: Task['status']): Promise<Task & { id: string }> =>
  medplum.createResource<Task>({
    resourceType: 'Task',
    status,
    intent: 'order',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'book' }] },
    input: [{ type: { text: 'job' }, valueString: '{"body":"Anna Meyer"}' }],
  });

const slot = (fields: Partial<Slot>): Promise<Slot & { id: string }> =>
  medplum.createResource<Slot>({
    resourceType: 'Slot',
    schedule: { reference: 'Schedule/1' },
    identifier: [{ system: artefactUri(config, 'LocalSlotOrigin'), value: 'origin' }],
    status: 'entered-in-error',
    start: '2020-01-01T10:00:00Z',
    end: '2020-01-01T10:30:00Z',
    ...fields,
  });

const ids = async (type: 'Task' | 'Slot'): Promise<string[]> =>
  (await medplum.searchResources(type, { _count: 1000 }, { cache: 'no-store' })).map(({ id }) => id).sort();

const idsOf = (resources: readonly { readonly id: string }[]): string[] => resources.map(({ id }) => id).sort();

test('bookings that have ended are removed with what was sent, in all versions; those that wait are not', async () => {
  const waiting = [await job('requested'), await job('in-progress')];
  const ended = await job('requested');
  await medplum.updateResource({ ...ended, status: 'completed' });
  await Promise.all([job('failed'), job('cancelled')]);
  expect(await run()).toEqual({ jobs: 3 });
  expect(await ids('Task')).toEqual(idsOf(waiting));
  await expect(medplum.readHistory('Task', ended.id)).rejects.toThrow('Not found');
  await Promise.all(waiting.map(({ id }) => medplum.deleteResource('Task', id)));
});

test('counters of appointments that were long not used are removed, others stay', async () => {
  const row = await medplum.createResource(quotaRow({ row: 'portal/Patient/1' }, config));
  expect(await run({ cutoff: Date.now() - DAY })).toEqual({});
  expect(await ids('Task')).toContain(row.id);
  expect(await run()).toEqual({ quotas: 1 });
  await expect(medplum.readHistory('Task', row.id)).rejects.toThrow('Not found');
});

test('what was changed after the given moment stays, and a dry run removes nothing', async () => {
  const { id } = await job('completed');
  expect(await run({ cutoff: Date.now() - DAY })).toEqual({});
  expect(await run({ dryRun: true })).toEqual({ jobs: 1 });
  expect(await ids('Task')).toContain(id);
});

test('more than a page is removed, no matter what stays in between', async () => {
  await Promise.all(Array.from({ length: 230 }, (_, index) => job(index % 10 === 0 ? 'requested' : 'completed')));
  expect(await run()).toEqual({ jobs: 207 });
  const left = await medplum.searchResources('Task', { _count: 1000, status: 'requested' });
  expect(left).toHaveLength(23);
  await Promise.all(left.map(({ id }) => medplum.deleteResource('Task', id)));
});

test('absorbed slots in the past are removed, unless an appointment refers to them, or they are not ours', async () => {
  const kept = [
    await slot({}),
    await slot({ status: 'free' }),
    await slot({ status: 'busy' }),
    await slot({ start: '2099-01-01T10:00:00Z', end: '2099-01-01T10:30:00Z' }),
    await slot({ identifier: [{ system: 'urn:clinic', value: 'mistake' }] }),
  ];
  await medplum.createResource<Appointment>({
    resourceType: 'Appointment',
    status: 'cancelled',
    slot: [{ reference: `Slot/${kept[0]?.id}` }],
    participant: [{ actor: { display: 'Anna Meyer' }, status: 'declined' }],
  });
  await slot({});
  expect(await run()).toEqual({ slots: 1 });
  expect(await ids('Slot')).toEqual(idsOf(kept));
});

test('past published slots that nobody has booked are cleared; blocked ones, and what was made by hand, stay', async () => {
  const published = (status: Slot['status'], value: string, fields: Partial<Slot> = {}) =>
    slot({ status, identifier: [{ system: artefactUri(config, 'LocalPublishedSlot'), value }], ...fields });
  const key = (start: string): string => `bookable/1/visit/${start}/1`;
  const kept = [
    await published('busy-unavailable', key('2020-01-01T10:00:00Z')),
    await published('busy', key('2020-01-01T10:30:00Z')),
    await published('free', key('2999-01-01T10:00:00Z'), {
      start: '2999-01-01T10:00:00Z',
      end: '2999-01-01T10:30:00Z',
    }),
    await slot({ status: 'free', identifier: undefined }),
  ];
  const booked = await published('free', key('2020-01-01T11:00:00Z'));
  await medplum.createResource<Appointment>({
    resourceType: 'Appointment',
    status: 'cancelled',
    slot: [{ reference: `Slot/${booked.id}` }],
    participant: [{ actor: { display: 'Kim' }, status: 'accepted' }],
  });
  await published('free', key('2020-01-01T12:00:00Z'));
  await published('entered-in-error', key('2020-01-01T12:30:00Z'));
  await published('busy-unavailable', 'closed/1/2020-01-01T00:00:00Z/2020-01-02T00:00:00Z');
  expect(await run()).toEqual({ published: 3 });
  const left = await medplum.searchResources('Slot', { _count: 1000 });
  expect(left.map(({ id }) => id)).toEqual(expect.arrayContaining([...kept, booked].map(({ id }) => id)));
});
