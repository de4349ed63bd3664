import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import {
  aCalendar,
  aService,
  at,
  native,
  open,
  proposals,
  proposedAt,
  untilFree,
  wholeDay,
} from '../calendar/fixtures.ts';
import { aPatient, book, stored } from '../fixtures.ts';
import { medplum } from '../http.ts';

/** A day of twelve half hours, what Medplum proposes for them, and their free Slots. */
async function aDay() {
  const service = await aService(open('08:00', '14:00'));
  const schedule = await aCalendar(service, wholeDay);
  const times = Array.from({ length: 12 }, (_, index) => {
    const time = (half: number) =>
      `${String(8 + Math.floor(half / 2)).padStart(2, '0')}:${half % 2 === 0 ? '00' : '30'}`;
    return { from: time(index), to: time(index + 1) };
  });
  await untilFree(
    schedule,
    times.map(({ from, to }) => `${from}-${to}`),
  );
  const slots = await stored('Slot', `schedule=Schedule/${schedule.id}&status=free`);
  return { service, schedule, times, slots, proposed: await proposals(schedule, service), patient: await aPatient() };
}

const takings = {
  "Medplum's own $book": (proposal: unknown) => native('book', proposal),
  "Medplum's own $hold": (proposal: unknown) => native('hold', proposal),
  'a Slot by hand': (_: unknown, slot: Slot) => {
    const { schedule, start, end } = slot;
    return medplum('front-desk', 'POST', '/Slot', {
      body: { resourceType: 'Slot', status: 'busy', schedule, start, end },
    });
  },
} as const;

describe.each(Object.entries(takings))('a booking and %s of the same minute', (_, take) => {
  it('never both succeed', async () => {
    const { service, times, slots, proposed, patient } = await aDay();
    for (const { from, to } of times) {
      const slot = slots.find(({ start }) => start === at(from));
      if (!slot) {
        throw new Error(`There is no slot at ${from}.`);
      }
      const [booked, taken] = await Promise.all([
        book(proposedAt(service, patient, from, to, [slot])),
        take(proposed.get(from), slot),
      ]);
      expect([booked.status, taken.status]).not.toEqual([201, 201]);
      expect([201, 409]).toContain(booked.status);
      expect([201, 400, 409]).toContain(taken.status);
    }
  });
});
