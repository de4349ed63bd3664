import { describe, expect, test } from '@jest/globals';
import { blockSlot, blockToken, coveredBy, periodText, typedPeriod } from '../slots/blocks.ts';

const zone = 'Europe/Berlin';
const typed = (from: string, to: string) => typedPeriod({ from, to }, zone);

describe('a time that is typed', () => {
  test('is one of the clinic, whatever the length', () => {
    expect(typed('2027-01-11T12:00', '2027-01-11T12:05')).toEqual({
      start: Date.parse('2027-01-11T11:00:00Z'),
      end: Date.parse('2027-01-11T11:05:00Z'),
    });
    expect(typed('2027-03-27T12:00', '2027-03-29T12:00')).toEqual({
      start: Date.parse('2027-03-27T11:00:00Z'),
      end: Date.parse('2027-03-29T10:00:00Z'),
    });
  });

  test.each([
    ['2027-01-11T12:00', '2027-01-11T12:00'],
    ['2027-01-11T12:00', '2027-01-11T11:00'],
    ['2027-01-11T12:00', '2028-01-13T12:00'],
    ['2027-02-30T12:00', '2027-03-01T12:00'],
    ['2027-01-11T24:00', '2027-01-12T12:00'],
    ['', '2027-01-11T12:00'],
    ['2027-01-11', '2027-01-12'],
  ])('from %j to %j is none', (from, to) => {
    expect(typed(from, to)).toBeUndefined();
  });

  test('is written as it is typed', () => {
    const time = { start: Date.parse('2027-07-11T10:00:00Z'), end: Date.parse('2027-07-11T22:30:00Z') };
    expect(periodText(time, zone)).toEqual({ from: '2027-07-11T12:00', to: '2027-07-12T00:30' });
    expect(typedPeriod(periodText(time, zone), zone)).toEqual(time);
  });
});

test('a block is found again by its identifier, and has a comment only if there is a reason', () => {
  const time = { start: Date.parse('2027-01-11T11:00:00Z'), end: Date.parse('2027-01-11T12:00:00Z') };
  const slot = blockSlot('s', time, ' Team ', '1');
  expect(slot).toMatchObject({
    schedule: { reference: 'Schedule/s' },
    status: 'busy-unavailable',
    start: '2027-01-11T11:00:00.000Z',
    comment: 'Team',
  });
  expect(blockToken('1')).toBe(`${slot.identifier?.[0]?.system}|${slot.identifier?.[0]?.value}`);
  expect(blockSlot('s', time, ' ', '1').comment).toBeUndefined();
});

test('what lies under a block are appointments that it overlaps', () => {
  const entry = (key: string, start: number, end: number) => ({ key, kind: 'booked' as const, start, end, slots: [] });
  const appointment = { resourceType: 'Appointment' as const, status: 'booked' as const, participant: [] };
  const entries = [
    { ...entry('Appointment/in', 10, 20), appointment },
    { ...entry('Appointment/before', 0, 10), appointment },
    entry('Slot/free', 10, 20),
  ];
  expect(coveredBy(entries, { start: 10, end: 30 }).map(({ key }) => key)).toEqual(['Appointment/in']);
});
