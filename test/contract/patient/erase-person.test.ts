import { expect, it } from '@jest/globals';
import { type ErasureRun, erase } from '../../../scripts/person/erase.ts';
import { exportPerson } from '../../../scripts/person.ts';
import { until } from '../../lib/until.ts';
import { appointmentsOn, minutes, slotsOf, stored, succeeded } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { toWebsocket, turnsTo } from '../notifications/fixtures.ts';
import { count, policy } from '../policy/fixtures.ts';
import { inconsistencies } from '../races/consistent.ts';
import { administrator, aName, aPerson, carrying, fulfil } from './a-person.ts';

async function run(id: string | undefined, options: Partial<ErasureRun> = {}) {
  const lines: string[] = [];
  const medplum = await administrator();
  const given = { medplum, config, id: id ?? '', force: false, dryRun: false, ...options };
  return { ...(await erase({ ...given, onProgress: (line) => void lines.push(line) })), lines };
}

it('an open appointment keeps its patient: nothing is changed', async () => {
  const { patient, appointments } = await aPerson(aName());
  await fulfil(appointments[0] ?? { resourceType: 'Appointment', status: 'booked', participant: [] });
  const { outcome, erasure, lines } = await run(patient.id);
  expect([outcome, lines]).toEqual(['refused', []]);
  expect(erasure.obstacles).toEqual([expect.stringContaining(`Appointment/${appointments[1]?.id}`)]);
  expect(erasure.obstacles.join()).not.toContain(`Appointment/${appointments[0]?.id}`);
  expect((await request('portal-a', 'GET', `/Patient/${patient.id}`)).status).toBe(200);
});

it('a dry run says what would be removed, and removes nothing', async () => {
  const family = aName();
  const { patient, appointments } = await aPerson(family);
  await Promise.all(appointments.map(fulfil));
  const { outcome, erasure } = await run(patient.id, { dryRun: true });
  expect(outcome).toBe('planned');
  expect(erasure.removals.map(({ reference }) => reference)).toEqual(
    expect.arrayContaining([`Patient/${patient.id}`, ...appointments.map(({ id }) => `Appointment/${id}`)]),
  );
  expect(await carrying(family)).toEqual(['Patient', 'RelatedPerson', 'Appointment', 'QuestionnaireResponse']);
});

it('past appointments can still be counted, and nothing reveals whose they were', async () => {
  const family = aName();
  const { patient, identifier, slots, schedule, appointments } = await aPerson(family);
  await Promise.all(appointments.map(fulfil));
  expect(await run(patient.id)).toMatchObject({ outcome: 'erased' });
  const references = [`Patient/${patient.id}`, ...appointments.map(({ id }) => `Appointment/${id}`)];
  expect(await carrying(family, references)).toEqual([]);
  expect(await carrying(identifier[0]?.value ?? '', references)).toEqual([]);
  const left = (await Promise.all(slots.map(appointmentsOn))).flat();
  expect(left).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
  expect(JSON.stringify(left)).not.toMatch(new RegExp([patient.id, ...appointments.map(({ id }) => id)].join('|')));
  expect(await slotsOf(schedule)).toEqual(['busy 0-30', 'busy 30-60']);
  expect(await inconsistencies(schedule)).toEqual([]);
  expect(await run(patient.id)).toMatchObject({ outcome: 'erased', erasure: { removals: [] } });
});

it('by force open appointments are cancelled first, and their slots are free at once', async () => {
  const family = aName();
  const { patient, slots, schedule } = await aPerson(family);
  expect(await run(patient.id, { force: true })).toMatchObject({ outcome: 'erased' });
  expect(await carrying(family, [`Patient/${patient.id}`])).toEqual([]);
  expect(await slotsOf(schedule)).toEqual(['free 0-30', 'free 30-60']);
  const left = (await Promise.all(slots.map(appointmentsOn))).flat();
  expect(left).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }]);
  expect(await inconsistencies(schedule)).toEqual([]);
});

it('cut short after any write, it is finished by the next run, and no booking counts twice', async () => {
  const family = aName();
  const { patient, slots } = await aPerson(family);
  let isFinished = false;
  for (let runs = 0; !isFinished; runs++) {
    expect(runs).toBeLessThan(40);
    let writes = runs % 4;
    const client = await administrator(async (input, init) => {
      if (init?.method === 'POST' && !String(init.body).includes('"batch"') && writes-- <= 0) {
        throw new Error('cut short');
      }
      return fetch(input, init);
    });
    const result = await run(patient.id, { medplum: client, force: true }).catch(({ message }: Error) => {
      expect(message).toContain('cut short');
      return undefined;
    });
    isFinished = result?.outcome === 'erased';
  }
  expect(await carrying(family, [`Patient/${patient.id}`])).toEqual([]);
  expect((await Promise.all(slots.map(appointmentsOn))).flat()).toHaveLength(2);
});

it("the clinic's own records of a patient are not touched", async () => {
  const { patient, appointments } = await aPerson(aName());
  await Promise.all(appointments.map(fulfil));
  const body = {
    resourceType: 'Observation',
    status: 'final',
    code: { text: 'Weight' },
    subject: { reference: `Patient/${patient.id}` },
  };
  const made = await medplum('admin', 'POST', '/Observation', { body });
  expect(made.status).toBe(201);
  const { outcome, erasure } = await run(patient.id);
  expect([outcome, erasure.obstacles]).toEqual(['refused', [expect.stringContaining('1 Observation')]]);
  expect(await stored('Patient', `_id=${patient.id}`)).toHaveLength(1);
});

it('a Subscription for this patient alone is removed after its subscriber was notified of the cancellation', async () => {
  const { patient } = await aPerson(aName());
  const body = toWebsocket({ filter: `Appointment?patient=Patient/${patient.id}` });
  const made = await request('portal-a', 'POST', '/Subscription', { body });
  expect(made.status).toBe(201);
  const { id } = made.body as { id: string };
  await turnsTo('active', id);
  const { erasure } = await run(patient.id, { force: true });
  expect(erasure.removals.map(({ reference }) => reference)).toContain(`Subscription/${id}`);
  expect((await request('portal-a', 'GET', `/Subscription/${id}`)).status).not.toBe(200);
  const events = await medplum('admin', 'GET', `/Communication?identifier=${id}/1`);
  expect(resourceIn('Bundle', events).entry?.length).toBeGreaterThan(0);
});

it('what double bookings, counters and responses say of the person is exported, and goes with the rest', async () => {
  const family = aName();
  const { patient, schedule, appointments } = await aPerson(family, policy(count('maxOpenPerPatient', 5)));
  const reference = `Patient/${patient.id}`;
  const [first] = appointments;
  const block = { start: minutes(0), end: minutes(30), status: 'busy-unavailable' };
  const body = { resourceType: 'Slot', schedule: { reference: `Schedule/${schedule.id}` }, ...block };
  succeeded('Slot', await medplum('front-desk', 'POST', '/Slot', { body }));
  await until(
    () => stored('Task', `focus=Appointment/${first?.id}`),
    (found) => found.length > 0,
  );
  const response = {
    ...{ resourceType: 'AppointmentResponse', participantStatus: 'accepted', comment: family },
    ...{ appointment: { reference: `Appointment/${first?.id}` }, actor: { reference, display: family } },
  };
  const made = succeeded(
    'AppointmentResponse',
    await medplum('front-desk', 'POST', '/AppointmentResponse', { body: response }),
  );
  const naming = async (): Promise<string[]> => {
    const pages = ['Task', 'AppointmentResponse'].map((type) =>
      medplum('admin', 'GET', `/${type}?_sort=-_lastUpdated&_count=1000`),
    );
    const found = (await Promise.all(pages)).flatMap((page) => resourceIn('Bundle', page).entry ?? []);
    return found.flatMap(({ resource }) =>
      JSON.stringify(resource).includes(patient.id ?? '') ? `${resource?.resourceType}/${resource?.id}` : [],
    );
  };
  const before = await naming();
  expect(before).toContain(`AppointmentResponse/${made.id}`);
  expect(before).toHaveLength(3);
  const { entry = [] } = await exportPerson(await administrator(), patient.id ?? '', config);
  const exported = entry.map(({ resource }) => `${resource?.resourceType}/${resource?.id}`);
  expect(exported).toEqual(expect.arrayContaining(before));
  expect(await run(patient.id, { force: true })).toMatchObject({ outcome: 'erased' });
  expect(await naming()).toEqual([]);
  expect(await carrying(family)).toEqual([]);
});

it.each([
  ['QuestionnaireResponse', { status: 'completed' }, 'subject'],
  ['Communication', { status: 'completed' }, 'subject'],
  ['Task', { status: 'requested', intent: 'order' }, 'for'],
])("a %s of the clinic's own is not touched either", async (resourceType, fields, subject) => {
  const { patient, appointments } = await aPerson(aName());
  await Promise.all(appointments.map(fulfil));
  const body = { resourceType, ...fields, [subject]: { reference: `Patient/${patient.id}` } };
  const made = await medplum('admin', 'POST', `/${resourceType}`, { body });
  expect(made.status).toBe(201);
  const { outcome, erasure } = await run(patient.id);
  expect([outcome, erasure.obstacles]).toEqual(['refused', [expect.stringContaining(`1 ${resourceType}`)]]);
});
