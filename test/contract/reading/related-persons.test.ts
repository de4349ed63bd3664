import { expect, it } from '@jest/globals';
import { aClinic, book, parameters, proposed, succeeded } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import type { Role } from '../installation.ts';

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
