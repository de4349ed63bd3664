import { expect, test } from '@jest/globals';
import { MedplumClient } from '@medplum/core';
import { openingHoursOf } from '../../core/calendar/opening-hours.ts';
import { openSecret } from '../../gateway/sealing/sealed-secret.ts';
import { readCalendars } from '../../scripts/calendar/read.ts';
import { loadConfig } from '../../scripts/cli/load-config.ts';
import { colleagues, DEMO_SYSTEM } from '../../scripts/demo/clinic.ts';
import { type Demo, loadDemo } from '../../scripts/demo.ts';
import { keysOf } from '../gateway/sealing/keys.ts';
import { config, startInstallation } from './installation.ts';

const ignore = (): void => undefined;
const installation = await startInstallation();
const deployment = await installation.deploy();
const demo = await loadDemo(deployment, config, ignore, keysOf(1));

async function loggedIn(name: keyof Demo['clients']): Promise<MedplumClient> {
  const medplum = new MedplumClient({ baseUrl: installation.sandbox.baseUrl, cacheTime: 0 });
  const { id, secret } = demo.clients[name];
  // Those of portals are sealed; staff log in at Medplum itself.
  await medplum.startClientLogin(id, openSecret(keysOf(1), id, secret) ?? secret);
  return medplum;
}

test('a second run changes nothing', async () => {
  const lines: string[] = [];
  expect(await loadDemo(deployment, config, (line) => lines.push(line), keysOf(1))).toEqual(demo);
  expect(lines.filter((line) => !line.startsWith('unchanged'))).toEqual([]);
});

test('each portal finds its own demo patient and not the other', async () => {
  for (const name of ['Portal A', 'Portal B'] as const) {
    const patients = await (await loggedIn(name)).searchResources('Patient');
    expect(patients.map(({ id }) => `Patient/${id}`)).toEqual([demo.patients[name]]);
  }
});

test('the schedules have opening hours that can be published', async () => {
  const { medplum } = deployment.connection;
  const calendars = await readCalendars(medplum, config);
  expect(calendars.schedules).toHaveLength(3);
  for (const schedule of calendars.schedules) {
    expect(openingHoursOf(schedule, calendars, config).publishing).toMatchObject({
      kind: 'on',
      calendars: [expect.anything()],
    });
  }
});

test('the clinic lives in Germany, and no two of its services have one name, however many doctors it has', async () => {
  expect(loadConfig('booking.config.json').timeZone).toBe('Europe/Berlin');
  const { medplum } = deployment.connection;
  const { schedules } = await loadDemo(deployment, config, ignore, keysOf(1), colleagues);
  expect(schedules).toHaveLength(5);
  const services = await medplum.searchResources('HealthcareService', undefined, { cache: 'reload' });
  expect(services.map(({ name }) => name).toSorted()).toEqual([
    'Computed tomography',
    'General medical consultation',
    'Surgical consultation',
  ]);
  const people = await medplum.searchResources('Practitioner', { identifier: `${DEMO_SYSTEM}|` }, { cache: 'reload' });
  expect(people.map(({ photo }) => photo?.[0]?.contentType)).toEqual(Array(4).fill('image/png'));
});
