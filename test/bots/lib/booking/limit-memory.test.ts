import { expect, it } from '@jest/globals';
import { createLimitMemory } from '../../../../bots/lib/booking/limit-memory.ts';
import type { RequestorLimit } from '../../../../core/booking/policy/requestor-limits.ts';
import { config } from '../../../core/booking/support.ts';

const limits: readonly RequestorLimit[] = ['open', 'rate'];

const memoryOf = (maxOpenAppointments: number, maxBookingsPerMinute: number) =>
  createLimitMemory({ ...config, requestors: { maxOpenAppointments, maxBookingsPerMinute } });

/** How many of so many decisions ask for each limit, if it is never reached. */
function asked(memory: ReturnType<typeof memoryOf>, decisions: number, requestor = 'portal', now = 0) {
  const all = Array.from({ length: decisions }, () => {
    const ask = memory.toAsk(limits, requestor, now);
    memory.below(ask, requestor, now);
    return ask;
  }).flat();
  return limits.map((limit) => all.filter((one) => one === limit).length);
}

it('a limit is asked for again after one in a hundred of it', () => {
  expect(asked(memoryOf(5_000, 600), 102)).toEqual([2, 15]);
});

it('a small limit is asked for with every booking', () => {
  expect(asked(memoryOf(99, 4), 20)).toEqual([20, 20]);
});

it('after a second it is asked for again', () => {
  const memory = memoryOf(5_000, 600);
  expect(asked(memory, 2)).toEqual([1, 1]);
  expect(asked(memory, 1, 'portal', 999)).toEqual([0, 0]);
  expect(asked(memory, 1, 'portal', 1_000)).toEqual([1, 1]);
});

it('each requestor is asked for by itself', () => {
  const memory = memoryOf(5_000, 600);
  asked(memory, 1);
  expect(asked(memory, 1, 'other')).toEqual([1, 1]);
});

it('a limit that is reached is asked for every time', () => {
  const memory = memoryOf(5_000, 600);
  expect(memory.toAsk(limits, 'portal', 0)).toEqual(limits);
  expect(memory.toAsk(limits, 'portal', 0)).toEqual(limits);
});

it('of very many requestors those are forgotten first that were not asked for again', () => {
  const memory = memoryOf(5_000, 600);
  const look = (requestor: string) => memory.toAsk(['open'], requestor, 0);
  memory.below(['open'], 'first', 0);
  memory.below(['open'], 'second', 0);
  memory.below(['open'], 'first', 0);
  for (let count = 2; count < 1_000; count++) {
    memory.below(['open'], `requestor ${count}`, 0);
  }
  expect([look('first'), look('second')]).toEqual([[], []]);
  memory.below(['open'], 'last', 0);
  expect([look('first'), look('second'), look('last')]).toEqual([[], ['open'], []]);
});
