import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MedplumClient } from '@medplum/core';
import { type Demo, loadDemo } from '../../scripts/demo.ts';
import type { Deployment } from '../../scripts/deploy.ts';
import { config, type Installation, present, startInstallation } from './installation.ts';

const now = new Date(2026, 10, 21, 12).getTime();
const ignore = (): void => undefined;
let installation: Installation;
let deployment: Deployment;
let demo: Demo;

beforeAll(async () => {
  installation = await startInstallation();
  deployment = await installation.deploy();
  demo = await loadDemo(deployment, config, now, ignore);
});

afterAll(async () => {
  await installation.sandbox.close();
});

async function loggedIn(name: keyof Demo['clients']): Promise<MedplumClient> {
  const medplum = new MedplumClient({ baseUrl: installation.sandbox.baseUrl, cacheTime: 0 });
  await medplum.startClientLogin(demo.clients[name].id, demo.clients[name].secret);
  return medplum;
}

test('a second run changes nothing', async () => {
  const lines: string[] = [];
  expect(await loadDemo(deployment, config, now, (line) => lines.push(line))).toEqual(demo);
  expect(lines.filter((line) => !line.startsWith('unchanged'))).toEqual([]);
});

test('a run on a later day adds the days that are missing', async () => {
  const lines: string[] = [];
  await loadDemo(deployment, config, now + 86_400_000 * 2, (line) => lines.push(line));
  expect(lines.filter((line) => !line.startsWith('unchanged'))).toEqual(['created  37 slots']);
});

test('a slot that was taken is not offered anew', async () => {
  const { medplum } = deployment.connection;
  const slot = present(await medplum.searchOne('Slot', { status: 'free' }));
  await medplum.updateResource({ ...slot, status: 'busy' });
  const lines: string[] = [];
  await loadDemo(deployment, config, now, (line) => lines.push(line));
  expect(lines.at(-1)).toBe('unchanged  370 slots');
});

test('each portal finds its own demo patient and not the other', async () => {
  for (const name of ['Portal A', 'Portal B'] as const) {
    const patients = await (await loggedIn(name)).searchResources('Patient');
    expect(patients.map(({ id }) => `Patient/${id}`)).toEqual([demo.patients[name]]);
  }
});

test('a portal finds schedules and free slots, among them a long one for a CT', async () => {
  const portal = await loggedIn('Portal A');
  const schedules = await portal.searchResources('Schedule');
  expect(schedules).toHaveLength(3);
  const ct = demo.schedules.find(({ service }) => service === 'CT');
  const slots = await portal.searchResources('Slot', { schedule: ct?.reference, status: 'free', _count: 1000 });
  const hours = slots.map(({ start, end }) => (Date.parse(end) - Date.parse(start)) / 3_600_000);
  expect(hours).toContain(4);
});

test('a portal writes neither slots nor appointments', async () => {
  const portal = await loggedIn('Portal A');
  const slot = present(await portal.searchOne('Slot', { status: 'free' }));
  await expect(portal.createResource(slot)).rejects.toThrow('Forbidden');
  await expect(portal.updateResource({ ...slot, status: 'busy' })).rejects.toThrow('Forbidden');
  await expect(
    portal.createResource({
      resourceType: 'Appointment',
      status: 'proposed',
      participant: [{ actor: { reference: demo.patients['Portal A'] }, status: 'accepted' }],
    }),
  ).rejects.toThrow('Forbidden');
});

test('the front desk sees the patients of both portals', async () => {
  const patients = await (await loggedIn('Front desk')).searchResources('Patient');
  expect(patients.map(({ id }) => `Patient/${id}`)).toEqual(expect.arrayContaining(Object.values(demo.patients)));
});
