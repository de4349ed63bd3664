import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from '@jest/globals';
import { addSchedule, addService } from '../../../scripts/calendar/add.ts';
import { changeHorizon, changeHours, showPreview } from '../../../scripts/calendar/change.ts';
import { closeDays, listClosedDays, reopenDays } from '../../../scripts/calendar/close.ts';
import { list, show } from '../../../scripts/calendar/show.ts';
import { changeVisit } from '../../../scripts/calendar/visit.ts';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import { assessShared, assessSilent, calendarChecks, sharedActors } from '../../../scripts/doctor/calendars.ts';
import { problemsIn } from '../../docs/publisher-profiles.ts';
import { config, settings, startInstallation } from '../installation.ts';

const installation = await startInstallation();
const deployment = await installation.deploy();
const { baseUrl, clientId, clientSecret } = installation.sandbox;
const given = { baseUrl, clientId, clientSecret, wait: false as const };
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

it('a clinic is set up, shown and previewed', async () => {
  await list(given);
  expect(text()).toContain('add-service');
  const visit = { ...given, code: 'general-consultation', hours: 'mon-sun 09:00-10:00', duration: 30 };
  await expect(addService('Visit', visit)).rejects.toThrow('--time-zone');
  await expect(addService('Visit', { ...visit, timeZone: 'Europe/Atlantis' })).rejects.toThrow('Europe/Berlin');
  await addService('Visit', { ...visit, timeZone: 'Europe/Berlin' });
  await expect(addSchedule('Dr. Ada Moreau', { ...given, service: ['Surgery'] })).rejects.toThrow("'Surgery'");
  await addSchedule('Dr. Ada Moreau', { ...given, service: ['visit'], confirmation: 'manual' });
  await expect(addSchedule('Dr. Ada Moreau', { ...given, service: ['visit'] })).rejects.toThrow('--actor');
  await list(given);
  expect(text()).toMatch(/Dr\. Ada Moreau +Visit +not yet published/);
  await showPreview('Dr. Ada Moreau', given);
  expect(text()).toMatch(/would be published: 1(?:68|69|70)/);
});

it('hours are tried before they are set, and what cannot be used is refused', async () => {
  await changeHours('Visit', { ...given, hours: 'mon 09:00-10:00', dryRun: true });
  expect(text()).toMatch(/would be published: 2[3-6]/);
  await changeHours('Visit', { ...given, hours: 'mon 20:00-08:00', dryRun: true });
  expect(text()).toContain('run until 08:00 on the next day: 12 hours');
  await expect(changeHours('Visit', { ...given, every: 50 })).rejects.toThrow('divide a day');
  await expect(changeHours('Visit', given)).rejects.toThrow('--hours');
  await expect(changeHours('Nobody', { ...given, duration: 5 })).rejects.toThrow('calendar -- list');
  await changeHours('Dr. Ada Moreau', { ...given, hours: 'tue 09:00-12:00' });
  await show('Dr. Ada Moreau', given);
  expect(text()).toContain('tue 09:00-12:00');
});

it('the horizon is set', async () => {
  await expect(changeHorizon('Visit', given)).rejects.toThrow('--until');
  await changeHorizon('Visit', { ...given, until: '2030-12-31' });
  await show('Visit', given);
  expect(text()).toContain('until 2030-12-31');
  await changeHorizon('Visit', { ...given, rolling: true });
  printed = [];
  await show('Visit', given);
  expect(text()).toContain('12 weeks, rolling');
  await changeHorizon('Visit', { ...given, rolling: true });
  expect(text()).toContain('is so already');
});

it('days are closed and opened again', async () => {
  const { medplum } = deployment.connection;
  const [start, end] = ['2027-12-26T10:00:00Z', '2027-12-26T10:30:00Z'];
  const participant = [{ actor: { display: 'Kim' }, status: 'accepted' as const }];
  await medplum.createResource({ resourceType: 'Appointment', status: 'booked', start, end, participant });
  await expect(closeDays(undefined, undefined, given)).rejects.toThrow('--holidays DE-BY');
  await closeDays('2027-12-24', '2027-12-26', { ...given, reason: 'Christmas', holidays: 'DE-BY', year: 2027 });
  await listClosedDays(given);
  expect(text()).toContain('1 appointments from 2027-12-26 to 2027-12-26');
  expect(text()).toContain('1 appointments from 2027-12-24 to 2027-12-26');
  expect(text()).toContain('Christmas');
  await reopenDays('2027-12-24', undefined, given);
  printed = [];
  await listClosedDays(given);
  expect(text()).not.toContain('Christmas');
  await closeDays('2027-08-02', '2027-08-20', { ...given, reason: 'leave', schedule: 'Dr. Ada Moreau' });
  expect(text()).toContain('from 2027-08-02 to 2027-08-20. Delete it');
  const [slot] = await medplum.searchResources('Slot', { status: 'busy-unavailable' }, { cache: 'reload' });
  expect([slot?.start, slot?.end]).toEqual(['2027-08-01T22:00:00.000Z', '2027-08-20T22:00:00.000Z']);
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

it('a visit is shown before it is set, and refused with the reason if it can never be', async () => {
  const { medplum } = deployment.connection;
  await addService('Rounds', { ...given, code: 'rounds', hours: 'mon 09:00-10:00', duration: 30, timeZone: 'UTC' });
  await addSchedule('Dr. Rosalind Ito', { ...given, service: ['rounds'] });
  const refused = (...step: string[]) => expect(changeVisit('rounds', { ...given, step })).rejects;
  await refused('Blood').toThrow('is not a step');
  await refused('Blood: by Nobody').toThrow('calendar -- list');
  await refused('Blood: 20 min').toThrow('nobody');
  await refused('Blood: by rounds; 20 mins').toThrow('length of time');
  await refused('Blood: by rounds; after ECG').toThrow('not a step');
  const steps = ['Blood: by Dr. Rosalind Ito; 30 min', 'ECG: by rounds; after Blood; gap 0 min to 1 h; optional'];
  const schedule = await medplum.searchOne('Schedule', 'active=true&_sort=-_lastUpdated');
  const day = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
  for (const [from, to] of [
    ['09:00', '09:30'],
    ['10:00', '10:30'],
  ]) {
    await medplum.createResource({
      resourceType: 'Slot',
      schedule: { reference: `Schedule/${schedule?.id}` },
      status: 'free',
      start: `${day}T${from}:00Z`,
      end: `${day}T${to}:00Z`,
    });
  }
  await changeVisit('rounds', { ...given, step: steps, dryRun: true });
  expect(text()).toMatch(/offers:\n.*Blood \(Dr\. Rosalind Ito\); .*ECG \(Dr\. Rosalind Ito\)/);
  expect(text()).not.toContain('is changed');
  await changeVisit('rounds', { ...given, step: steps });
  expect(text()).toContain('is changed');
  await changeVisit('rounds', { ...given, series: '3 times every 1 wk; tolerance 1 d; same person' });
  await changeVisit('rounds', { ...given, none: true });
  expect(text()).toContain('takes one appointment');
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
