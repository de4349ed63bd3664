import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '@appointment-booking/sandbox';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Bundle, Patient, Slot, Subscription } from '@medplum/fhirtypes';
import { atEnd } from '../../../../test/lib/at-end.ts';
import { freePort } from '../../../../test/lib/free-port.ts';
import { serviceOf } from '../../../../test/lib/service.ts';
import { until } from '../../../../test/lib/until.ts';
import { clientOf } from '../start.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
});

afterEach(() => rm(folder, { recursive: true }));

/** Starts a sandbox as a process of its own, which can be killed. */
async function startProcess(): Promise<{ kill: () => Promise<void>; baseUrl: string }> {
  const port = await freePort();
  const settings = { MEDPLUM_PORT: String(port), SANDBOX_DATA: folder, NODE_OPTIONS: '' };
  const service = serviceOf('packages/sandbox/main.ts', settings, 'Embedded Medplum: ');
  atEnd(service.end);
  await service.start();
  return { kill: service.kill, baseUrl: `http://localhost:${port}/` };
}

test('everything is there again after a restart, the administrator included', async () => {
  const first = await startSandbox({ dataFolder: folder });
  const created = await clientOf(first).create<Patient>({ resourceType: 'Patient', active: true });
  await clientOf(first).fhir('PUT', `Patient/${created.id}`, { ...created, active: false });
  await first.close();
  const second = await startSandbox({ dataFolder: folder });
  expect([second.clientId, second.clientSecret]).toEqual([first.clientId, first.clientSecret]);
  const { body } = await clientOf(second).fhir<Bundle>('GET', `Patient/${created.id}/_history`);
  expect(body.total).toBe(2);
  await second.close();
});

test('what was expunged stays away after a restart', async () => {
  const first = await startSandbox({ dataFolder: folder });
  const { id } = await clientOf(first).create<Patient>({ resourceType: 'Patient' });
  expect((await clientOf(first).fhir('POST', `Patient/${id}/$expunge`, {})).status).toBe(200);
  await first.close();
  const second = await startSandbox({ dataFolder: folder });
  expect((await clientOf(second).fhir('GET', `Patient/${id}/_history`)).status).toBe(404);
  await second.close();
});

test('a last line that was not written to its end is dropped', async () => {
  const first = await startSandbox({ dataFolder: folder });
  const { id } = await clientOf(first).create<Patient>({ resourceType: 'Patient' });
  await first.close();
  await appendFile(join(folder, 'journal.jsonl'), '{"writes":[{"type":"Patient","id":"to');
  const second = await startSandbox({ dataFolder: folder });
  await clientOf(second).create<Patient>({ resourceType: 'Patient' });
  await second.close();
  const third = await startSandbox({ dataFolder: folder });
  expect((await clientOf(third).fhir('GET', `Patient/${id}`)).status).toBe(200);
  expect((await clientOf(third).fhir<Bundle>('GET', 'Patient?_summary=count')).body.total).toBe(2);
  await third.close();
});

test('killed in the middle of many transactions, it has kept all that it answered, and none by half', async () => {
  const { kill, baseUrl } = await startProcess();
  const client = clientOf({ baseUrl, projectId: '', clientId: '', clientSecret: '', close: async () => undefined });
  const answered: string[] = [];
  async function write(worker: number): Promise<void> {
    for (let round = 0; ; round++) {
      const value = `${worker}-${round}`;
      const identifier = [{ system: 'urn:kill', value }];
      const { status } = await client.transaction([
        { request: { method: 'POST', url: 'Patient' }, resource: { resourceType: 'Patient', identifier } },
        {
          request: { method: 'POST', url: 'Slot' },
          resource: {
            resourceType: 'Slot',
            identifier,
            schedule: { reference: 'Schedule/x' },
            status: 'busy',
            start: '2027-01-01T10:00:00Z',
            end: '2027-01-01T11:00:00Z',
          },
        },
      ]);
      if (status === 200) {
        answered.push(value);
      }
    }
  }
  const workers = Array.from({ length: 8 }, (_, worker) => write(worker).catch(() => undefined));
  await until(async () => answered.length > 100);
  await kill();
  await Promise.all(workers);

  const sandbox = await startSandbox({ dataFolder: folder });
  async function identifiers(type: string): Promise<string[]> {
    const { body } = await clientOf(sandbox).fhir<Bundle<Patient | Slot>>('GET', `${type}?_count=1000`);
    return (body.entry ?? []).map(({ resource }) => resource?.identifier?.[0]?.value ?? '').sort();
  }
  const patients = await identifiers('Patient');
  expect(patients).toEqual(expect.arrayContaining(answered));
  expect(await identifiers('Slot')).toEqual(patients);
  await sandbox.close();
});

test('a job that was not done when the process was killed is done after the restart', async () => {
  const calls: string[] = [];
  let answers = false;
  const listener = createServer(async (request, response) => {
    const chunks: Buffer[] = await request.toArray();
    calls.push(JSON.parse(Buffer.concat(chunks).toString()).id);
    if (answers) {
      response.end();
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port }: AddressInfo = Object.assign({ port: 0, address: '', family: '' }, listener.address());

  const { kill, baseUrl } = await startProcess();
  const client = clientOf({ baseUrl, projectId: '', clientId: '', clientSecret: '', close: async () => undefined });
  await client.create<Subscription>({
    resourceType: 'Subscription',
    status: 'active',
    reason: 'test',
    criteria: 'Patient',
    channel: { type: 'rest-hook', endpoint: `http://127.0.0.1:${port}/` },
  });
  const { id } = await client.create<Patient>({ resourceType: 'Patient' });
  await until(async () => calls.length === 1);
  await kill();

  answers = true;
  const sandbox = await startSandbox({ dataFolder: folder });
  await until(async () => calls.length === 2);
  expect(calls).toEqual([id, id]);
  await sandbox.close();
  const again = await startSandbox({ dataFolder: folder });
  await again.close();
  expect(calls).toHaveLength(2);
  listener.close();
});
