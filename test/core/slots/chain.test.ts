import { describe, expect, it } from '@jest/globals';
import { findChain, mismatches } from '../../../core/slots/chain.ts';
import { calendarOf } from '../../../core/slots/slot.ts';
import { at, config, slot } from '../booking/support.ts';

const between = (start: string, end: string) => ({ start: Date.parse(at(start)), end: Date.parse(at(end)) });
const slots = (...given: readonly (readonly [id: string, start: string, end: string])[]) => [
  ...calendarOf(
    given.map((one) => slot(...one)),
    config,
  ).values(),
];
const idsOf = (chain: readonly { readonly id: string }[] | undefined) => chain?.map(({ id }) => id);

describe('of several slots for a time, those are chosen that leave the least over', () => {
  it.each([
    ['before it', slots(['long', '08:00', '10:00'], ['short', '08:45', '10:00']), 'short'],
    ['after it', slots(['long', '09:00', '12:00'], ['short', '09:00', '10:00']), 'short'],
    ['before it, whatever their order', slots(['short', '08:45', '10:00'], ['long', '08:00', '10:00']), 'short'],
    ['after it, whatever their order', slots(['short', '09:00', '10:00'], ['long', '09:00', '12:00']), 'short'],
  ])('%s', (_, given, expected) => {
    expect(idsOf(findChain(given, between('09:00', '10:00')))).toEqual([expected]);
  });

  it('and that are followed by others without a gap', () => {
    const given = slots(['dead end', '09:00', '09:20'], ['first', '09:00', '09:30'], ['second', '09:30', '10:00']);
    expect(idsOf(findChain(given, between('09:00', '10:00')))).toEqual(['first', 'second']);
  });
});

it.each([
  ['ends when the time begins', '08:00', '09:00'],
  ['begins when the time ends', '10:00', '11:00'],
])('a slot that %s does not begin a chain, and is outside', (_, start, end) => {
  const given = slots(['it', start, end]);
  expect(findChain(given, between('09:00', '10:00'))).toBeUndefined();
  expect(mismatches(given, between('09:00', '10:00'))).toEqual([{ kind: 'outside', id: 'it' }, { kind: 'gap' }]);
});

describe('slots that are named for a time', () => {
  it.each([
    ['cover it exactly, in any order', slots(['b', '09:30', '10:00'], ['a', '09:00', '09:30']), []],
    ['cover more', slots(['a', '08:00', '11:00']), []],
    ['overlap by a minute', slots(['a', '09:00', '09:31'], ['b', '09:30', '10:00']), [{ kind: 'overlap', id: 'b' }]],
    ['leave a minute out', slots(['a', '09:00', '09:30'], ['b', '09:31', '10:00']), [{ kind: 'gap' }]],
    ['begin a minute late', slots(['a', '09:01', '10:00']), [{ kind: 'gap' }]],
    ['end a minute early', slots(['a', '09:00', '09:59']), [{ kind: 'gap' }]],
    [
      'are one inside the other',
      slots(['a', '09:00', '10:00'], ['b', '09:10', '09:20']),
      [{ kind: 'overlap', id: 'b' }],
    ],
  ])('%s', (_, given, expected) => {
    expect(mismatches(given, between('09:00', '10:00'))).toEqual(expected);
  });
});
