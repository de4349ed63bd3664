import { beforeAll, describe, expect, it } from '@jest/globals';
import { scaled } from '../lib/time-scale.ts';
import { scenes } from './scenes.ts';
import { loadSimulation } from './simulation.ts';

/** How many orders of each scene are played here; `npm run simulate -- --all` plays more. */
const PLAYS = 2;

let simulation: Awaited<ReturnType<typeof loadSimulation>>;
beforeAll(async () => {
  simulation = await loadSimulation();
}, scaled(60_000));

describe('in every order of what portals, staff, Medplum and the clock do, the rules of the calendar hold', () => {
  it.each(scenes.map((scene) => [scene.name, scene] as const))('%s', async (_, scene) => {
    const { failed } = await simulation.playScene(scene, { seed: 1, plays: PLAYS, faults: 0 });
    expect(failed && simulation.tableOf(failed)).toBeUndefined();
  });
});

it('what all do at random breaks no rule where slots overlap and need time between them', async () => {
  const bounds = {
    seed: 1,
    steps: 300,
    length: 5,
    faults: 0,
    cast: 'all',
    milliseconds: scaled(20_000),
  } as const;
  const { failed } = await simulation.playRuns('published, with time around appointments', bounds);
  expect(failed && simulation.tableOf(failed.play)).toBeUndefined();
});

it('a mistake that a Bot makes is noticed', async () => {
  expect(await simulation.seek('a booking forgets the versions of Slots', { seed: 1 })).toBeDefined();
});
