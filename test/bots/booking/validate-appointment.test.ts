import '../config.ts';
import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/validate-appointment.ts';
import { withMedplum } from '../medplum.ts';
import {
  aPatient,
  aPortal,
  aSchedule,
  aSlot,
  booked,
  eventOf,
  extension,
  originOf,
  problems,
  proposed,
  unavailable,
} from './fixtures.ts';

const medplum = withMedplum();

const judge = (appointment: Appointment, headers: Record<string, string> = {}) =>
  handler(medplum().medplum, eventOf(appointment, undefined, headers));

const deletion = { 'X-Medplum-Deleted-Resource': 'Appointment/1' };

const setting = async (more: Parameters<typeof booked>[2] = {}) => booked(medplum(), await aPortal(medplum()), more);

describe('a change by staff', () => {
  it('is allowed as far as the rules of the service go', async () => {
    const { appointment } = await setting();
    expect(await judge({ ...appointment, comment: 'Room 5' })).toBe(true);
    expect(await judge({ ...appointment, status: 'arrived' })).toBe(true);
    const answer = await judge({ ...appointment, start: '2031-01-06T09:00:00Z' });
    expect([answer !== true && answer.id, ...problems(answer)]).toEqual([
      'bad-request',
      'immutable-element Appointment.start',
    ]);
  });

  it('does not see elements that are empty', async () => {
    const { appointment } = await setting();
    expect(await judge({ ...appointment, serviceType: [], comment: '' })).toBe(true);
  });

  it('of an appointment whose patient is inactive is refused', async () => {
    const { appointment, patient } = await setting();
    await medplum().change(patient, { active: false });
    expect(problems(await judge({ ...appointment, comment: 'Room 5' }))).toEqual([
      'patient-inactive Appointment.participant[0].actor',
    ]);
  });
});

describe('a new appointment of staff', () => {
  async function created(slot: Partial<Slot> = {}, more: Partial<Appointment> = {}) {
    const schedule = await aSchedule(medplum());
    const patient = await aPatient(medplum(), { id: 'portal' });
    const made = await aSlot(medplum(), schedule, '09:00', '09:30', slot);
    return { schedule, patient, slot: made, appointment: proposed(patient, [made], { status: 'booked', ...more }) };
  }

  it('is allowed where its time is free', async () => {
    const { appointment } = await created();
    expect(await judge(appointment)).toBe(true);
  });

  it('is not allowed in a slot that another appointment holds', async () => {
    const { appointment, slot, patient } = await created();
    await medplum().create(proposed(patient, [slot], { status: 'booked' }));
    expect(problems(await judge(appointment))).toEqual(['schedule-overbooked Appointment.slot[0]']);
  });

  it('is not allowed where something that was never offered takes the time', async () => {
    const { appointment, schedule } = await created();
    await aSlot(medplum(), schedule, '09:15', '09:45', { status: 'busy' });
    expect(problems(await judge(appointment))).toEqual(['schedule-overbooked Appointment.slot[0]']);
  });

  it('is allowed beside a slot that was offered', async () => {
    const { appointment, schedule } = await created();
    const beside = await aSlot(medplum(), schedule, '09:15', '09:45');
    await medplum().change<Slot>(beside, { status: 'busy', identifier: [originOf(beside)] });
    expect(await judge(appointment)).toBe(true);
  });

  it('may overbook on purpose', async () => {
    const { appointment, schedule } = await created(
      {},
      { extension: [extension('LocalOverbooking', { valueBoolean: true })] },
    );
    await aSlot(medplum(), schedule, '09:15', '09:45', { status: 'busy' });
    expect(await judge(appointment)).toBe(true);
    const alone = await judge({ ...appointment, extension: [] });
    expect(alone !== true && alone.id).toBe('bad-request');
  });

  it('is judged without headers, too', async () => {
    const { appointment } = await created();
    const event = { ...eventOf(appointment), headers: undefined };
    expect(await handler(medplum().medplum, event)).toBe(true);
  });

  it('that breaks another rule is not looked at any further', async () => {
    const { appointment } = await created();
    const nobody = {
      actor: { reference: 'Patient/00000000-0000-4000-8000-000000000000' },
      status: 'accepted' as const,
    };
    expect(problems(await judge({ ...appointment, participant: [nobody] }))).toEqual([
      'patient-not-found Appointment.participant[0].actor',
    ]);
  });
});

describe('a deletion', () => {
  it('of an appointment that holds its slots is refused', async () => {
    const { appointment } = await setting();
    const answer = await judge(appointment, deletion);
    expect(problems(answer)).toEqual(['transition-not-allowed Appointment.status']);
    expect(answer).toMatchObject({
      issue: [{ diagnostics: 'The appointment is booked and holds its slots: cancel it before deleting it.' }],
    });
  });

  it('of one that is over is remembered', async () => {
    const { appointment } = await setting({ status: 'cancelled' });
    expect(await judge(appointment, deletion)).toBe(true);
  });
});

it('a server that cannot be read allows nothing', async () => {
  const { appointment } = await setting();
  medplum().interfere(unavailable);
  await expect(judge(appointment)).rejects.toThrow('could not be read');
});
