import { expect, it } from '@jest/globals';
import { aClinic, book, parameters, proposed, succeeded } from '../fixtures.ts';
import { request, resourceIn } from '../http.ts';

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
