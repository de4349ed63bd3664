import { describe, expect, it } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { until } from '../../lib/until.ts';
import { aSlot, book, proposed, slotsOf, succeeded } from '../fixtures.ts';
import { issuesOf, resourceIn } from '../http.ts';
import { aBooking, cancellation, patch, read } from '../patch/fixtures.ts';
import { aPending, edit, inMedplum } from '../status/fixtures.ts';
import { deletePatient, editPatient } from './fixtures.ts';

const goes: readonly (readonly [string, (patient: Patient) => Promise<unknown>])[] = [
  ['becomes inactive', (patient) => editPatient(patient, { active: false })],
  ['is deleted', deletePatient],
];

describe.each(goes)('a patient who %s', (_, go) => {
  it('takes open appointments along: cancelled, slots free', async () => {
    const { schedule, patient, id } = await aBooking();
    const later = await aSlot(schedule, 60, 90);
    const second = succeeded('Appointment', await book(proposed(patient, [later], { from: 60, to: 90 })));
    await go(patient);
    await until(
      () => read(id),
      ({ status }) => status === 'cancelled',
    );
    await until(
      () => read(second.id ?? ''),
      ({ status }) => status === 'cancelled',
    );
    expect(await slotsOf(schedule)).toEqual(['free 0-30', 'free 60-90']);
  });

  it('leaves what is over as it is', async () => {
    const over = await aBooking();
    expect((await edit(over.id, { status: 'fulfilled' })).status).toBe(200);
    const before = await inMedplum(over.id);
    const later = await aSlot(over.schedule, 60, 90);
    const open = succeeded('Appointment', await book(proposed(over.patient, [later], { from: 60, to: 90 })));
    await go(over.patient);
    await until(
      () => read(open.id ?? ''),
      ({ status }) => status === 'cancelled',
    );
    expect(await inMedplum(over.id)).toEqual(before);
    expect(await slotsOf(over.schedule)).toEqual(['busy 0-30', 'free 60-90']);
  });

  it('takes a request along that waits for confirmation', async () => {
    const { schedule, patient, id } = await aPending();
    await go(patient);
    await until(
      () => read(id),
      ({ status }) => status === 'cancelled',
    );
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
    const late = await edit(id, { status: 'booked' });
    expect(issuesOf(late)[0]).toBe('transition-not-allowed Appointment.status');
  });

  it('a patch is then refused, unless it cancels', async () => {
    const { patient, id } = await aBooking();
    await go(patient);
    const answer = await patch(id, [{ op: 'add', path: '/comment', value: 'x' }]);
    // By then the appointment may have been cancelled, which is taken from what the patch itself has met.
    const met = answer.status === 200 ? resourceIn('Appointment', answer).status : issuesOf(answer)[0];
    expect(met).toMatch(/^(cancelled$|patient-inactive|patient-not-found)/);
    expect((await patch(id, cancellation)).status).toBe(200);
  });
});
