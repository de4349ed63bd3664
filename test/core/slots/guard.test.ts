import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import { planTaking, type Taking } from '../../../core/slots/guard.ts';
import { calendarOf } from '../../../core/slots/slot.ts';
import { config, slot } from '../booking/support.ts';
import { origin, published, seen, terms } from './support.ts';

const taking = seen(slot('taking', '09:00', '09:30', { status: 'busy' }));

/** The conflict and the excluded offers, by id. */
function planned(slots: readonly Slot[], more: Partial<Taking> = {}, own = terms()) {
  const { start, end } = taking;
  const calendar = calendarOf(slots, config);
  const whole: Taking = { start, end, from: taking, against: 'everything', ...more };
  const { conflict, excluded } = planTaking(whole, calendar, () => own, { ...config });
  return [conflict?.id, excluded.map(({ id }) => id)];
}

describe('time that staff are about to take', () => {
  const one = published('one', '09:00', '09:30');
  const two = published('two', '09:00', '09:30', 2);

  it('excludes the offers of every place, those that only their buffers reach among them', () => {
    const later = published('later', '09:40', '10:00');
    expect(planned([one, two, later])).toEqual([undefined, ['one', 'two']]);
    expect(planned([one, two, later], {}, terms({ before: 15 }))).toEqual([undefined, ['one', 'two', 'later']]);
  });

  it('from an offer excludes those of its place, and not itself', () => {
    const beside = published('beside', '09:15', '09:45');
    expect(planned([one, two, beside], { from: seen(one) })).toEqual([undefined, ['beside']]);
  });

  it.each<[string, Slot['status'], Partial<Slot>, Taking['against'], string | undefined]>([
    ['an appointment over a booking', 'busy', origin('x'), 'everything', 'x'],
    ['a block over a booking', 'busy', origin('x'), 'nothing', undefined],
    ['an appointment over a block', 'busy-unavailable', {}, 'everything', 'x'],
    ['what only appointments refuse, over a block', 'busy-unavailable', {}, 'appointments', undefined],
    ['what only appointments refuse, over a request', 'busy-tentative', origin('x'), 'appointments', 'x'],
  ])('%s', (_, status, marks, against, conflict) => {
    expect(planned([slot('x', '09:20', '10:00', { status, ...marks })], { against })[0]).toBe(conflict);
  });
});
