import { createRequire } from 'node:module';
import { expect, it } from '@jest/globals';
import type { LegacyHighs } from 'highs';
import { assign, type Choice } from '../../../core/absence/assign.ts';
import { overlaps } from '../../../core/time/interval.ts';
import { FUZZ } from '../../lib/hostile-texts.ts';

const load: () => Promise<LegacyHighs> = createRequire(import.meta.url)('highs');

const NONE = 100_000;

/** Numbers from 0 to 1 that are the same in each run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Appointments of a few people, and times of some calendars: on a grid, on one that overlaps, some of two calendars. */
function instance(random: () => number): Choice[][] {
  const below = (limit: number): number => Math.floor(random() * limit);
  const [rows, calendars, times] = [2 + below(10), 1 + below(3), 2 + below(10)];
  const step = random() < 0.5 ? 30 : 15;
  const people = rows - below(rows / 2);
  return Array.from({ length: rows }, (_, row) => {
    const [start, person] = [below(times) * step, row % people];
    return Array.from({ length: calendars * times }, (_, index): Choice[] => {
      const [calendar, begin] = [Math.floor(index / times), (index % times) * step];
      const time = { start: begin, end: begin + 30 };
      const room = random() < 0.2 ? [{ of: `room ${below(2)}`, ...time }] : [];
      const cost = 1 + (calendar === 0 ? 0 : 300) + (begin === start ? 0 : 400) + Math.abs(begin - start);
      const uses = [{ of: `calendar ${calendar}`, ...time }, { of: `person ${person}`, ...time }, ...room];
      return random() < 0.3 ? [] : [{ key: `${calendar}@${begin}`, cost, uses }];
    }).flat();
  });
}

const excludes = (choice: Choice, other: Choice): boolean =>
  choice.key === other.key ||
  choice.uses.some((use) => other.uses.some((its) => use.of === its.of && overlaps(use, its)));

/** The least cost that is possible, by another solver. */
function optimum(solver: LegacyHighs, rows: readonly (readonly Choice[])[]): number {
  const all = rows.flatMap((choices, row) =>
    choices.map((choice, index) => ({ row, choice, name: `x${row}_${index}` })),
  );
  if (all.length === 0) {
    return rows.length * NONE;
  }
  const one = rows
    .map((_, row) => all.filter((it) => it.row === row).map(({ name }) => name))
    .filter(({ length }) => length > 0);
  // Whatever uses something at a moment excludes each other.
  const moments = [...new Set(all.flatMap(({ choice }) => choice.uses.map(({ start }) => start)))];
  const used = [...new Set(all.flatMap(({ choice }) => choice.uses.map(({ of }) => of)))];
  const at = used.flatMap((of) =>
    moments.map((moment) =>
      all
        .filter(({ choice }) => choice.uses.some((use) => use.of === of && use.start <= moment && moment < use.end))
        .map(({ name }) => name),
    ),
  );
  const lines = [...one, ...at.filter(({ length }) => length > 1)].map(
    (names, index) => ` c${index}: ${names.join(' + ')} <= 1`,
  );
  const model = [
    'Maximize',
    ` obj: ${all.map(({ name, choice }) => `${NONE - choice.cost} ${name}`).join(' + ')}`,
    'Subject To',
    ...lines,
    'Binary',
    ` ${all.map(({ name }) => name).join(' ')}`,
    'End',
  ].join('\n');
  return rows.length * NONE - Math.round(solver.solve(model).ObjectiveValue);
}

const costOf = (chosen: readonly (Choice | undefined)[]): number =>
  chosen.reduce((sum, choice) => sum + (choice?.cost ?? NONE), 0);

const PLANS = 100 * FUZZ;

it(`${PLANS} plans cost at most two hundredths above the least that is possible, and none uses anything twice`, async () => {
  const solver = await load();
  const random = seeded(17);
  let [cost, least, exact] = [0, 0, 0];
  for (let count = 0; count < PLANS; count++) {
    const rows = instance(random);
    const chosen = assign(rows, NONE);
    const taken = chosen.filter((choice) => choice !== undefined);
    expect(taken.filter((choice, index) => taken.some((other, at) => at < index && excludes(choice, other)))).toEqual(
      [],
    );
    const optimal = optimum(solver, rows);
    exact += Number(costOf(chosen) === optimal);
    [cost, least] = [cost + costOf(chosen), least + optimal];
  }
  expect(cost / least).toBeLessThanOrEqual(1.02);
  expect(exact).toBeGreaterThan(0.95 * PLANS);
});
