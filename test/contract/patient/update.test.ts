import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { aClinic, aPatient, book, parameters, proposed } from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';

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
