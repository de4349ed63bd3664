import { expect, it } from '@jest/globals';
import type { Encounter, Patient } from '@medplum/fhirtypes';
import { isResource } from '../../../core/fhir/resource.ts';
import { erase } from '../../../scripts/person/erase.ts';
import { exportPerson } from '../../../scripts/person.ts';
import { until } from '../../lib/until.ts';
import { aPatient, aSchedule, aSlot, book, parameters, proposed, succeeded } from '../fixtures.ts';
import { medplum, request } from '../http.ts';
import { config } from '../installation.ts';
import { administrator, aName, aPerson } from './a-person.ts';

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
  const onProgress = () => undefined;
  const result = await erase({ medplum: client, config, id: patient.id ?? '', force: true, dryRun: true, onProgress });
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
  const answer = await book(parameters(referring, ['patient', { ...sent, id: 'sent' }]), 'portal-a', prefer);
  expect(answer.status).toBe(202);
  const { pathname } = new URL(answer.headers.get('content-location') ?? '');
  const job = pathname.split('/').at(-1);
  await until(
    () => request('portal-a', 'GET', `/async/${job}`),
    ({ status }) => status !== 202,
  );
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
