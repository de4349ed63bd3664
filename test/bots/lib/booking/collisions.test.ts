import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot, Task } from '@medplum/fhirtypes';
import { resolveCollisions } from '../../../../bots/lib/booking/collisions.ts';
import { aPortal, aSlot, booked, invalid, only, writes } from '../../booking/fixtures.ts';
import { configured } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

/** An appointment from 9:00 to 9:30, and what somebody writes over it. */
async function setting(status: Appointment['status'], external: Partial<Slot> = {}) {
  const portal = await aPortal(medplum());
  const made = await booked(medplum(), portal, { status });
  const over = await aSlot(medplum(), made.schedule, '09:15', '09:45', { status: 'busy', ...external });
  return { ...made, portal, over };
}

const resolve = (slot: Slot) => resolveCollisions(medplum().medplum, slot);

const read = ({ id }: Appointment) => medplum().read<Appointment>(`Appointment/${id}`);

const tasksOf = ({ id }: Appointment) => medplum().find<Task>(`Task?focus=Appointment/${id}`);

describe('what the clinic writes over booked time', () => {
  it.each([
    ['booked', {}],
    ['pending', { status: 'busy-unavailable' }],
  ] as const)('is for staff to decide if the appointment is %s (%j)', async (status, external) => {
    const { appointment, over, slot } = await setting(status, external);
    await configured({ timeZone: 'Asia/Kolkata' }, () => resolve(over));
    await resolve(over);
    expect(await read(appointment)).toMatchObject({ status });
    const description = expect.stringContaining(' 14:45–15:15 (Asia/Kolkata), takes time');
    const reasonReference = { reference: `Slot/${over.id}` };
    expect(await tasksOf(appointment)).toMatchObject([{ status: 'requested', description, reasonReference }]);
    expect(await medplum().read(`Slot/${slot.id}`)).toMatchObject({ status: slot.status });
  });
});

it('of very many slots at that time all are looked at, page by page', async () => {
  const { appointment, schedule, portal, over } = await setting('booked');
  const {
    id: _,
    meta: __,
    ...other
  } = await aSlot(medplum(), schedule, '09:20', '09:40', { status: 'busy-unavailable' });
  const entry = { request: { method: 'POST' as const, url: 'Slot' }, resource: other };
  await medplum().transaction(Array.from({ length: 210 }, () => entry));
  const last = await booked(medplum(), portal, { schedule, from: '09:25', to: '09:35' });
  await resolve(over);
  expect([await tasksOf(appointment), await tasksOf(last.appointment)].map(({ length }) => length)).toEqual([1, 1]);
});

it('of two appointments at that time staff hear of one, although Medplum does not take what is written about the other', async () => {
  const { appointment, schedule, portal } = await setting('booked');
  const { appointment: second } = await booked(medplum(), portal, { schedule, from: '10:00', to: '10:30' });
  const over = await aSlot(medplum(), schedule, '09:00', '11:00', { status: 'busy-unavailable' });
  medplum().interfere(only(writes, invalid));
  await expect(resolve(over)).rejects.toThrow('could not be written');
  expect([await tasksOf(appointment), await tasksOf(second)].flat()).toHaveLength(1);
});
