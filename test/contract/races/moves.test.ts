import { expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { aClinic, aSlot, book, parameters, proposed, simultaneously, slotsOf, stored } from '../fixtures.ts';
import { resourceIn } from '../http.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { inconsistencies } from './consistent.ts';
import { counts, RUNNERS } from './support.ts';

async function aBookingWithChoices() {
  const clinic = await aClinic();
  const times = Array.from({ length: RUNNERS }, (_, index) => ({ from: 60 + index * 10, to: 70 + index * 10 }));
  const slots = await Promise.all(times.map(({ from, to }) => aSlot(clinic.schedule, from, to)));
  const booked = resourceIn('Appointment', await book(proposed(clinic.patient, [clinic.slot])));
  const to = (index: number) => proposed(clinic.patient, slots.slice(index, index + 1), times[index]);
  return { ...clinic, to, id: booked.id ?? '' };
}

const busy = (slots: readonly Slot[]): number => slots.filter(({ status }) => status === 'busy').length;

it('moved and replaced at the same moment: one appointment is open and holds one slot', async () => {
  const { schedule, patient, to, id } = await aBookingWithChoices();
  const responses = await simultaneously(RUNNERS, (index) => {
    const replacing = parameters(to(index));
    const old = { name: 'cancelled-appt-id', valueUri: id };
    return index % 2 === 0
      ? book({ ...to(index), id })
      : book({ ...replacing, parameter: [...replacing.parameter, old] });
  });
  const { 201: booked = 0, 409: refused = 0, ...others } = counts(responses);
  expect(others).toEqual({});
  expect(booked).toBeGreaterThan(0);
  expect(booked + refused).toBe(RUNNERS);
  expect(await stored('Appointment', `patient=Patient/${patient.id}&status=booked`)).toHaveLength(1);
  expect(busy(await stored('Slot', `schedule=Schedule/${schedule.id}`))).toBe(1);
  expect(await inconsistencies(schedule)).toEqual([]);
});

it('moved to 50 places at the same moment: it is at one of them', async () => {
  const { schedule, patient, to, id } = await aBookingWithChoices();
  const responses = await simultaneously(RUNNERS, (index) => book({ ...to(index), id }));
  const { 201: booked = 0, 409: refused = 0, ...others } = counts(responses);
  expect(others).toEqual({});
  expect(booked).toBeGreaterThan(0);
  expect(booked + refused).toBe(RUNNERS);
  expect(await stored('Appointment', `patient=Patient/${patient.id}`)).toMatchObject([{ id, status: 'booked' }]);
  expect(busy(await stored('Slot', `schedule=Schedule/${schedule.id}`))).toBe(1);
  expect(await inconsistencies(schedule)).toEqual([]);
});

it('50 appointments each move to the slot of the next: none loses its place, no slot is held twice', async () => {
  const { schedule, patient, to } = await aBookingWithChoices();
  const booked = await simultaneously(RUNNERS, (index) => book(to(index)));
  const ids = booked.map((response) => resourceIn('Appointment', response).id ?? '');
  const responses = await simultaneously(RUNNERS, (index) => book({ ...to((index + 1) % RUNNERS), id: ids[index] }));
  expect(Object.keys(counts(responses)).every((status) => status === '201' || status === '409')).toBe(true);
  expect(await stored('Appointment', `patient=Patient/${patient.id}&status=booked`)).toHaveLength(RUNNERS + 1);
  expect(await inconsistencies(schedule)).toEqual([]);
});

it('25 appointments each cancelled and moved at the same moment: cancelled in the end, whichever came first', async () => {
  const { schedule, patient } = await aClinic();
  const places = await simultaneously(RUNNERS, async (index) => {
    const time = { from: 60 + index * 10, to: 70 + index * 10 };
    return { time, slot: await aSlot(schedule, time.from, time.to) };
  });
  const pairs = Array.from({ length: RUNNERS / 2 }, (_, index) => places.slice(2 * index, 2 * index + 2));
  const booked = await Promise.all(
    pairs.map(([first]) => book(proposed(patient, first ? [first.slot] : [], first?.time))),
  );
  const ids = booked.map((response) => resourceIn('Appointment', response).id ?? '');
  const answers = await Promise.all(
    pairs.map(async ([, second], index) => {
      const id = ids[index] ?? '';
      const wish = { ...proposed(patient, second ? [second.slot] : [], second?.time), id };
      const [cancelled, moved] = await Promise.all([patch(id, cancellation), book(wish)]);
      return { cancelled: cancelled.status, moved: moved.status };
    }),
  );
  expect(answers.filter(({ cancelled }) => cancelled !== 200)).toEqual([]);
  expect(answers.filter(({ moved }) => moved !== 201 && moved !== 409)).toEqual([]);
  const open = await stored('Appointment', `patient=Patient/${patient.id}&status=booked`);
  expect(open).toEqual([]);
  expect((await slotsOf(schedule)).filter((slot) => !slot.startsWith('free'))).toEqual([]);
  expect(await inconsistencies(schedule)).toEqual([]);
});
