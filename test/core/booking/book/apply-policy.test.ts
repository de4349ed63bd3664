import { expect, it } from '@jest/globals';
import { schedulesConcerned } from '../../../../core/booking/book/apply-policy.ts';
import { appointment, patient, schedule, situation, slot, stateOf } from '../support.ts';

const other = { ...schedule, id: 'other' };
const eight = slot('eight', '08:00', '08:30', { schedule: { reference: 'Schedule/other' } });
const state = stateOf(schedule, other, patient, slot('nine', '09:00', '09:30'), eight);
const { request } = situation(appointment(), state);
const there = appointment({ id: 'a', slot: [{ reference: 'Slot/eight' }] });
const here = appointment({ id: 'a' });

it.each([
  ['is new', {}, ['calendar']],
  ['moves one of another Schedule', { previous: there }, ['calendar', 'other']],
  ['replaces one of another Schedule', { replaced: there }, ['calendar', 'other']],
  ['moves one within its Schedule', { previous: here }, ['calendar']],
])('a booking that %s concerns the Schedules of both times, each once', (_, earlier, expected) => {
  expect(schedulesConcerned(request, { issues: [], ...earlier }, state).map(({ id }) => id)).toEqual(expected);
});
