import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, Encounter, Patient } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { eventually } from '../../lib/until.ts';
import { aClinic, aPatient, book, proposed, succeeded } from '../fixtures.ts';
import { type Answer, medplum, request, resourceIn } from '../http.ts';
import { config, type Role } from '../installation.ts';

const to = ({ resourceType, id }: Appointment | Patient) => ({ reference: `${resourceType}/${id}` });

describe('encounters', () => {
  async function aBooking() {
    const { slot, patient } = await aClinic();
    return { patient, appointment: succeeded('Appointment', await book(proposed(patient, [slot]))) };
  }

  /** An encounter, made by the clinic's staff. */
  async function anEncounter(appointment: Appointment, patient: Patient, more: Partial<Encounter> = {}) {
    const body: Encounter = {
      resourceType: 'Encounter',
      status: 'planned',
      class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'AMB' },
      subject: to(patient),
      appointment: [to(appointment)],
      ...more,
    };
    return succeeded('Encounter', await medplum('front-desk', 'POST', '/Encounter', { body }));
  }

  const read = ({ id }: Encounter, role: Role = 'portal-a') => request(role, 'GET', `/Encounter/${id}`);

  const turnsTo = (status: number, encounter: Encounter) =>
    eventually(() => read(encounter)).is((response) => response.status === status);

  const found = (response: Answer) =>
    (resourceIn('Bundle', response).entry ?? []).map(({ resource }) => `${resource?.resourceType}/${resource?.id}`);

  it('the requestor of an appointment reads the encounter it has led to; others do not', async () => {
    const { appointment, patient } = await aBooking();
    const encounter = await anEncounter(appointment, patient);
    const response = await turnsTo(200, encounter);
    expect(resourceIn('Encounter', response).appointment).toEqual([to(appointment)]);
    expect((await read(encounter, 'portal-b')).status).toBe(404);
    expect((await read(encounter, 'front-desk')).status).toBe(200);
    expect((await medplum('portal-b', 'GET', `/Encounter/${encounter.id}`)).status).toBe(404);
  });

  it('the link is followed both ways', async () => {
    const { appointment, patient } = await aBooking();
    const encounter = await anEncounter(appointment, patient);
    await turnsTo(200, encounter);
    const [one, other] = [`Encounter/${encounter.id}`, `Appointment/${appointment.id}`];
    for (const [path, expected] of [
      [`/Encounter?appointment=Appointment/${appointment.id}`, [one]],
      [`/Encounter?appointment=${appointment.id}&status=planned`, [one]],
      [`/Encounter?patient=Patient/${patient.id}&_include=Encounter:appointment`, [one, other]],
      [`/Encounter?appointment:Appointment.patient=Patient/${patient.id}`, [one]],
      [`/Appointment?_id=${appointment.id}&_revinclude=Encounter:appointment`, [other, one]],
    ] as const) {
      expect(found(await request('portal-a', 'GET', path))).toEqual(expected);
      expect(found(await request('portal-b', 'GET', path))).toEqual([]);
    }
  });

  it('an encounter of another patient is not shown, whatever it names', async () => {
    const { appointment, patient } = await aBooking();
    const other = await aPatient('portal-b');
    const foreign = await anEncounter(appointment, other, {
      meta: { tag: [{ system: artefactUri(config, 'LocalRequestor'), code: 'somebody' }] },
    });
    const own = await anEncounter(appointment, patient);
    await turnsTo(200, own);
    expect((await read(foreign)).status).toBe(404);
    expect(found(await request('portal-a', 'GET', `/Encounter?appointment=${appointment.id}`))).toEqual([
      `Encounter/${own.id}`,
    ]);
  });

  it('an encounter that turns out to be about somebody else is shown no longer, with none of its versions', async () => {
    const { appointment, patient } = await aBooking();
    const encounter = await anEncounter(appointment, patient);
    const shown = resourceIn('Encounter', await turnsTo(200, encounter));
    const stored = succeeded('Encounter', await medplum('front-desk', 'GET', `/Encounter/${encounter.id}`));
    const body = { ...stored, subject: to(await aPatient('portal-b')) };
    succeeded('Encounter', await medplum('front-desk', 'PUT', `/Encounter/${encounter.id}`, { body }));
    await turnsTo(404, encounter);
    for (const path of [
      `/Encounter/${encounter.id}/_history`,
      `/Encounter/${encounter.id}/_history/${shown.meta?.versionId}`,
    ]) {
      expect([403, 404, 405]).toContain((await request('portal-a', 'GET', path)).status);
      expect([403, 404]).toContain((await medplum('portal-a', 'GET', path)).status);
    }
  });

  it('of an encounter the current version is read, which is the only one that the requestor may see', async () => {
    const { appointment, patient } = await aBooking();
    const encounter = await anEncounter(appointment, patient);
    const current = resourceIn('Encounter', await turnsTo(200, encounter)).meta?.versionId;
    const path = (version: string | undefined) => `/Encounter/${encounter.id}/_history/${version}`;
    const statuses = async (role: Role) =>
      Promise.all(
        [current, encounter.meta?.versionId].map(async (one) => (await request(role, 'GET', path(one))).status),
      );
    expect(await statuses('portal-a')).toEqual([200, 404]);
    expect(await statuses('portal-b')).toEqual([404, 404]);
    expect(await statuses('front-desk')).toEqual([200, 200]);
  });

  it('an encounter that the clinic has deleted is gone to those who saw it, and unknown to others', async () => {
    const { appointment, patient } = await aBooking();
    const encounter = await anEncounter(appointment, patient);
    const shown = resourceIn('Encounter', await turnsTo(200, encounter));
    expect((await medplum('front-desk', 'DELETE', `/Encounter/${encounter.id}`)).status).toBe(200);
    for (const path of [`/Encounter/${encounter.id}`, `/Encounter/${encounter.id}/_history/${shown.meta?.versionId}`]) {
      expect((await request('portal-a', 'GET', path)).status).toBe(410);
      expect((await request('portal-b', 'GET', path)).status).toBe(404);
    }
  });

  it('tags that staff take off or leave behind are put right', async () => {
    const { appointment, patient } = await aBooking();
    const encounter = await anEncounter(appointment, patient);
    await turnsTo(200, encounter);
    const stored = succeeded('Encounter', await medplum('front-desk', 'GET', `/Encounter/${encounter.id}`));
    const { meta: _, ...untagged } = { ...stored, status: 'arrived' as const };
    succeeded('Encounter', await medplum('front-desk', 'PUT', `/Encounter/${encounter.id}`, { body: untagged }));
    const response = await eventually(() => read(encounter)).is(
      ({ status, body }) => status === 200 && JSON.stringify(body).includes('arrived'),
    );
    expect(resourceIn('Encounter', response).status).toBe('arrived');
  });

  it('a requestor writes no encounter', async () => {
    const { appointment, patient } = await aBooking();
    const encounter = await anEncounter(appointment, patient);
    await turnsTo(200, encounter);
    const body = { ...encounter, status: 'cancelled' };
    expect((await request('portal-a', 'PUT', `/Encounter/${encounter.id}`, { body })).status).toBe(405);
    expect((await request('portal-a', 'POST', '/Encounter', { body })).status).toBe(405);
    expect((await medplum('portal-a', 'PUT', `/Encounter/${encounter.id}`, { body })).status).toBe(403);
    expect((await medplum('portal-a', 'POST', '/Encounter', { body })).status).toBe(403);
  });
});

describe('encounter searches', () => {
  const ended = { start: '2026-01-06T10:00:00+01:00', end: '2026-01-08T18:00:00+01:00' };
  const accounts = 'https://example.org/accounts';
  let patient: Patient;
  let appointment: Appointment;

  /** What portal A sees: a planned stay, one that goes on, and one that is over. */
  let planned: string;
  let ongoing: string;
  let over: string;

  async function anEncounter(more: Partial<Encounter>, subject = patient): Promise<string> {
    const body: Encounter = {
      resourceType: 'Encounter',
      status: 'planned',
      class: { system: 'http://terminology.hl7.org/CodeSystem/v3-ActCode', code: 'IMP' },
      subject: to(subject),
      appointment: [to(appointment)],
      ...more,
    };
    const { id = '' } = succeeded('Encounter', await medplum('front-desk', 'POST', '/Encounter', { body }));
    return id;
  }

  const accountOf = (value: string) => [
    { reference: `Account/${value}`, identifier: { system: accounts, value: `${value}-${patient.id}` } },
  ];

  beforeAll(async () => {
    const { slot, patient: own } = await aClinic();
    patient = own;
    appointment = succeeded('Appointment', await book(proposed(patient, [slot])));
    planned = await anEncounter({});
    ongoing = await anEncounter({ status: 'in-progress', period: { start: ended.start }, account: accountOf('one') });
    over = await anEncounter({ status: 'finished', period: ended, account: accountOf('other') });
    await anEncounter({ status: 'finished', period: ended }, await aPatient('portal-b'));
    await eventually(() => search('')).is(({ total }) => total === 3);
  });

  const search = async (query: string) =>
    resourceIn('Bundle', await request('portal-a', 'GET', `/Encounter?patient=${patient.id}&${query}`));

  const idsIn = (bundle: Awaited<ReturnType<typeof search>>) =>
    (bundle.entry ?? []).flatMap(({ resource, search: { mode } = {} }) => (mode === 'match' ? [resource?.id] : []));

  it.each<[string, () => readonly string[]]>([
    ['date=ge2026-01-05&date=le2026-01-14', () => [ongoing, over]],
    ['date=2026-01-05', () => []],
    ['date=gt1999-01-01', () => [ongoing, over]],
    ['date=ge2026-01-09', () => [ongoing]],
    ['date:missing=true', () => [planned]],
    ['date-start=ge1999-01-01', () => [ongoing, over]],
    ['date-start=ge2026-01-14', () => []],
    ['end-date=le2050-01-01', () => [over]],
    ['end-date=le2026-01-05', () => []],
    ['date-start=ge2026-01-05&end-date=le2026-01-14', () => [over]],
    ['date=ge2026-01-05&status=in-progress', () => [ongoing]],
    ['account=one', () => [ongoing]],
    ['account=Account/other,Account/one', () => [ongoing, over]],
    ['account:identifier={accounts}|other-{patient}', () => [over]],
    ['class=http://terminology.hl7.org/CodeSystem/v3-ActCode|IMP', () => [planned, ongoing, over]],
  ])('Encounter?%s', async (query, expected) => {
    const asked = query.replace('{accounts}', accounts).replace('{patient}', patient.id ?? '');
    const bundle = await search(asked.replace('|', '%7C'));
    expect(idsIn(bundle).sort()).toEqual([...expected()].sort());
    expect(bundle.total).toBe(expected().length);
  });

  it('a search by date has pages and order, and includes what is asked for on each of them', async () => {
    const first = await search('date=ge2026-01-05&_sort=-_lastUpdated&_count=1&_include=Encounter:patient');
    expect(first.total).toBe(2);
    expect(first.entry?.map(({ resource, search: { mode } = {} }) => [mode, resource?.id])).toEqual([
      ['match', over],
      ['include', patient.id],
    ]);
    const next = first.link?.find(({ relation }) => relation === 'next')?.url ?? '';
    const second = resourceIn('Bundle', await request('portal-a', 'GET', next.slice(next.indexOf('/Encounter?'))));
    expect(idsIn(second)).toEqual([ongoing]);
    expect(second.entry).toHaveLength(2);
  });

  it('another portal finds nothing by date', async () => {
    for (const query of [`date=ge1999&patient=${patient.id}`, `date=ge1999&_id=${planned},${ongoing},${over}`]) {
      const { total, entry } = resourceIn('Bundle', await request('portal-b', 'GET', `/Encounter?${query}`));
      expect([total, entry]).toEqual([0, undefined]);
    }
  });
});
