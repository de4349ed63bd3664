/** One search for visits has so many milliseconds of the processor, over all of its pages, and keeps nobody waiting. */
import { expect, test } from '@jest/globals';
import { processorTime } from '../../../bots/lib/visits/visits.ts';
import { type OpenStep, searchVisits } from '../../../core/visits/search.ts';
import { standOf } from '../../lib/hostile-texts.ts';

const MINUTE = 60_000;
const NEVER = Number.POSITIVE_INFINITY;

/** Eight steps of an hour each, in any order, in rooms that are open for too few hours of each of some days. */
function tooFewHours(days: number): OpenStep[] {
  const candidate = (rank: number, start: number) => ({
    schedule: `room-${rank}`,
    rank,
    lane: undefined,
    slots: [String(start)],
    buffers: { before: 5 * MINUTE, after: 5 * MINUTE },
  });
  const starts = Array.from({ length: days }, (_, day) =>
    Array.from({ length: 7 * 12 }, (_, step) => day * 1_440 * MINUTE + step * 5 * MINUTE),
  ).flat();
  return Array.from({ length: 8 }, (_, index) => ({
    name: `step ${index}`,
    pools: [],
    duration: 60 * MINUTE,
    after: index === 7 ? ['step 0'] : [],
    gapMin: 0,
    gapMax: index === 7 ? 30 * MINUTE : NEVER,
    sameAs: undefined,
    isOptional: index % 3 === 2,
    openings: starts.map((start) => ({
      start,
      end: start + 60 * MINUTE,
      roles: [[candidate(0, start), candidate(1, start), candidate(2, start)]],
    })),
    knownUntil: NEVER,
    shortest: 60 * MINUTE,
    longest: 60 * MINUTE,
  }));
}

test('a search that would take very long ends after 300 ms of the processor, whatever is asked of it again', async () => {
  const time = processorTime();
  const steps = tooFewHours(1);
  const begun = process.threadCpuUsage();
  let found: unknown = 'nothing yet';
  const longest = await standOf(async () => {
    for (let page = 0; page < 5; page++) {
      found = await time.compute(searchVisits(steps, time.isDue)(0));
    }
  });
  const { user, system } = process.threadCpuUsage(begun);
  expect(found).toBeUndefined();
  expect((user + system) / 1_000).toBeLessThan(600);
  expect(longest).toBeLessThan(100);
});

test('others of the same process are answered meanwhile', async () => {
  const time = processorTime();
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  await time.compute(searchVisits(tooFewHours(1), time.isDue)(0));
  clearInterval(timer);
  expect(turns).toBeGreaterThan(5);
});
