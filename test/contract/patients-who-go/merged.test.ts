import { describe, expect, it } from '@jest/globals';
import { until } from '../../lib/until.ts';
import { aPatient, slotsOf } from '../fixtures.ts';
import { aBooking, read } from '../patch/fixtures.ts';
import { edit } from '../status/fixtures.ts';
import { editPatient, merge } from './fixtures.ts';

const patientOf = async (id: string) => (await read(id)).participant[0]?.actor?.reference;

describe('a patient who is merged into another one', () => {
  it('hands open appointments on to the survivor; time and slots stay', async () => {
    const { schedule, patient, booked, id } = await aBooking();
    const survivor = await aPatient();
    await merge(patient, survivor);
    await until(
      () => patientOf(id),
      (reference) => reference === `Patient/${survivor.id}`,
    );
    expect(await read(id)).toMatchObject({ status: 'booked', start: booked.start, slot: booked.slot });
    expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
  });

  it('over two merges', async () => {
    const { patient, id } = await aBooking();
    const [first, second] = [await aPatient(), await aPatient()];
    await merge(first, second);
    await merge(patient, first);
    await until(
      () => patientOf(id),
      (reference) => reference === `Patient/${second.id}`,
    );
  });

  it('into one who is inactive: the appointment is cancelled', async () => {
    const { schedule, patient, id } = await aBooking();
    const survivor = await aPatient();
    await editPatient(survivor, { active: false });
    await merge(patient, survivor);
    await until(
      () => read(id),
      ({ status }) => status === 'cancelled',
    );
    expect(await slotsOf(schedule)).toEqual(['free 0-30']);
  });

  it('does not touch what is over', async () => {
    const { patient, id } = await aBooking();
    expect((await edit(id, { status: 'fulfilled' })).status).toBe(200);
    const open = await aBooking();
    const survivor = await aPatient();
    await merge(patient, survivor);
    await merge(open.patient, survivor);
    await until(
      () => patientOf(open.id),
      (reference) => reference === `Patient/${survivor.id}`,
    );
    expect(await patientOf(id)).toBe(`Patient/${patient.id}`);
  });
});
