import { describe, expect, test } from '@jest/globals';
import { shareOf, shareText, totalOf } from './score.ts';
import { settingsFrom } from './settings.ts';

describe('the share of killed mutants', () => {
  test('of a sample has an interval', () => {
    // Values of R: prop.test(90, 100, correct = FALSE)
    const { value, low, high } = shareOf({ tried: 100, killed: 90, mutants: 1000 });
    expect([value, low, high].map((one) => one.toFixed(1))).toEqual(['90.0', '82.6', '94.5']);
  });

  test('of all mutants is exact', () => {
    expect(shareText(shareOf({ tried: 200, killed: 190, mutants: 200 }))).toBe('95.0 %');
  });

  test('in several rooms counts each by its mutants', () => {
    const small = { tried: 10, killed: 5, mutants: 10 };
    const large = { tried: 90, killed: 90, mutants: 90 };
    expect(shareText(totalOf([small, large]))).toBe('95.0 %');
    const sampled = { tried: 100, killed: 90, mutants: 990 };
    const { value, low, high } = totalOf([small, sampled]);
    expect([value, low, high].map((one) => one.toFixed(1))).toEqual(['89.6', '83.7', '95.5']);
  });
});

describe('the settings', () => {
  test('are read from the environment', () => {
    expect(settingsFrom({ ROOM: 'gateway', SAMPLE: 'all', SEED: '7' })).toEqual({
      rooms: ['gateway'],
      size: Number.POSITIVE_INFINITY,
      seed: '7',
    });
    expect(settingsFrom({})).toMatchObject({
      size: 150,
      seed: '1',
      rooms: expect.arrayContaining(['bots', 'gateway']),
    });
  });

  test('a folder of a room is tried alone', () => {
    expect(settingsFrom({ ROOM: 'core/booking/patch' }).rooms).toEqual(['core/booking/patch']);
  });

  test.each([
    [{ ROOM: 'kitchen' }, /ROOM must be one of .*gateway.*, not kitchen/],
    [{ ROOM: 'core/bookings' }, /ROOM must be one of .*, or a folder in one of them, not core\/bookings/],
    [{ SAMPLE: 'some' }, /SAMPLE must be a positive number or "all", not some/],
    [{ SAMPLE: '0' }, /SAMPLE must be/],
  ])('%j is refused', (environment, message) => {
    expect(() => settingsFrom(environment)).toThrow(message);
  });
});
