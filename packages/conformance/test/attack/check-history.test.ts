import { expect, test } from '@jest/globals';
import { checkHistory } from '../../attack/check-history.ts';
import type { Operation, Terms } from '../../attack/history.ts';
import { type Due, dueFor, missingIn, type NotifiedEvent, wrongIn } from '../../attack/notified.ts';

const one: Terms = { capacity: 1, before: 0, after: 0 };
const bounds = { within: 5, stateLimit: 10_000 };
const MINUTE = 60_000;
const at = (start: number, end: number) => ({ start: start * MINUTE, end: end * MINUTE });

type About = Partial<Operation>;

const op = (sent: number, answered: number, about: About): Operation => ({
  actor: 'portal',
  does: '',
  outcome: 'done',
  responseText: '',
  sent,
  answered,
  ...about,
});
const books = (sent: number, answered: number, what: string, about: About = {}, time = at(0, 30)): Operation =>
  op(sent, answered, { takes: { what, time }, ...about });
const cancels = (sent: number, answered: number, frees: string, about: About = {}): Operation =>
  op(sent, answered, { frees, ...about });
const unknown = { outcome: 'unknown', answered: Number.POSITIVE_INFINITY } as const;
const refused = { outcome: 'refused' } as const;

const cases: readonly (readonly [string, 'possible' | 'impossible', readonly Operation[], Terms?])[] = [
  ['one after the other', 'possible', [books(0, 1, 'a'), cancels(2, 3, 'a'), books(4, 5, 'b')]],
  ['sold twice', 'impossible', [books(0, 1, 'a'), books(2, 3, 'b')]],
  ['sold twice at once', 'impossible', [books(0, 9, 'a'), books(1, 8, 'b')]],
  ['cancelled meanwhile', 'possible', [books(0, 1, 'a'), cancels(2, 6, 'a'), books(3, 4, 'b')]],
  ['booked before it was cancelled', 'impossible', [books(0, 1, 'a'), books(2, 3, 'b'), cancels(4, 5, 'a')]],
  [
    'an unknown cancellation may have happened',
    'possible',
    [books(0, 1, 'a'), cancels(2, 0, 'a', unknown), books(9, 10, 'b')],
  ],
  ['an unknown booking may not have happened', 'possible', [books(0, 0, 'a', unknown), books(2, 3, 'b')]],
  [
    'an unknown booking is no excuse for two others',
    'impossible',
    [books(0, 0, 'a', unknown), books(2, 3, 'b'), books(4, 5, 'c')],
  ],
  ['refused because it is taken', 'possible', [books(0, 1, 'a'), books(90, 91, 'b', refused)]],
  ['refused though it is free', 'impossible', [books(0, 1, 'a'), cancels(2, 3, 'a'), books(90, 91, 'b', refused)]],
  [
    'refused shortly after it was given back',
    'possible',
    [books(0, 1, 'a'), cancels(2, 3, 'a'), books(7, 8, 'b', refused)],
  ],
  ['refused while somebody else is refused', 'possible', [books(0, 9, 'a', refused), books(1, 8, 'b', refused)]],
  [
    'seen after it was cancelled',
    'impossible',
    [books(0, 1, 'a'), cancels(2, 3, 'a'), op(4, 5, { sees: { what: 'a', isThere: true } })],
  ],
  [
    'not seen though it was booked',
    'impossible',
    [books(0, 1, 'a'), op(4, 5, { sees: { what: 'a', isThere: false } })],
  ],
  ['moved away', 'possible', [books(0, 1, 'a'), books(2, 3, 'a', { frees: 'a' }, at(30, 60)), books(4, 5, 'b')]],
  [
    'replaced, and still there',
    'impossible',
    [books(0, 1, 'a'), books(2, 3, 'b', { frees: 'a' }, at(30, 60)), books(4, 5, 'c', {}, at(30, 60))],
  ],
  [
    'a block takes all places',
    'impossible',
    [op(0, 1, { takes: { what: 's', time: at(0, 60), isBlock: true } }), books(2, 3, 'a')],
    { ...one, capacity: 2 },
  ],
  [
    'a block over what is booked',
    'possible',
    [books(0, 1, 'a'), op(2, 3, { takes: { what: 's', time: at(0, 60), isBlock: true } })],
  ],
  [
    'a part of an offer of which another part has gone since it was found',
    'possible',
    [books(1, 2, 'a', {}, at(30, 60)), books(3, 4, 'b', { ...refused, found: 0, of: at(0, 60) })],
  ],
  ['two places', 'possible', [books(0, 1, 'a'), books(2, 3, 'b')], { ...one, capacity: 2 }],
  [
    'three in two places',
    'impossible',
    [books(0, 1, 'a'), books(2, 3, 'b'), books(4, 5, 'c')],
    { ...one, capacity: 2 },
  ],
  ['buffers are kept', 'possible', [books(0, 1, 'a'), books(2, 3, 'b', {}, at(40, 70))], { ...one, after: 10 }],
  ['buffers are not kept', 'impossible', [books(0, 1, 'a'), books(2, 3, 'b', {}, at(35, 65))], { ...one, after: 10 }],
];

test.each(cases)('%s: %s', (_, kind, history, terms = one) => {
  expect(checkHistory(history, terms, bounds).kind).toBe(kind);
});

test('the shortest history that cannot be true is told, whatever else happened', () => {
  const others = Array.from({ length: 12 }, (_, index) => [
    books(index * 10, index * 10 + 1, `x${index}`, {}, at(60, 90)),
    cancels(index * 10 + 2, index * 10 + 3, `x${index}`),
    books(index * 10 + 4, index * 10 + 5, `y${index}`, {}, at(0, 30)),
    cancels(index * 10 + 6, index * 10 + 7, `y${index}`),
  ]).flat();
  const twice = [books(200, 210, 'a'), books(201, 211, 'b')];
  const result = checkHistory([...others, ...twice, books(300, 301, 'c', refused)], one, bounds);
  expect(result).toEqual({ kind: 'impossible', operations: twice });
});

test('too many orders are not decided, and no alarm', () => {
  const many = Array.from({ length: 30 }, (_, index) => books(0, 0, `u${index}`, unknown));
  const history = [...many, books(1, 2, 'a'), cancels(3, 4, 'a'), books(5, 6, 'b'), books(7, 8, 'c')];
  expect(checkHistory(history, one, { ...bounds, stateLimit: 5 }).kind).toBe('undecided');
});

const event = (number: number, about = 'Appointment/a', timestamp = '09:00'): NotifiedEvent => ({
  number,
  about,
  timestamp,
});
const most = (count: number): ReadonlyMap<string, Due> => new Map([['Appointment/a', { least: 1, most: count }]]);

test.each<[string, readonly NotifiedEvent[], ReadonlyMap<string, Due>, RegExp | undefined, boolean?]>([
  ['one after the other', [event(1), event(2, 'Appointment/b')], most(1), undefined],
  ['an event too early', [event(1), event(3)], most(2), /Event 3 was told after event 1/],
  ['an event twice', [event(1), event(1)], most(1), /Event 1 was told twice/],
  ['an event twice, of a server that was ended', [event(1), event(1)], most(1), undefined, true],
  ['an event under two numbers', [event(1), event(2)], most(1), /told 2 times, and others have changed it 1 times/],
  ['a later change first', [event(1), event(2, undefined, '08:59')], most(2), /after a later one/],
])('%s is told', (_, events, due, says, mayRepeat = false) => {
  expect(wrongIn(events, due, mayRepeat)?.says).toEqual(says ? expect.stringMatching(says) : undefined);
});

test.each<[string, readonly Operation[], Due]>([
  ['staff cancel', [books(0, 1, 'a'), cancels(2, 3, 'a', { actor: 'staff' })], { least: 1, most: 1 }],
  [
    'staff and the subscriber cancel',
    [cancels(2, 3, 'a', { actor: 'staff' }), cancels(2, 3, 'a')],
    { least: 0, most: 1 },
  ],
  ['staff may have cancelled', [cancels(2, 3, 'a', { actor: 'staff', ...unknown })], { least: 0, most: 1 }],
  ['the subscriber cancels', [books(0, 1, 'a'), cancels(2, 3, 'a')], { least: 0, most: 0 }],
])('what is told where %s', (_, own, due) => {
  expect(dueFor('a', own, ({ actor }) => actor === 'staff')).toEqual(due);
});

test('who must have been told, and was not, is named', () => {
  expect(missingIn([], most(1))).toBe('Appointment/a');
  expect(missingIn([event(1)], most(1))).toBeUndefined();
});
