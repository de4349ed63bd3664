import type { Calendar } from './clinic.ts';
import './config.ts';
import type { Bounds, Exploration } from './explore.ts';
import { install as installInside } from './inside.ts';
import type { Play } from './play.ts';
import type { RandomBounds, RandomResult } from './random.ts';
import type { Scene } from './scenes.ts';

/** How much of a scene is played. */
export interface SceneBounds extends Omit<Bounds, 'jobs'> {
  readonly seed: number;
}

/** How many orders are drawn by chance before all are played one after the other: most faults show in the first. */
const SAMPLES = 40;

/** How many orders of a scene a mistake is looked for in. */
const MAX_SOUGHT = 100;

/** The name of calendars that are drawn, and how many steps are taken in each of them, about. */
const DRAWN = 'drawn by chance';
const STEPS = 1_500;

/** In how many orders a scene shows which rules it breaks without a mistake. */
const USUAL = 30;

/**
 * Loads everything that the simulation consists of, the sources of the Bots among it, behind the clock and the network of
 * the simulated worlds.
 */
export async function loadSimulation() {
  installInside();
  const { install, loadBots } = await import('./medplum.ts');
  const { prepare } = await import('./play.ts');
  const { explore, sample } = await import('./explore.ts');
  const { drawCalendar, playRandom } = await import('./random.ts');
  const { BEGIN } = await import('./clinic.ts');
  const { calendars, scenes, waiting } = await import('./scenes.ts');
  const { tableOf } = await import('./table.ts');
  const { mistakes } = await import('./mistakes.ts');
  await loadBots();
  const installed = await install(BEGIN);

  /**
   * Plays a scene: some orders by chance; then all orders of the acts, with the jobs of Medplum after them; then all of the
   * acts and the jobs.
   */
  async function playScene(scene: Scene, { seed, plays, ...given }: SceneBounds): Promise<Exploration> {
    const bounds = { ...given, faults: scene.faults === 0 ? 0 : Math.max(given.faults, scene.faults ?? 0) };
    const prepared = await prepare(installed, scene);
    let played = 0;
    let isComplete = true;
    for (const [jobs, next] of [
      ['at once', (most: number) => sample(prepared, { ...bounds, plays: most, jobs: 'at once' }, seed)],
      ['among', (most: number) => sample(prepared, { ...bounds, plays: most, jobs: 'among' }, seed)],
      ['after', (most: number) => explore(prepared, { ...bounds, plays: most, jobs: 'after' })],
      ['among', (most: number) => explore(prepared, { ...bounds, plays: most, jobs: 'among' })],
    ] as const) {
      const isSample = jobs === 'at once' || (played < SAMPLES * 2 && jobs === 'among');
      const found = await next(isSample ? Math.min(SAMPLES, plays) : Math.max(1, plays - played));
      played += found.plays;
      isComplete &&= isSample || found.isComplete;
      if (found.failed) {
        return { ...found, plays: played };
      }
    }
    return { plays: played, states: 0, isComplete, failed: undefined };
  }

  /** Plays random runs in a calendar: one of those that are named, or one after the other that a seed decides. */
  async function playRuns(name: string, bounds: RandomBounds): Promise<RandomResult & { readonly plan: Calendar }> {
    const isDrawn = name === DRAWN;
    const end = performance.now() + bounds.milliseconds;
    const counts = { runs: 0, steps: 0 };
    for (let { seed } = bounds; ; seed++) {
      const plan = isDrawn ? drawCalendar(seed) : (calendars[name] ?? {});
      const all: Scene['calendars'] = plan.visit ? { c: plan, d: plan } : { c: plan };
      const before = isDrawn ? [] : waiting(plan);
      const server = isDrawn && seed % 2 === 1 ? { isNewest: true as const } : {};
      const prepared = await prepare(installed, { name, calendars: all, before, acts: [], ...server });
      const milliseconds = Math.max(1, end - performance.now());
      const steps = isDrawn ? Math.min(STEPS, bounds.steps - counts.steps) : bounds.steps;
      const result = await playRandom(prepared, { ...bounds, seed, steps, milliseconds });
      counts.runs += result.runs;
      counts.steps += result.steps;
      if (!isDrawn || result.failed || counts.steps >= bounds.steps || performance.now() > end) {
        return { ...result, ...counts, plan };
      }
    }
  }
  const known = new Map<string, Promise<ReadonlySet<string>>>();

  /** The rules that a scene breaks by itself, as far as some orders show. */
  async function rulesBrokenIn(scene: Scene, seed: number): Promise<ReadonlySet<string>> {
    const rules = new Set<string>();
    const bounds = { plays: USUAL, faults: scene.faults ?? 0, jobs: 'among' } as const;
    await sample(await prepare(installed, scene), bounds, seed, ({ violations }) => {
      for (const { rule } of violations) {
        rules.add(rule);
      }
      return false;
    });
    return rules;
  }

  /** What shows a mistake in a scene: a rule that it does not break by itself, or that it cannot be played at all. */
  async function noticed(scene: Scene, name: string, seed: number, plays: number): Promise<string | undefined> {
    const usual = known.get(scene.name) ?? rulesBrokenIn(scene, seed);
    known.set(scene.name, usual);
    const rules = await usual;
    const newIn = ({ violations }: Play): string | undefined => violations.find(({ rule }) => !rules.has(rule))?.rule;
    try {
      const prepared = await prepare(installed, scene, mistakes[name]);
      const bounds = { plays, faults: scene.faults ?? 0, jobs: 'among' } as const;
      const { failed } = await sample(prepared, bounds, seed, (play) => newIn(play) !== undefined);
      return failed && newIn(failed);
    } catch (error) {
      return String(error);
    }
  }

  /**
   * Lets the Bots make a mistake in all scenes, or in those whose names contain a text.
   *
   * @returns the scene that notices it, and what it says; `undefined` if none does
   */
  async function seek(
    name: string,
    { seed, until = Number.POSITIVE_INFINITY, among = '' }: Pick<SceneBounds, 'seed' | 'until'> & { among?: string },
  ) {
    const isAbout = (scene: Scene): boolean =>
      scene.name.includes(':') && name.includes(scene.name.split(':', 1)[0] ?? '');
    const wanted = scenes.filter((one) => one.name.includes(among));
    const ordered = [...wanted.filter(isAbout), ...wanted.filter((one) => !isAbout(one))];
    for (const plays of [4, 30, MAX_SOUGHT]) {
      for (const scene of ordered) {
        const says = performance.now() < until ? await noticed(scene, name, seed, plays) : undefined;
        if (says !== undefined) {
          return { scene: scene.name, says };
        }
      }
    }
    return undefined;
  }
  return {
    mistakes: Object.keys(mistakes),
    seek,
    scenes,
    calendars: [...Object.keys(calendars), DRAWN],
    playScene,
    playRuns,
    tableOf,
  };
}
