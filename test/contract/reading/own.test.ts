import { describe, expect, it } from '@jest/globals';
import type { Bundle, Patient } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { aClinic, aPatient, book, ct, parameters, proposed, succeeded } from '../fixtures.ts';
import { isActionable, medplum, request, resourceIn } from '../http.ts';
import { base, config, type Role } from '../installation.ts';
import { aBooking, cancellation, patch } from '../patch/fixtures.ts';

const statusOf = async (path: string, role: Role = 'portal-a') => (await request(role, 'GET', path)).status;

/** What portal A and portal B are answered. */
const statuses = async (path: string) => [await statusOf(path), await statusOf(path, 'portal-b')];

const search = async (path: string, role: Role = 'portal-a'): Promise<Bundle> =>
  resourceIn('Bundle', await request(role, 'GET', path.replace(base, '')));

const referencesIn = ({ entry = [] }: Bundle) =>
  entry.map(({ resource }) => `${resource?.resourceType}/${resource?.id}`);
const versionsIn = ({ entry = [] }: Bundle) => entry.map(({ resource }) => resource?.meta?.versionId);
const historyOf = (path: string, role: Role = 'portal-a', query = '') => search(`${path}/_history${query}`, role);

/** The paths of a resource, its history and one of its versions. */
const pathsOf = (path: string, version: string | undefined) => [
  path,
  `${path}/_history`,
  `${path}/_history/${version}`,
];

it('GET /Appointment/{id}: the current state, to its requestor and to staff', async () => {
  const { booked } = await aBooking();
  for (const role of ['portal-a', 'front-desk', 'admin'] as const) {
    const response = await request(role, 'GET', `/Appointment/${booked.id}`);
    expect([response.status, response.headers.get('etag')]).toEqual([200, `W/"${booked.meta?.versionId}"`]);
    expect(response.body).toEqual(booked);
  }
});

it.each(['patient', 'actor', 'identifier', 'slot', 'specialty', 'combination'])('is found by %s', async (by) => {
  const aSought = async () => {
    const { slot, patient } = await aClinic();
    const identifier = [{ system: 'urn:portal-a', value: `booking-${slot.id}` }];
    const specialty = [{ coding: [{ system: 'urn:specialties', code: `of-${slot.id}` }] }];
    return {
      slot,
      patient,
      booked: succeeded('Appointment', await book(proposed(patient, [slot], { identifier, specialty }))),
    };
  };
  const [{ slot, patient, booked }] = [await aSought(), await aSought()];
  const type = encodeURIComponent(`${ct.coding[0]?.system}|${ct.coding[0]?.code}`);
  const queries: Record<string, string> = {
    patient: `patient=Patient/${patient.id}`,
    actor: `actor=Patient/${patient.id}`,
    identifier: `identifier=urn:portal-a|booking-${slot.id}`,
    slot: `slot=Slot/${slot.id}`,
    specialty: `specialty=of-${slot.id}`,
    combination: `patient=${patient.id}&status=booked&date=ge2031-01-06&service-type=${type}&_sort=-date&_count=5`,
  };
  expect(referencesIn(await search(`/Appointment?${queries[by]}`))).toEqual([`Appointment/${booked.id}`]);
});

it('the person who has booked for a patient is read and found by the requestor, in every version; others do not', async () => {
  const { slot, patient } = await aClinic();
  const name = [{ family: 'Muster', given: ['Eva'] }];
  const mother = { resourceType: 'RelatedPerson', patient: { reference: `Patient/${patient.id}` }, name };
  const booked = succeeded(
    'Appointment',
    await book(parameters(proposed(patient, [slot]), ['related-person', mother])),
  );
  const references = booked.participant.map(({ actor }) => actor?.reference ?? '');
  const reference = references.find((one) => one.startsWith('RelatedPerson/')) ?? '';
  const first = resourceIn('RelatedPerson', await request('portal-a', 'GET', `/${reference}`));
  expect(first.name).toEqual(name);
  for (const path of [
    `/RelatedPerson?patient=Patient/${patient.id}`,
    `/Appointment?_id=${booked.id}&_include=Appointment:actor`,
    `/Appointment?actor=${reference}&_include=Appointment:actor:RelatedPerson`,
  ]) {
    expect(referencesIn(await search(path))).toContain(reference);
    expect((await search(path, 'portal-b')).entry ?? []).toEqual([]);
  }
  const body = { ...first, birthDate: '1960-05-17' };
  const second = succeeded('RelatedPerson', await medplum('front-desk', 'PUT', `/${reference}`, { body }));
  expect(versionsIn(await historyOf(`/${reference}`))).toEqual([second, first].map(({ meta }) => meta?.versionId));
  const paths = pathsOf(`/${reference}`, first.meta?.versionId);
  expect(await Promise.all(paths.map(statuses))).toEqual(paths.map(() => [200, 404]));
  expect((await medplum('front-desk', 'DELETE', `/${reference}`)).status).toBe(200);
  expect(await Promise.all(paths.map(statuses))).toEqual(paths.map(() => [410, 404]));
});

/** A patient whom the clinic has given from portal A to portal B; its versions, the oldest first. */
async function aPatientGivenAway() {
  const first = await aPatient('portal-a', { birthDate: '1990-05-17' });
  const theirs = (await aPatient('portal-b')).meta?.tag ?? [];
  const body: Patient = { ...first, birthDate: '1991-06-18', meta: { tag: theirs } };
  const second = succeeded('Patient', await medplum('front-desk', 'PUT', `/Patient/${first.id}`, { body }));
  return { path: `/Patient/${first.id}`, first: `${first.meta?.versionId}`, second: `${second.meta?.versionId}` };
}

describe("the history of one's own", () => {
  it('has every version, the newest first, as it was; each is read by GET and by HEAD', async () => {
    const { id, booked } = await aBooking();
    const path = `/Appointment/${id}`;
    const cancelled = resourceIn('Appointment', await patch(id, cancellation));
    const history = await historyOf(path);
    expect(history).toMatchObject({
      type: 'history',
      total: 2,
      entry: [{ resource: cancelled }, { resource: booked }],
    });
    expect(history.entry?.map(({ fullUrl, request: asked, response }) => [fullUrl, asked, response?.status])).toEqual([
      [`${base}${path}`, { method: 'PUT', url: `Appointment/${id}` }, '200'],
      [`${base}${path}`, { method: 'POST', url: 'Appointment' }, '201'],
    ]);
    const etag = `W/"${booked.meta?.versionId}"`;
    expect(history.entry?.[1]?.response?.etag).toBe(etag);
    const read = await request('portal-a', 'GET', `${path}/_history/${booked.meta?.versionId}`);
    expect([read.status, read.headers.get('etag'), read.body]).toEqual([200, etag, booked]);
    const head = await request('portal-a', 'HEAD', `${path}/_history/${booked.meta?.versionId}`);
    expect([head.status, head.headers.get('etag'), head.text]).toEqual([200, etag, '']);
    for (const version of ['1', 'x'.repeat(65), '00000000-0000-4000-8000-000000000000']) {
      const none = await request('portal-a', 'GET', `${path}/_history/${version}`);
      expect([none.status, isActionable(none)]).toEqual([404, true]);
    }
  });

  it('comes in pages that lead through all of it', async () => {
    const { id } = await aBooking();
    for (const text of ['one', 'two', 'three']) {
      succeeded('Appointment', await patch(id, [{ op: 'add', path: '/comment', value: text }]));
    }
    const found: unknown[] = [];
    for (let next: string | undefined = `/Appointment/${id}/_history?_count=3`; next; ) {
      const page: Bundle = await search(next);
      found.push(...versionsIn(page));
      next = page.link?.find(({ relation }) => relation === 'next')?.url;
    }
    expect([found.length, found]).toEqual([4, versionsIn(await historyOf(`/Appointment/${id}`))]);
  });

  it('is announced where it is, and is nowhere else', async () => {
    const { slot } = await aBooking();
    const statement = resourceIn('CapabilityStatement', await request('nobody', 'GET', '/metadata'));
    const versioned = (statement.rest?.[0]?.resource ?? []).filter(({ readHistory }) => readHistory);
    const types = ['Appointment', 'Patient', 'QuestionnaireResponse', 'RelatedPerson'];
    expect(versioned.map(({ type }) => type)).toEqual(types);
    for (const path of pathsOf(`/Slot/${slot.id}`, slot.meta?.versionId).slice(1)) {
      expect(await statusOf(path)).toBe(404);
    }
  });
});

describe('versions of others', () => {
  it("another requestor's: 404", async () => {
    const { id, booked, patient } = await aBooking();
    const own = [
      ...pathsOf(`/Appointment/${id}`, booked.meta?.versionId),
      ...pathsOf(`/Patient/${patient.id}`, patient.meta?.versionId),
    ];
    expect(await Promise.all(own.map(statuses))).toEqual(own.map(() => [200, 404]));
  });

  it('from before a resource was its own are not seen by its new owner; nothing is left for the owner before', async () => {
    const { path, first, second } = await aPatientGivenAway();
    const history = await historyOf(path, 'portal-b');
    expect([history.total, versionsIn(history)]).toEqual([1, [second]]);
    expect(JSON.stringify(history)).not.toContain('1990-05-17');
    expect([await statuses(`${path}/_history/${first}`), await statuses(`${path}/_history/${second}`)]).toEqual([
      [404, 404],
      [404, 200],
    ]);
    const bare = await historyOf(path, 'portal-b', '?_count=1');
    expect(bare.link?.map(({ relation }) => relation)).toEqual(['self']);
    expect([await statusOf(path), await statusOf(`${path}/_history`)]).toEqual([404, 404]);
    expect(versionsIn(await historyOf(path, 'front-desk'))).toEqual([second, first]);
  });

  it('the tag by which versions are judged cannot be chosen by a requestor', async () => {
    const system = artefactUri(config, 'LocalRequestor');
    const foreign = (await aPatient('portal-b')).meta?.tag?.find((tag) => tag.system === system);
    const patient = await aPatient('portal-a', { meta: { tag: [{ ...foreign }] } });
    expect(patient.meta?.tag?.filter((tag) => tag.system === system)).toHaveLength(1);
    expect(await statusOf(`/Patient/${patient.id}/_history`, 'portal-b')).toBe(404);
  });
});

it('what was deleted is gone to its owner, unknown to everybody else, and keeps its history for staff', async () => {
  const { id, booked, patient } = await aBooking();
  await patch(id, cancellation);
  for (const path of [`/Appointment/${id}`, `/Patient/${patient.id}`]) {
    expect((await medplum('front-desk', 'DELETE', path)).status).toBe(200);
  }
  const paths = [...pathsOf(`/Appointment/${id}`, booked.meta?.versionId), `/Patient/${patient.id}`];
  expect(await Promise.all(paths.map(statuses))).toEqual(paths.map(() => [410, 404]));
  expect(isActionable(await request('portal-a', 'GET', `/Appointment/${id}`))).toBe(true);
  const { entry } = await historyOf(`/Patient/${patient.id}`, 'front-desk');
  expect(entry?.map(({ request: asked }) => asked?.method)).toEqual(['DELETE', 'POST']);
});
