import { expect, test } from '@jest/globals';
import { type Answered, holdersOf, resultOf } from '../../../scripts/bench/release-day/result.ts';

const answer = (kind: Answered['kind'], status: number, took = 10): Answered => ({ kind, status, took });

const booked = answer('book', 201);
const size = { patients: 3, times: 2 };

test('answers are told by request and status, with their number and times', () => {
  const answers = [booked, answer('book', 201, 30), answer('book', 409, 7), answer('search', 200, 5)];
  expect(resultOf(answers, ['Slot/1', 'Slot/2'], size)).toEqual({
    rows: [
      ['book', '201', '2', '30', '30', '30'],
      ['book', '409', '1', '7', '7', '7'],
      ['search', '200', '1', '5', '5', '5'],
    ],
    booked: 2,
    twice: 0,
    isRight: true,
  });
});

test.each([
  ['a time is sold twice', [booked, booked], ['Slot/1', 'Slot/1'], 1],
  ['a confirmed booking is not stored', [booked, booked], ['Slot/1'], 0],
  ['a stored appointment was not confirmed', [booked], ['Slot/1', 'Slot/2'], 0],
  ['a time is left although somebody wanted it', [booked], ['Slot/1'], 0],
  ['an answer is an error', [booked, booked, answer('book', 500)], ['Slot/1', 'Slot/2'], 0],
  ['a search is refused', [booked, booked, answer('search', 429)], ['Slot/1', 'Slot/2'], 0],
])('it is not right when %s', (_, answers, held, twice) => {
  expect(resultOf(answers, held, size)).toMatchObject({ twice, isRight: false });
});

test('an appointment holds its slots, however many; other resources hold none', () => {
  const slot = [{ reference: 'Slot/1' }, { reference: 'Slot/2' }];
  expect(holdersOf({ resourceType: 'Appointment', status: 'booked', participant: [], slot })).toEqual([
    'Slot/1',
    'Slot/2',
  ]);
  expect(holdersOf({ resourceType: 'OperationOutcome', issue: [] })).toEqual([]);
});
