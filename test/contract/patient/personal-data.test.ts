import { expect, it } from '@jest/globals';
import type { Encounter, Patient } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { type ErasureRun, erase } from '../../../scripts/person/erase.ts';
import { exportPerson } from '../../../scripts/person.ts';
import { eventually, until } from '../../lib/until.ts';
import { aBooked, absent, aCalendar, aService, linesIn, planned, silence } from '../absence/fixtures.ts';
import {
  aPatient,
  appointmentsOn,
  aSchedule,
  aSlot,
  book,
  minutes,
  parameters,
  proposed,
  slotsOf,
  stored,
  succeeded,
} from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { toWebsocket, turnsTo } from '../notifications/fixtures.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { count, policy } from '../policy/fixtures.ts';
import { inconsistencies } from '../races/consistent.ts';
import { runBot } from '../requests/fixtures.ts';
import { administrator, aName, aPerson, carrying, fulfil } from './a-person.ts';

async function run(id: string | undefined, options: Partial<ErasureRun> = {}) {
  const lines: string[] = [];
  const medplum = await administrator();
  const given = { medplum, config, id: id ?? '', force: false, dryRun: false, underWay: 0, ...options };
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

it('an absence goes on for the others whose appointments it affects', async () => {
  const service = aService();
  const { schedule, slots } = await aCalendar(service, [
    [0, 9],
    [0, 10],
  ]);
  const { patient, appointment: erased } = await aBooked(slots.slice(0, 1), service);
  const { appointment } = await aBooked(slots.slice(1), service);
  await planned(absent([schedule]));
  const rows = await stored('Task', `focus=Schedule/${schedule.id}&code=${artefactUri(config, 'LocalTask')}|absence`);
  expect(JSON.stringify(rows)).toContain(erased.id);
  expect(await run(patient.id, { force: true })).toMatchObject({ outcome: 'erased' });
  const [row] = await stored('Task', `_id=${rows[0]?.id}`);
  expect(JSON.stringify(row)).toContain(appointment.id);
  expect(JSON.stringify(row)).not.toContain(erased.id);
  const confirmed = await planned(absent([schedule], [silence('keep')]));
  expect(linesIn(confirmed).map(({ id }) => id)).toContain(appointment.id);
  expect(await stored('Slot', `schedule=Schedule/${schedule.id}&status=busy-unavailable`)).toHaveLength(1);
});

it('an appointment that was given to somebody else loses its earlier versions by itself once it is over', async () => {
  const family = aName();
  const { patient, appointments, slots } = await aPerson(family);
  const [, handedOn] = appointments;
  const [between, other] = [await aPatient(), await aPatient()];
  for (const next of [between, other]) {
    const given = proposed(next, slots.slice(1), { from: 30, to: 60, id: handedOn?.id ?? '' });
    succeeded('Appointment', await book(given));
  }
  for (const { id } of [patient, between, patient]) {
    expect(await run(id, { force: true })).toMatchObject({ outcome: 'erased' });
  }
  const code = `${artefactUri(config, 'LocalTask')}|erasure`;
  const [row] = await stored('Task', `code=${code}&focus=Appointment/${handedOn?.id}`);
  expect(row?.input?.map(({ valueString }) => valueString)).toEqual(expect.arrayContaining([patient.id, between.id]));
  const history = async () => (await medplum('admin', 'GET', `/Appointment/${handedOn?.id}/_history`)).text;
  expect(await history()).toContain(patient.id);
  await runBot('remove-old-events');
  expect(await history()).toContain(patient.id);
  await patch(handedOn?.id ?? '', cancellation);
  await runBot('remove-old-events');
  expect(await history()).not.toContain(patient.id);
  const rows = await stored('Task', `code=${artefactUri(config, 'LocalTask')}|erasure`);
  expect(rows.map(({ focus }) => focus?.reference)).not.toContain(`Appointment/${handedOn?.id}`);
  const kept = await stored('Appointment', `patient=Patient/${other.id}`);
  expect(kept).toMatchObject([{ status: 'cancelled', start: handedOn?.start }]);
  expect(kept[0]?.id).not.toBe(handedOn?.id);
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

it('what somebody who had read the data writes after their removal is removed, too', async () => {
  const family = aName();
  const { patient } = await aPerson(family);
  const participant = [{ actor: { reference: `Patient/${patient.id}`, display: family }, status: 'accepted' }];
  let late: ReturnType<typeof medplum> | undefined;
  const onProgress = (line: string): void => {
    if (line.startsWith('Waiting')) {
      const body = { resourceType: 'Appointment', status: 'cancelled', participant };
      late = medplum('admin', 'POST', '/Appointment', { body });
    }
  };
  const given = { medplum: await administrator(), config, id: patient.id ?? '', force: true, dryRun: false };
  const { outcome } = await erase({ ...given, underWay: 2_000, onProgress });
  expect([outcome, (await late)?.status]).toEqual(['erased', 201]);
  expect(await carrying(family, [`Patient/${patient.id}`])).toEqual([]);
});

it('nobody books for a patient who is being erased', async () => {
  const family = aName();
  const { patient, slots } = await aPerson(family);
  let late: ReturnType<typeof book> | undefined;
  const onProgress = (line: string): void => {
    if (line.startsWith('Waiting')) {
      late = book(proposed(patient, slots.slice(0, 1), { comment: family }));
    }
  };
  const given = { medplum: await administrator(), config, id: patient.id ?? '', force: true, dryRun: false };
  const { outcome } = await erase({ ...given, underWay: 2_000, onProgress });
  expect([outcome, (await late)?.status]).toEqual(['erased', 422]);
  expect(await carrying(family, [`Patient/${patient.id}`])).toEqual([]);
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

it('what double bookings and responses say of the person is exported, and goes with the rest', async () => {
  const family = aName();
  const { patient, schedule, appointments } = await aPerson(family, policy(count('maxOpenPerPatient', 5)));
  const reference = `Patient/${patient.id}`;
  const [first] = appointments;
  const block = { start: minutes(0), end: minutes(30), status: 'busy-unavailable' };
  const body = { resourceType: 'Slot', schedule: { reference: `Schedule/${schedule.id}` }, ...block };
  succeeded('Slot', await medplum('front-desk', 'POST', '/Slot', { body }));
  await eventually(() => stored('Task', `focus=Appointment/${first?.id}`)).is((found) => found.length > 0);
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
  expect(before).toHaveLength(2);
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

it('everything of a patient is exported in all versions, without internals, and nothing of others', async () => {
  const family = aName();
  const { patient, appointments } = await aPerson(family);
  const other = await aPatient('portal-a', { name: [{ family: 'Somebody-Else' }] });
  await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body: { ...patient, birthDate: '1990-01-01' } });
  const bundle = await exportPerson(await administrator(), patient.id ?? '', config);
  const keys = (bundle.entry ?? []).map(({ resource }) => `${resource?.resourceType}/${resource?.id}`);
  expect(new Set(keys.map((key) => key.split('/')[0]))).toEqual(
    new Set(['Patient', 'RelatedPerson', 'Appointment', 'QuestionnaireResponse']),
  );
  expect(keys.filter((key) => key === `Patient/${patient.id}`)).toHaveLength(2);
  expect(keys).toEqual(expect.arrayContaining(appointments.map(({ id }) => `Appointment/${id}`)));
  const text = JSON.stringify(bundle);
  expect(text).toContain(family);
  expect(text).not.toContain(other.id);
  expect(text).not.toMatch(/"(project|author|compartment|account)":/);
  const versions = (bundle.entry ?? []).map(({ fullUrl, resource }) => `${fullUrl} ${resource?.meta?.versionId}`);
  expect(new Set(versions).size).toBe(versions.length);
});

it('the encounters to which appointments have led are exported, in the versions that are about the patient', async () => {
  const { patient, appointments } = await aPerson(aName());
  const other = await aPatient('portal-b');
  const encounter = (about: Patient, more: Partial<Encounter> = {}): Encounter => ({
    resourceType: 'Encounter',
    status: 'planned',
    class: { code: 'AMB' },
    subject: { reference: `Patient/${about.id}` },
    appointment: [{ reference: `Appointment/${appointments[0]?.id}` }],
    ...more,
  });
  const post = async (body: Encounter) =>
    succeeded('Encounter', await medplum('front-desk', 'POST', '/Encounter', { body }));
  const own = await post(encounter(other));
  const foreign = await post(encounter(other));
  const put = { body: { ...encounter(patient), id: own.id } };
  succeeded('Encounter', await medplum('front-desk', 'PUT', `/Encounter/${own.id}`, put));
  const client = await administrator();
  const { entry = [] } = await exportPerson(client, patient.id ?? '', config);
  const encounters = entry.flatMap(({ resource }) => (isResource(resource, 'Encounter') ? [resource] : []));
  expect(new Set(encounters.map(({ id, subject }) => `${id} ${subject?.reference}`))).toEqual(
    new Set([`${own.id} Patient/${patient.id}`]),
  );
  expect(JSON.stringify(entry)).not.toContain(other.id);
  const result = await run(patient.id, { medplum: client, force: true, dryRun: true });
  expect([result.outcome, result.erasure.obstacles.join(' ')]).toEqual([
    'refused',
    expect.stringContaining('1 Encounter'),
  ]);
  expect(result.erasure.left.join(' ')).toContain(`Encounter/${foreign.id}: it names`);
});

it('who has read or changed it is exported as Medplum has recorded it, and nothing of others in the same record', async () => {
  const [patient, other] = [await aPatient(), await aPatient()];
  const audit = (...all: { id?: string }[]) => ({
    resourceType: 'AuditEvent',
    type: { system: 'http://dicom.nema.org/resources/ontology/DCM', code: '110110' },
    action: 'R',
    recorded: '2030-01-01T00:00:00Z',
    agent: [{ who: { reference: 'Practitioner/1' }, requestor: true, network: { address: '10.0.0.1' } }],
    source: { observer: { display: 'Medplum' } },
    outcomeDesc: `Read ${other.id}`,
    entity: all.map(({ id }) => ({ what: { reference: `Patient/${id}` } })),
  });
  for (const body of [audit(patient, other), audit(other)]) {
    expect((await medplum('admin', 'POST', '/AuditEvent', { body })).status).toBe(201);
  }
  const { entry = [] } = await exportPerson(await administrator(), patient.id ?? '', config);
  // A server may record accesses of its own besides.
  const records = entry.map(({ resource }) => resource).filter((one) => isResource(one, 'AuditEvent'));
  const [record, ...more] = records.filter(({ recorded }) => recorded === '2030-01-01T00:00:00Z');
  expect(more).toEqual([]);
  expect(record?.agent).toEqual([{ who: { reference: 'Practitioner/1' }, requestor: true }]);
  expect(record?.entity).toEqual([{ what: { reference: `Patient/${patient.id}` } }]);
  expect(JSON.stringify(entry)).not.toContain(other.id);
});

it('what was merged into the patient is exported with it', async () => {
  const [elder, younger] = [await aPatient(), await aPatient('portal-a', { name: [{ family: aName() }] })];
  const link = [{ type: 'replaced-by', other: { reference: `Patient/${elder.id}` } }];
  const body = { ...younger, active: false, link };
  expect(await medplum('front-desk', 'PUT', `/Patient/${younger.id}`, { body })).toMatchObject({ status: 200 });
  const client = await administrator();
  for (const { id = '' } of [elder, younger]) {
    const bundle = await exportPerson(client, id, config);
    const ids = new Set((bundle.entry ?? []).map(({ resource }) => resource?.id));
    expect(ids).toEqual(new Set([elder.id, younger.id]));
  }
});

it('asynchronous bookings that were refused are found by the identifier of the patient who was sent', async () => {
  const [schedule, value] = [await aSchedule(), aName()];
  const [slot, identifier] = [await aSlot(schedule, 0, 30), [{ system: 'https://example.org/patients', value }]];
  const sent = { resourceType: 'Patient', identifier, name: [{ family: aName() }] };
  const prefer = { prefer: 'respond-async' };
  const appointment = proposed({ resourceType: 'Patient', id: 'sent' }, [slot]);
  const referring = { ...appointment, participant: [{ actor: { reference: '#sent' }, status: 'accepted' }] };
  const response = await book(parameters(referring, ['patient', { ...sent, id: 'sent' }]), 'portal-a', prefer);
  expect(response.status).toBe(202);
  const { pathname } = new URL(response.headers.get('content-location') ?? '');
  const job = pathname.split('/').at(-1);
  await eventually(() => request('portal-a', 'GET', `/async/${job}`)).is(({ status }) => status !== 202);
  const [patient] = await until(async () => {
    const found = await medplum('front-desk', 'GET', `/Patient?identifier=${encodeURIComponent(value)}`);
    const { entry } = found.body as { entry?: { resource: { id: string } }[] };
    return entry ?? [];
  });
  const bundle = await exportPerson(await administrator(), patient?.resource.id ?? '', config);
  expect((bundle.entry ?? []).map(({ resource }) => `${resource?.resourceType}/${resource?.id}`)).toContain(
    `Task/${job}`,
  );
});

it('of an unknown patient there is nothing to export, and that is said', async () => {
  await expect(exportPerson(await administrator(), crypto.randomUUID(), config)).rejects.toThrow(
    'Nothing is stored about',
  );
});
