import { expect, test } from '@jest/globals';
import { resolveConfig } from '../../../core/config/resolve.ts';
import { timeLimits } from '../../../core/config/time-limits.ts';

const baseUrl = 'https://clinic.example/fhir/R4';

test('by default Medplum has 15 seconds, a Bot 10, and one exchange of a Bot 6', () => {
  expect(timeLimits(resolveConfig({ baseUrl }))).toEqual({
    headers: 10_000,
    request: 30_000,
    answer: 15_000,
    bot: 10_000,
    decide: 8_000,
    exchange: 6_000,
    place: 10_000,
    turn: 5_000,
  });
});

test.each([5, 30, 600])('with %i seconds an attempt still fits into the time that the gateway waits', (timeout) => {
  const { answer, bot, decide, exchange } = timeLimits({ timeout });
  expect(bot).toBeLessThan(answer);
  expect(decide + exchange).toBeLessThan(answer);
});

test.each([
  [5, 3_333],
  [90, 60_000],
  [600, 60_000],
])(
  'with %i seconds headers may take %i ms: strangers keep no connection for longer than a minute',
  (timeout, headers) => {
    expect(timeLimits({ timeout }).headers).toBe(headers);
  },
);

test.each([4, 601, 7.5])('%d seconds are refused', (timeout) => {
  expect(() => resolveConfig({ baseUrl, timeout })).toThrow(/timeout/);
});
