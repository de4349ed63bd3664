import '../../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Patient, Slot, Task } from '@medplum/fhirtypes';
import { syncAppointment, syncAppointmentsOfPatient } from '../../../../bots/lib/booking/slot-sync.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import {
  aPatient,
  aPortal,
  aSlot,
  at,
  booked,
  extension,
  inMinutes,
  invalid,
  only,
  overtaken,
  refused,
  unavailable,
  writes,
} from '../../booking/fixtures.ts';
import { config } from '../../config.ts';
import { withMedplum } from '../../medplum.ts';

const medplum = withMedplum();

const sync = (seen: Appointment) => syncAppointment(medplum().medplum, seen);
const statusOf = async (slot: Slot) => (await medplum().read<Slot>(`Slot/${slot.id}`))?.status;
const read = ({ id }: Appointment) => medplum().read<Appointment>(`Appointment/${id}`);
const remove = ({ resourceType, id }: Appointment | Slot | Patient) =>
  medplum().fhir('DELETE', `${resourceType}/${id}`);

/** An appointment and its slot; one that is cancelled was booked before. */
async function setting({ status = 'booked', ...more }: Parameters<typeof booked>[2] = {}) {
  const isCancelled = status === 'cancelled';
  const made = await booked(medplum(), await aPortal(medplum()), { ...more, status: isCancelled ? 'booked' : status });
  return isCancelled ? { ...made, appointment: await medplum().change(made.appointment, { status }) } : made;
}

describe('the slot of an appointment', () => {
  it.each([
    ['is given back when it is cancelled', 'cancelled', 'busy', 'free'],
    ['is taken again when it is booked', 'booked', 'free', 'busy'],
    ['is kept while it is pending', 'pending', 'free', 'busy-tentative'],
  ] as const)('%s', async (_, status, before, after) => {
    const { appointment, slot } = await setting({ status });
    await medplum().change(slot, { status: before });
    await sync(appointment);
    expect(await statusOf(slot)).toBe(after);
    expect((await read(appointment))?.meta?.versionId).toBe(appointment.meta?.versionId);
  });

  it.each([
    ['stays taken if the cancelled appointment is booked again meanwhile', 'cancelled', 'booked', 'busy'],
    ['stays free if the appointment is cancelled meanwhile', 'booked', 'cancelled', 'free'],
  ] as const)('%s', async (_, before, after, expected) => {
    const { appointment, slot } = await setting({ status: before });
    await medplum().change(slot, { status: expected === 'busy' ? 'free' : 'busy' });
    let isRead = false;
    medplum().interfere(async ({ entries }) => {
      const isOfSlots = entries.some((one) => one.startsWith('GET Appointment?slot='));
      if (isOfSlots && !isRead) {
        isRead = true;
        await medplum().change(appointment, { status: after });
        await medplum().change(slot, { status: expected });
      }
      return undefined;
    });
    await sync(appointment);
    expect([isRead, await statusOf(slot)]).toEqual([true, expected]);
  });

  it.each(['cancelled', 'deleted'] as const)(
    'and what was announced around it is free for others at once when it is %s',
    async (how) => {
      const { appointment, slot, schedule } = await setting();
      const announced = (by: string) =>
        extension('LocalWithheld', {
          extension: [
            { url: 'time', valuePeriod: { start: at('09:15'), end: at('09:45') } },
            { url: 'until', valueInstant: inMinutes(1) },
            { url: 'by', valueString: by },
          ],
        } as object);
      const own = announced(`Appointment/${appointment.id}`);
      const neighbour = await aSlot(medplum(), schedule, '09:30', '10:00', {
        extension: [own, announced('Appointment/another')],
      });
      const changed = how === 'cancelled' ? await medplum().change(appointment, { status: how }) : appointment;
      await (how === 'deleted' && remove(appointment));
      await sync(changed);
      expect(await statusOf(slot)).toBe('free');
      const left = (await medplum().read<Slot>(`Slot/${neighbour.id}`))?.extension;
      expect(left?.map((one) => one.extension?.at(-1)?.valueString)).toEqual(['Appointment/another']);
    },
  );

  it('is given back when the appointment was deleted', async () => {
    const { appointment, slot } = await setting();
    await remove(appointment);
    await sync(appointment);
    expect(await statusOf(slot)).toBe('free');
  });

  it('is offered again if it was deleted while the appointment still held it', async () => {
    const { appointment, slot, schedule } = await setting({ status: 'cancelled' });
    await remove(slot);
    await sync(appointment);
    expect(await medplum().find(`Slot?schedule=Schedule/${schedule.id}`)).toMatchObject([{ status: 'free' }]);
  });

  it.each([
    ['is offered again if it was deleted with an appointment that held it', 'booked', 1],
    ['stays deleted if the appointment was cancelled before it was deleted', 'cancelled', 0],
  ] as const)('%s', async (_, status, count) => {
    const { appointment, slot, schedule } = await setting({ status });
    await remove(slot);
    await remove(appointment);
    await sync(appointment);
    expect(await medplum().find(`Slot?schedule=Schedule/${schedule.id}`)).toHaveLength(count);
  });
});

describe('an appointment', () => {
  it('is cancelled when its patient is inactive, and its Task is over', async () => {
    const { appointment, patient, slot } = await setting({
      status: 'pending',
      extension: [extension('LocalConfirmationDeadline', { valueInstant: inMinutes(600) })],
    });
    const task = await medplum().create<Task>({
      resourceType: 'Task',
      status: 'requested',
      intent: 'order',
      code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: 'confirm' }] },
      focus: { reference: `Appointment/${appointment.id}` },
    });
    await medplum().change(patient, { active: false });
    await sync(appointment);
    expect(await read(appointment)).toMatchObject({ status: 'cancelled' });
    expect(await statusOf(slot)).toBe('free');
    expect(await medplum().read(`Task/${task.id}`)).toMatchObject({ status: 'completed' });
  });

  it('is handed on to the patient into whom its own was merged', async () => {
    const portal = await aPortal(medplum());
    const [survivor, middle] = [await aPatient(medplum(), portal), await aPatient(medplum(), portal)];
    const { appointment, patient } = await booked(medplum(), portal);
    const mergedInto = ({ id }: Patient): Partial<Patient> => ({
      active: false,
      link: [{ type: 'replaced-by', other: { reference: `Patient/${id}` } }],
    });
    await medplum().change<Patient>(middle, mergedInto(survivor));
    await medplum().change<Patient>(patient, mergedInto(middle));
    await sync(appointment);
    expect(await read(appointment)).toMatchObject({
      status: 'booked',
      participant: [{ actor: { reference: `Patient/${survivor.id}` } }],
    });
  });

  it('is cancelled when its time to be confirmed is over', async () => {
    const { appointment, slot } = await setting({
      status: 'pending',
      extension: [extension('LocalConfirmationDeadline', { valueInstant: inMinutes(-1) })],
    });
    await sync(appointment);
    expect(await read(appointment)).toMatchObject({
      status: 'cancelled',
      cancelationReason: { coding: [{ code: 'confirmation-expired' }] },
    });
    expect(await statusOf(slot)).toBe('free');
  });
});

describe('a write', () => {
  const cancelled = () => setting({ status: 'cancelled' });

  it('is decided again when it was overtaken: a slot that staff blocked meanwhile stays theirs', async () => {
    const { appointment, slot } = await cancelled();
    medplum().interfere(
      only(writes, async () => {
        await medplum().change(slot, { status: 'busy-unavailable', comment: 'Room 5' });
        return undefined;
      }),
    );
    await sync(appointment);
    expect(await medplum().read(`Slot/${slot.id}`)).toMatchObject({ status: 'busy-unavailable', comment: 'Room 5' });
  });

  it.each([
    ['overtaken each time', overtaken],
    ['refused', refused],
    ['invalid', invalid],
    ['lost', unavailable],
  ])('that is %s is an error', async (_, answer) => {
    const { appointment } = await cancelled();
    medplum().interfere((asked) => (writes(asked) ? answer() : undefined));
    await expect(sync(appointment)).rejects.toThrow(`The slots of Appointment/${appointment.id} could not be written`);
  });
});

describe('the appointments of a patient', () => {
  it('are all cancelled when the patient is gone, but those that are over', async () => {
    const portal = await aPortal(medplum());
    const { appointment, patient, schedule, slot } = await booked(medplum(), portal);
    const others = [
      await booked(medplum(), portal, { patient, schedule, from: '10:00', to: '10:30', status: 'pending' }),
      await booked(medplum(), portal, { patient, schedule, from: '11:00', to: '11:30', status: 'fulfilled' }),
    ];
    const strangers = await booked(medplum(), portal, { schedule, from: '12:00', to: '12:30' });
    await medplum().change(patient, { active: false });
    await syncAppointmentsOfPatient(medplum().medplum, patient.id ?? '');
    const all = [appointment, ...others.map((one) => one.appointment), strangers.appointment];
    expect((await Promise.all(all.map(read))).map((one) => one?.status)).toEqual([
      'cancelled',
      'cancelled',
      'fulfilled',
      'booked',
    ]);
    expect(await statusOf(slot)).toBe('free');
  });
});
