import { expect, it } from '@jest/globals';
import { aClinic, aSlot, book, proposed, simultaneously, slotsOf, stored } from '../fixtures.ts';
import { resourceIn } from '../http.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { inconsistencies } from './consistent.ts';
import { RUNNERS } from './support.ts';

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
  const ids = booked.map((answer) => resourceIn('Appointment', answer).id ?? '');
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
