import { expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { aClinic, aSlot, book, parameters, proposed, simultaneously, stored } from '../fixtures.ts';
import { resourceIn } from '../http.ts';
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
  const answers = await simultaneously(RUNNERS, (index) => {
    const replacing = parameters(to(index));
    const old = { name: 'cancelled-appt-id', valueUri: id };
    return index % 2 === 0
      ? book({ ...to(index), id })
      : book({ ...replacing, parameter: [...replacing.parameter, old] });
  });
  const { 201: booked = 0, 409: refused = 0, ...others } = counts(answers);
  expect(others).toEqual({});
  expect(booked).toBeGreaterThan(0);
  expect(booked + refused).toBe(RUNNERS);
  expect(await stored('Appointment', `patient=Patient/${patient.id}&status=booked`)).toHaveLength(1);
  expect(busy(await stored('Slot', `schedule=Schedule/${schedule.id}`))).toBe(1);
  expect(await inconsistencies(schedule)).toEqual([]);
});

it('moved to 50 places at the same moment: it is at one of them', async () => {
  const { schedule, patient, to, id } = await aBookingWithChoices();
  const answers = await simultaneously(RUNNERS, (index) => book({ ...to(index), id }));
  const { 201: booked = 0, 409: refused = 0, ...others } = counts(answers);
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
  const ids = booked.map((answer) => resourceIn('Appointment', answer).id ?? '');
  const answers = await simultaneously(RUNNERS, (index) => book({ ...to((index + 1) % RUNNERS), id: ids[index] }));
  expect(Object.keys(counts(answers)).every((status) => status === '201' || status === '409')).toBe(true);
  expect(await stored('Appointment', `patient=Patient/${patient.id}&status=booked`)).toHaveLength(RUNNERS + 1);
  expect(await inconsistencies(schedule)).toEqual([]);
});
