import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { aClinic, aPatient, book, parameters, proposed } from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';
import { base, config } from '../installation.ts';

it("POST /Patient: 201, Location, tagged as the requestor's own", async () => {
  const body = { resourceType: 'Patient', name: [{ family: 'Neu' }] };
  const answer = await request('portal-a', 'POST', '/Patient', { body });
  const created = resourceIn('Patient', answer);
  expect(answer.status).toBe(201);
  expect(answer.headers.get('location')).toContain(`${base}/Patient/${created.id}`);
  expect(answer.headers.get('etag')).toBe(`W/"${created.meta?.versionId}"`);
  expect(created.meta?.tag).toContainEqual({ system: config.metaTagSystem, code: 'external' });
  expect((await request('portal-a', 'GET', `/Patient/${created.id}`)).status).toBe(200);
  expect((await request('portal-b', 'GET', `/Patient/${created.id}`)).status).toBe(404);
});

it('a patient that is not valid FHIR: 400', async () => {
  const answer = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', gender: 5 } });
  expect(answer.status).toBe(400);
});

it.each<[object, string]>([
  [{ gender: 'divers' }, 'gender'],
  [{ identifier: [{ use: 'oficial', value: '1' }] }, 'identifier[0].use'],
  [{ name: [{ use: 'birth', family: 'Neu' }] }, 'name[0].use'],
  [{ telecom: [{ system: 'signal', value: '1' }] }, 'telecom[0].system'],
  [{ text: { status: 'new', div: '<div xmlns="http://www.w3.org/1999/xhtml">Neu</div>' } }, 'text.status'],
])('a code that FHIR does not have is refused when a patient is created or replaced: %j', async (elements, path) => {
  const refused = [422, [`profile-violation Patient.${path}`]];
  const created = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', ...elements } });
  expect([created.status, issuesOf(created)]).toEqual(refused);
  const stored = await aPatient();
  const replaced = await request('portal-a', 'PUT', `/Patient/${stored.id}`, { body: { ...stored, ...elements } });
  expect([replaced.status, issuesOf(replaced)]).toEqual(refused);
});

it('PUT /Patient/{id}: 200, changed, still its own', async () => {
  const { meta: _, ...patient } = await aPatient();
  const answer = await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body: { ...patient, gender: 'female' } });
  expect(answer.status).toBe(200);
  expect(resourceIn('Patient', await request('portal-a', 'GET', `/Patient/${patient.id}`)).gender).toBe('female');
  expect((await request('portal-b', 'GET', `/Patient/${patient.id}`)).status).toBe(404);
});

it('If-Match that is not current: 412, nothing changed', async () => {
  const patient = await aPatient();
  const change = { body: { ...patient, gender: 'female' }, headers: { 'if-match': `W/"${randomUUID()}"` } };
  expect((await request('portal-a', 'PUT', `/Patient/${patient.id}`, change)).status).toBe(412);
  expect(resourceIn('Patient', await request('portal-a', 'GET', `/Patient/${patient.id}`))).toEqual(patient);
});

it.each(['replaced-by', 'replaces'])(
  'merging is left to the clinic (%s): 422 at the service, refused by Medplum too, nothing changed',
  async (type) => {
    const [patient, strange] = await Promise.all([aPatient(), aPatient('portal-b')]);
    const link = [{ type, other: { reference: `Patient/${strange.id}` } }];
    const body = { ...patient, active: false, link };
    const answer = await request('portal-a', 'PUT', `/Patient/${patient.id}`, { body });
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'profile-violation Patient.link']);
    expect((await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient', link } })).status).toBe(
      422,
    );
    expect((await medplum('portal-a', 'PUT', `/Patient/${patient.id}`, { body })).status).toBe(403);
    const { slot } = await aClinic();
    const sent = { resourceType: 'Patient', name: [{ family: 'Muster' }], link };
    const booked = await book(parameters({ ...proposed(patient, [slot]), participant: undefined }, ['patient', sent]));
    expect(booked.status).toBe(422);
    expect(issuesOf(booked)).toContain('profile-violation Parameters.parameter[1].resource.link');
    expect(resourceIn('Patient', await request('portal-a', 'GET', `/Patient/${patient.id}`))).toEqual(patient);
  },
);

it('what the clinic has merged stays merged: it can be sent as it was read, and not without the link', async () => {
  const [patient, survivor] = await Promise.all([aPatient(), aPatient()]);
  const link = [{ type: 'replaced-by', other: { reference: `Patient/${survivor.id}` } }];
  const body = { ...patient, active: false, link };
  expect((await medplum('front-desk', 'PUT', `/Patient/${patient.id}`, { body })).status).toBe(200);
  const read = resourceIn('Patient', await request('portal-a', 'GET', `/Patient/${patient.id}`));
  const put = (changed: object) => request('portal-a', 'PUT', `/Patient/${patient.id}`, { body: changed });
  const { link: _, ...without } = read;
  expect((await put({ ...read, gender: 'female' })).status).toBe(200);
  expect((await put(without)).status).toBe(422);
  expect((await medplum('portal-a', 'PUT', `/Patient/${patient.id}`, { body: without })).status).toBe(403);
  expect(resourceIn('Patient', await request('portal-a', 'GET', `/Patient/${patient.id}`)).link).toEqual(link);
});

it('an unknown id: 404, none is created', async () => {
  const id = randomUUID();
  const answer = await request('portal-a', 'PUT', `/Patient/${id}`, { body: { resourceType: 'Patient', id } });
  expect(answer.status).toBe(404);
});
