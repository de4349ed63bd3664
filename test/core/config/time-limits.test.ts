import { expect, test } from '@jest/globals';
import { timeLimits } from '../../../core/config/config.ts';

test.each([5, 30, 600])('with %i seconds an attempt still fits into the time that the gateway waits', (timeout) => {
  const { answer, bot, decide, exchange } = timeLimits({ timeout });
  expect(bot).toBeLessThan(answer);
  expect(decide + exchange).toBeLessThan(answer);
});
