import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from '@jest/globals';
import { addSchedule, addService } from '../../../scripts/calendar/add.ts';
import { list } from '../../../scripts/calendar/list.ts';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import { assessShared, assessSilent, calendarChecks, sharedActors } from '../../../scripts/doctor/calendars.ts';
import { problemsIn } from '../../docs/publisher-profiles.ts';
import { config, settings, startInstallation } from '../installation.ts';

const installation = await startInstallation();
const deployment = await installation.deploy();
const { baseUrl, clientId, clientSecret } = installation.sandbox;
const given = { baseUrl, clientId, clientSecret };
let printed: string[] = [];
const { log } = console;
console.log = (line) => void printed.push(String(line));

afterEach(() => {
  printed = [];
});

afterAll(() => {
  console.log = log;
});

const text = (): string => printed.join('\n');

it('a clinic is set up and shown', async () => {
  await list(given);
  expect(text()).toContain('add-service');
  const visit = { ...given, code: 'visit', hours: 'mon 20:00-08:00', duration: 30, timeZone: 'Europe/Berlin' };
  await expect(addService('Visit', { ...visit, timeZone: 'Europe/Atlantis' })).rejects.toThrow('Europe/Berlin');
  await addService('Visit', visit);
  expect(text()).toContain('run until 08:00 on the next day: 12 hours');
  await expect(addSchedule('Dr. Ada Moreau', { ...given, service: ['Surgery'] })).rejects.toThrow("'Surgery'");
  await addSchedule('Dr. Ada Moreau', { ...given, service: ['visit'], confirmation: 'manual' });
  await expect(addSchedule('Dr. Ada Moreau', { ...given, service: ['visit'] })).rejects.toThrow('--actor');
  await list(given);
  expect(text()).toMatch(/Dr\. Ada Moreau +Visit +not yet published/);
});

it('the doctor names schedules that publish nothing, and actors with several', async () => {
  const { medplum } = deployment.connection;
  const actor = [{ reference: 'Practitioner/1', display: 'Dr. Weber' }];
  const one = await medplum.createResource({ resourceType: 'Schedule', actor });
  const other = await medplum.createResource({ resourceType: 'Schedule', actor, active: true });
  const [silent, shared, rooms] = calendarChecks;
  const installed = { medplum, config } as Parameters<(typeof calendarChecks)[number]['run']>[0];
  const found = await silent?.run(installed);
  expect(found).toMatchObject({ level: 'warning', found: expect.stringContaining(`Dr. Weber (Schedule/${one.id})`) });
  expect(found?.found).toContain('2 of 3');
  expect((await shared?.run(installed))?.found).toContain(`Schedule/${other.id}`);
  expect((await rooms?.run(installed))?.level).toBe('ok');
});

it('what the doctor finds is said in one line', () => {
  expect(assessSilent({ all: 3, silent: [] })).toEqual({ level: 'ok', found: '3 schedules' });
  expect(assessShared([{ actor: 'Location/1', schedules: ['Schedule/1', 'Schedule/2'] }]).found).toContain(
    'Location/1 in Schedule/1, Schedule/2',
  );
  const role = { resourceType: 'PractitionerRole' as const, id: '1', practitioner: { reference: 'Practitioner/1' } };
  const schedules = ['PractitionerRole/1', 'Practitioner/1'].map((reference, index) => ({
    resourceType: 'Schedule' as const,
    id: String(index),
    actor: [{ reference }],
  }));
  expect(sharedActors({ actors: new Map([['PractitionerRole/1', role]]), schedules })).toEqual([
    { actor: 'Practitioner/1', schedules: ['Schedule/0', 'Schedule/1'] },
  ]);
});

it.each(['isik3', 'isik4', 'isik5', 'isik'])(
  '%s: services and schedules have a specialty of IHE Germany',
  async (preset) => {
    const file = join(mkdtempSync(join(tmpdir(), 'calendar-')), 'booking.config.json');
    writeFileSync(file, JSON.stringify({ ...settings, preset }));
    const { medplum } = deployment.connection;
    const own = { ...given, config: file };
    const [first, second] = [`First ${preset}`, `Second ${preset}`];
    const visit = { ...own, code: 'follow-up', hours: 'mon 09:00-10:00', duration: 30, timeZone: 'Europe/Berlin' };
    await expect(addService(first, visit)).rejects.toThrow('--specialty');
    await expect(addService(first, { ...visit, specialty: ['|ALLG'] })).rejects.toThrow('--specialty');
    const department = 'http://fhir.de/CodeSystem/dkgev/Fachabteilungsschluessel-erweitert|3600';
    const alone = addService(`Alone ${preset}`, { ...visit, specialty: [department] });
    await (preset === 'isik3' ? alone : expect(alone).rejects.toThrow('exactly one coding'));
    await addService(first, { ...visit, specialty: ['ALLG'] });
    await addService(second, { ...visit, specialty: ['CHIR', 'ALLG'] });
    await addSchedule(`Dr. ${preset}`, { ...own, service: [first, second] });
    await addSchedule(`Dr. Other ${preset}`, { ...own, service: [first], specialty: ['KIJU'] });

    const coded = (...codes: string[]) =>
      codes.map((code) => ({ coding: [{ system: 'http://ihe-d.de/CodeSystems/AerztlicheFachrichtungen', code }] }));
    const [service] = await medplum.searchResources('HealthcareService', { 'name:exact': first }, { cache: 'reload' });
    expect(service?.specialty).toEqual(coded('ALLG'));
    const schedules = await medplum.searchResources('Schedule', '_sort=-_lastUpdated&_count=2', { cache: 'reload' });
    expect(schedules.map(({ specialty }) => specialty)).toEqual([coded('KIJU'), coded('ALLG', 'CHIR')]);
    expect([...schedules, service].flatMap((one) => (one ? problemsIn(one, loadConfig(file)) : []))).toEqual([]);
  },
);
