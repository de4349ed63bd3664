import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { until } from '../../lib/until.ts';
import { aPatient, aSlot, book, proposed, succeeded } from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';
import { aBooking, read } from '../patch/fixtures.ts';
import { aPolicedClinic, length, whole } from '../policy/fixtures.ts';
import { edit, inMedplum } from '../status/fixtures.ts';
import { editPatient } from './fixtures.ts';

/** A portal makes its patient inactive, through the service. */
const deactivate = ({ id }: Patient) =>
  request('portal-a', 'PUT', `/Patient/${id}`, { body: { resourceType: 'Patient', id, active: false } });

const isStillBooked = async (id: string) => expect((await inMedplum(id)).status).toBe('booked');

/** An appointment that can no longer be cancelled by its portal. */
async function aLateBooking() {
  const { patient, slot } = await aPolicedClinic(2, length('cancelUntil', 24, 'h'));
  const booked = succeeded('Appointment', await book(whole(slot, patient)));
  return { patient, id: booked.id ?? '' };
}

describe('a portal that makes its patient inactive', () => {
  it('cancels the open appointments that it could cancel itself', async () => {
    const { patient, id } = await aBooking();
    expect((await deactivate(patient)).status).toBe(200);
    await until(
      () => read(id),
      ({ status }) => status === 'cancelled',
    );
  });

  it('is refused while one may no longer be cancelled (422); staff are not', async () => {
    const { patient, id } = await aLateBooking();
    const answer = await deactivate(patient);
    expect([answer.status, issuesOf(answer)]).toEqual([422, ['cancellation-closed Patient.active']]);
    await isStillBooked(id);
    await editPatient(patient, { active: false });
    await until(
      () => read(id),
      ({ status }) => status === 'cancelled',
    );
  });

  it('is refused at Medplum itself, too, by PUT and by PATCH', async () => {
    const { patient, id } = await aLateBooking();
    const stored = resourceIn('Patient', await medplum('portal-a', 'GET', `/Patient/${patient.id}`));
    const put = await medplum('portal-a', 'PUT', `/Patient/${patient.id}`, { body: { ...stored, active: false } });
    const patch = await medplum('portal-a', 'PATCH', `/Patient/${patient.id}`, {
      body: [{ op: 'add', path: '/active', value: false }],
      headers: { 'content-type': 'application/json-patch+json' },
    });
    expect([put.status, issuesOf(put)]).toEqual([422, ['cancellation-closed Patient.active']]);
    expect([patch.status, issuesOf(patch)]).toEqual([422, ['cancellation-closed Patient.active']]);
    await isStillBooked(id);
  });

  it('is refused while the patient has arrived, or is expected by the clinic (422)', async () => {
    const arrived = await aBooking();
    expect((await edit(arrived.id, { status: 'arrived' })).status).toBe(200);
    const { patient, schedule } = await aBooking();
    const slot = await aSlot(schedule, 60, 90);
    const body: Appointment = { ...proposed(patient, [slot], { from: 60, to: 90 }), status: 'booked' };
    expect((await medplum('front-desk', 'POST', '/Appointment', { body })).status).toBe(201);
    for (const who of [arrived.patient, patient]) {
      const answer = await deactivate(who);
      expect([answer.status, issuesOf(answer)]).toEqual([422, ['patient-has-appointments Patient.active']]);
    }
  });
});

it('a patient that clinic staff submit through the service is the clinic’s own, also from a ClientApplication', async () => {
  const { meta } = await aPatient('front-desk');
  expect(meta?.tag ?? []).toEqual([]);
});
