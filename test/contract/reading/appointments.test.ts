import { expect, it } from '@jest/globals';
import { aClinic, book, ct, proposed } from '../fixtures.ts';
import { request, resourceIn } from '../http.ts';

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
