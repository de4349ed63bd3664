import { describe, expect, it } from '@jest/globals';
import type { Bundle, Patient } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { aClinic, aPatient, book, ct, parameters, proposed, succeeded } from '../fixtures.ts';
import { isActionable, medplum, request, resourceIn } from '../http.ts';
import { base, config, type Role } from '../installation.ts';
import { aBooking, cancellation, patch } from '../patch/fixtures.ts';

describe('appointments', () => {
  async function aBooking() {
    const { slot, patient } = await aClinic();
    const identifier = [{ system: 'urn:portal-a', value: `booking-${slot.id}` }];
    const specialty = [{ coding: [{ system: 'urn:specialties', code: `of-${slot.id}` }] }];
    const booked = resourceIn('Appointment', await book(proposed(patient, [slot], { identifier, specialty })));
    return { slot, patient, booked };
  }

  it('GET /Appointment/{id}: the current state, to its requestor and to staff', async () => {
    const { booked } = await aBooking();
    for (const role of ['portal-a', 'front-desk', 'admin'] as const) {
      const answer = await request(role, 'GET', `/Appointment/${booked.id}`);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('etag')).toBe(`W/"${booked.meta?.versionId}"`);
      expect(answer.body).toEqual(booked);
    }
  });

  it.each(['patient', 'actor', 'identifier', 'slot', 'specialty', 'combination'])('is found by %s', async (by) => {
    const [{ slot, patient, booked }] = [await aBooking(), await aBooking()];
    const { system, code } = ct.coding[0] ?? { system: '', code: '' };
    const queries: Record<string, string> = {
      patient: `patient=Patient/${patient.id}`,
      actor: `actor=Patient/${patient.id}`,
      identifier: `identifier=urn:portal-a|booking-${slot.id}`,
      slot: `slot=Slot/${slot.id}`,
      specialty: `specialty=of-${slot.id}`,
      combination: `patient=${patient.id}&status=booked&date=ge2031-01-06&service-type=${encodeURIComponent(`${system}|${code}`)}&_sort=-date&_count=5&_include=Appointment:slot`,
    };
    const answer = await request('portal-a', 'GET', `/Appointment?${queries[by]}`);
    expect(answer.status).toBe(200);
    const entries = resourceIn('Bundle', answer).entry ?? [];
    const matches = entries.filter(({ resource }) => resource?.resourceType === 'Appointment');
    expect(matches.map(({ resource }) => resource?.id)).toEqual([booked.id]);
  });
});

async function aBookingByAMother() {
  const { slot, patient } = await aClinic();
  const mother = {
    resourceType: 'RelatedPerson',
    patient: { reference: `Patient/${patient.id}` },
    name: [{ family: 'Muster', given: ['Eva'] }],
  };
  const body = parameters(proposed(patient, [slot]), ['related-person', mother]);
  const appointment = succeeded('Appointment', await book(body));
  const reference = appointment.participant.flatMap(({ actor }) =>
    actor?.reference?.startsWith('RelatedPerson/') ? [actor.reference] : [],
  )[0];
  return { patient, appointment, reference: reference ?? '' };
}

it('the requestor reads the person who has booked for a patient; others do not', async () => {
  const { reference } = await aBookingByAMother();
  expect(resourceIn('RelatedPerson', await request('portal-a', 'GET', `/${reference}`)).name?.[0]?.given).toEqual([
    'Eva',
  ]);
  expect((await request('portal-b', 'GET', `/${reference}`)).status).toBe(404);
});

it('the person is found by patient, and included with the appointment', async () => {
  const { patient, appointment, reference } = await aBookingByAMother();
  for (const path of [
    `/RelatedPerson?patient=Patient/${patient.id}`,
    `/Appointment?_id=${appointment.id}&_include=Appointment:actor`,
    `/Appointment?actor=${reference}&_include=Appointment:actor:RelatedPerson`,
  ]) {
    const { entry = [] } = resourceIn('Bundle', await request('portal-a', 'GET', path));
    expect(entry.map(({ resource }) => `${resource?.resourceType}/${resource?.id}`)).toContain(reference);
    expect(resourceIn('Bundle', await request('portal-b', 'GET', path)).entry ?? []).toEqual([]);
  }
});

const statusOf = async (path: string, role: Role = 'portal-a') => (await request(role, 'GET', path)).status;

it('the requestor reads the versions of the person; others do not', async () => {
  const { reference } = await aBookingByAMother();
  const first = resourceIn('RelatedPerson', await request('portal-a', 'GET', `/${reference}`));
  const body = { ...first, birthDate: '1960-05-17' };
  const second = succeeded('RelatedPerson', await medplum('front-desk', 'PUT', `/${reference}`, { body }));
  const history = resourceIn('Bundle', await request('portal-a', 'GET', `/${reference}/_history`));
  const versions = [second, first].map(({ meta }) => meta?.versionId);
  expect(history.entry?.map(({ resource }) => resource?.meta?.versionId)).toEqual(versions);
  const paths = [`/${reference}/_history`, `/${reference}/_history/${first.meta?.versionId}`];
  for (const path of paths) {
    expect([await statusOf(path), await statusOf(path, 'portal-b')]).toEqual([200, 404]);
  }
  expect((await medplum('front-desk', 'DELETE', `/${reference}`)).status).toBe(200);
  for (const path of [`/${reference}`, ...paths]) {
    expect([await statusOf(path), await statusOf(path, 'portal-b')]).toEqual([410, 404]);
  }
});

const historyOf = async (path: string, role: Role = 'portal-a', query = '') =>
  resourceIn('Bundle', await request(role, 'GET', `${path}/_history${query}`));

const versionsIn = ({ entry = [] }: Bundle) => entry.map(({ resource }) => resource?.meta?.versionId);
const gone = async (path: string, role: Role = 'portal-a') => (await request(role, 'GET', path)).status;

/** A patient whom the clinic has given from portal A to portal B; its versions, the oldest first. */
async function aPatientGivenAway() {
  const first = await aPatient('portal-a', { birthDate: '1990-05-17' });
  const theirs = (await aPatient('portal-b')).meta?.tag ?? [];
  const body: Patient = { ...first, birthDate: '1991-06-18', meta: { tag: theirs } };
  const second = succeeded('Patient', await medplum('front-desk', 'PUT', `/Patient/${first.id}`, { body }));
  return { path: `/Patient/${first.id}`, first: `${first.meta?.versionId}`, second: `${second.meta?.versionId}` };
}

describe("the history of one's own", () => {
  it('has every version, the newest first, as it was', async () => {
    const { id, booked } = await aBooking();
    const cancelled = resourceIn('Appointment', await patch(id, cancellation));
    const history = await historyOf(`/Appointment/${id}`);
    expect(history).toMatchObject({
      type: 'history',
      total: 2,
      entry: [{ resource: cancelled }, { resource: booked }],
    });
    expect(history.entry?.map(({ fullUrl, request, response }) => [fullUrl, request, response?.status])).toEqual([
      [`${base}/Appointment/${id}`, { method: 'PUT', url: `Appointment/${id}` }, '200'],
      [`${base}/Appointment/${id}`, { method: 'POST', url: 'Appointment' }, '201'],
    ]);
    expect(history.entry?.[0]?.response?.etag).toBe(`W/"${cancelled.meta?.versionId}"`);
  });

  it('comes in pages that lead through all of it', async () => {
    const { id } = await aBooking();
    for (const text of ['one', 'two', 'three']) {
      succeeded('Appointment', await patch(id, [{ op: 'add', path: '/comment', value: text }]));
    }
    const all = versionsIn(await historyOf(`/Appointment/${id}`));
    const found: unknown[] = [];
    let next: string | undefined = `${base}/Appointment/${id}/_history?_count=3`;
    while (next) {
      const page: Bundle = resourceIn('Bundle', await request('portal-a', 'GET', next.replace(base, '')));
      found.push(...versionsIn(page));
      next = page.link?.find(({ relation }) => relation === 'next')?.url;
    }
    expect([found.length, found]).toEqual([4, all]);
  });

  it('is announced where it is, and is nowhere else', async () => {
    const { slot } = await aBooking();
    const statement = resourceIn('CapabilityStatement', await request('nobody', 'GET', '/metadata'));
    const versioned = (statement.rest?.[0]?.resource ?? []).filter(({ readHistory }) => readHistory);
    expect(versioned.map(({ type }) => type)).toEqual([
      'Appointment',
      'Patient',
      'QuestionnaireResponse',
      'RelatedPerson',
    ]);
    expect(await gone(`/Slot/${slot.id}/_history`)).toBe(404);
    expect(await gone(`/Slot/${slot.id}/_history/${slot.meta?.versionId}`)).toBe(404);
  });
});

describe("a version of one's own", () => {
  it('is read as it was, by GET and by HEAD', async () => {
    const { id, booked } = await aBooking();
    await patch(id, cancellation);
    const path = `/Appointment/${id}/_history/${booked.meta?.versionId}`;
    const answer = await request('portal-a', 'GET', path);
    expect([answer.status, answer.headers.get('etag'), answer.body]).toEqual([
      200,
      `W/"${booked.meta?.versionId}"`,
      booked,
    ]);
    const head = await request('portal-a', 'HEAD', path);
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', `W/"${booked.meta?.versionId}"`]);
  });

  it.each(['1', 'x'.repeat(65), '00000000-0000-4000-8000-000000000000'])('%s, which is none: 404', async (version) => {
    const { id } = await aBooking();
    const answer = await request('portal-a', 'GET', `/Appointment/${id}/_history/${version}`);
    expect([answer.status, isActionable(answer)]).toEqual([404, true]);
  });
});

describe('versions of others', () => {
  it("another requestor's: 404", async () => {
    const { id, booked, patient } = await aBooking();
    for (const [path, version] of [
      [`/Appointment/${id}`, booked.meta?.versionId],
      [`/Patient/${patient.id}`, patient.meta?.versionId],
    ]) {
      expect(await gone(`${path}/_history`, 'portal-b')).toBe(404);
      expect(await gone(`${path}/_history/${version}`, 'portal-b')).toBe(404);
      expect(await gone(`${path}/_history/${version}`, 'portal-a')).toBe(200);
    }
  });

  it('from before a resource was its own are not seen by its new owner, nor counted', async () => {
    const { path, first, second } = await aPatientGivenAway();
    const history = await historyOf(path, 'portal-b');
    expect([history.total, versionsIn(history)]).toEqual([1, [second]]);
    expect(JSON.stringify(history)).not.toContain('1990-05-17');
    expect(await gone(`${path}/_history/${first}`, 'portal-b')).toBe(404);
    expect(await gone(`${path}/_history/${second}`, 'portal-b')).toBe(200);
    const bare = await historyOf(path, 'portal-b', '?_count=1');
    expect(bare.link?.map(({ relation }) => relation)).toEqual(['self']);
  });

  it('nothing is left for the owner before', async () => {
    const { path, first, second } = await aPatientGivenAway();
    for (const one of [path, `${path}/_history`, `${path}/_history/${first}`, `${path}/_history/${second}`]) {
      expect(await gone(one)).toBe(404);
    }
  });

  it('staff see all of them', async () => {
    const { path, first, second } = await aPatientGivenAway();
    expect(versionsIn(await historyOf(path, 'front-desk'))).toEqual([second, first]);
  });
});

describe('what was deleted', () => {
  it('is gone to its owner, and unknown to everybody else', async () => {
    const { id, booked } = await aBooking();
    await patch(id, cancellation);
    expect((await medplum('front-desk', 'DELETE', `/Appointment/${id}`)).status).toBe(200);
    const paths = [
      `/Appointment/${id}`,
      `/Appointment/${id}/_history`,
      `/Appointment/${id}/_history/${booked.meta?.versionId}`,
    ];
    for (const path of paths) {
      const answer = await request('portal-a', 'GET', path);
      expect([answer.status, isActionable(answer)]).toEqual([410, true]);
      expect(await gone(path, 'portal-b')).toBe(404);
    }
  });

  it('is gone to its owner, if it is a patient', async () => {
    const patient = await aPatient();
    expect((await medplum('front-desk', 'DELETE', `/Patient/${patient.id}`)).status).toBe(200);
    expect(await gone(`/Patient/${patient.id}`)).toBe(410);
    expect(await gone(`/Patient/${patient.id}`, 'portal-b')).toBe(404);
  });

  it('keeps its history for staff, its end included', async () => {
    const patient = await aPatient();
    await medplum('front-desk', 'DELETE', `/Patient/${patient.id}`);
    const { entry } = await historyOf(`/Patient/${patient.id}`, 'front-desk');
    expect(entry?.map(({ request }) => request?.method)).toEqual(['DELETE', 'POST']);
  });
});

it('the tag by which versions are judged cannot be chosen by a requestor', async () => {
  const system = artefactUri(config, 'LocalRequestor');
  const foreign = (await aPatient('portal-b')).meta?.tag?.find((tag) => tag.system === system);
  const patient = await aPatient('portal-a', { meta: { tag: [{ ...foreign }] } });
  expect(patient.meta?.tag?.filter((tag) => tag.system === system)).toHaveLength(1);
  expect(await gone(`/Patient/${patient.id}/_history`, 'portal-b')).toBe(404);
});
