import { expect, test } from '@jest/globals';
import { runWithinRateLimit, secondsUntilReset } from '../../scripts/medplum/rate-limit-retry.ts';

test('the wait is read from the header: the longest of the limits that are reached, a minute if there is none', () => {
  expect(secondsUntilReset('"requests";r=59000;t=50, "fhirInteractions";r=0;t=17')).toBe(18);
  expect(secondsUntilReset('"requests";r=0;t=90')).toBe(61);
  expect(secondsUntilReset(null)).toBe(61);
});

const answer = (status: string, value: number) => ({ response: { status }, value });

test('entries of a batch that meet the limit are repeated, and only they; the answers stay in order', async () => {
  const runs: number[][] = [];
  const answers = await runWithinRateLimit(
    [1, 2, 3, 4],
    async (entries) => {
      runs.push(entries);
      const isFirst = runs.length === 1;
      return entries.map((entry) => answer(isFirst && entry % 2 === 0 ? '429' : '201', entry));
    },
    async () => undefined,
  );
  expect(runs).toEqual([
    [1, 2, 3, 4],
    [2, 4],
  ]);
  expect(answers.map(({ response, value }) => [response.status, value])).toEqual([
    ['201', 1],
    ['201', 2],
    ['201', 3],
    ['201', 4],
  ]);
});

test('a limit that stays is answered in the end', async () => {
  let runs = 0;
  const run = async (entries: number[]) => {
    runs += 1;
    return entries.map((entry) => answer('429', entry));
  };
  const answers = await runWithinRateLimit([1], run, async () => undefined);
  expect([runs, answers[0]?.response.status]).toEqual([5, '429']);
});
