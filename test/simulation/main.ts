import { Command, Option } from 'commander';
import { runAsProgram } from '../../scripts/cli/command.ts';
import { formatTable } from '../../scripts/cli/table.ts';
import { wholeNumber } from '../../scripts/cli/whole-number.ts';
import { loadSimulation } from './simulation.ts';

interface Arguments {
  readonly scene?: string;
  readonly random?: string | true;
  readonly mistakes?: string | true;
  readonly all?: boolean;
  readonly cast: 'all' | 'portals';
  readonly seed: number;
  readonly plays: number;
  readonly steps: number;
  readonly faults: number;
  readonly minutes?: number;
}

type Simulation = Awaited<ReturnType<typeof loadSimulation>>;

/** Something to play: it says how much it has played, and what was broken. */
interface Part {
  readonly name: string;
  readonly run: (
    until: number,
  ) => Promise<{ readonly count: string; readonly rules: string; readonly history: string }>;
}

const unique = (texts: readonly string[]): string => [...new Set(texts)].join('; ');

function sceneParts({ scenes, playScene, tableOf }: Simulation, given: Arguments): Part[] {
  const wanted = scenes.filter(({ name }) => name.includes(given.scene ?? ''));
  return wanted.map((scene) => ({
    name: scene.name,
    async run(until) {
      const { plays, isComplete, failed } = await playScene(scene, { ...given, until });
      return {
        count: `${plays}${isComplete ? ' (all)' : ''}`,
        rules: unique((failed?.violations ?? []).map(({ rule }) => rule)),
        history: failed ? tableOf(failed) : '',
      };
    },
  }));
}

function randomParts({ calendars, playRuns, tableOf }: Simulation, given: Arguments): Part[] {
  const wanted = calendars.filter((name) => given.random === true || name.includes(given.random ?? ''));
  return wanted.map((name) => ({
    name: `random: ${name}`,
    async run(until) {
      const milliseconds = Number.isFinite(until) ? Math.max(1, until - performance.now()) : 2 ** 31 - 1;
      const bounds = {
        seed: given.seed,
        runs: 1_000_000,
        steps: given.steps,
        length: 5,
        faults: given.faults,
        cast: given.cast,
      };
      const { runs, steps, failed, plan } = await playRuns(name, { ...bounds, milliseconds });
      return {
        count: `${runs}, ${steps} steps`,
        rules: unique((failed?.play.violations ?? []).map(({ rule }) => rule)),
        history: failed ? `${JSON.stringify(plan)}\n${tableOf(failed.play)}` : '',
      };
    },
  }));
}

function mistakeParts({ mistakes, seek }: Simulation, given: Arguments): Part[] {
  const wanted = mistakes.filter((name) => given.mistakes === true || name.includes(given.mistakes ?? ''));
  return wanted.map((name) => ({
    name,
    async run(until) {
      const found = await seek(name, {
        seed: given.seed,
        among: given.scene ?? '',
        until: Math.min(until, performance.now() + 60_000),
      });
      return { count: found ? `found: ${found.scene}` : '', rules: found ? '' : 'not found', history: '' };
    },
  }));
}

async function main(): Promise<void> {
  const given = new Command()
    .name('npm run simulate --')
    .description(
      'Plays portals, staff, Medplum and its clock in one process, in all orders of their requests, and prints the first ' +
        'history of each scene that breaks a rule. Exit status 1 if there is one.',
    )
    .option('--scene <text>', 'the scenes whose names contain this text')
    .option('--random [calendar]', 'random acts in the calendars whose names contain this text, instead of scenes')
    .option('--mistakes [text]', 'which scenes notice mistakes that the Bots are made to make, instead of playing all')
    .option('--all', 'the scenes, and random acts in all calendars')
    .addOption(new Option('--cast <who>', 'who takes part in random acts').choices(['all', 'portals']).default('all'))
    .option('--seed <number>', 'decides what is random', wholeNumber(0), 1)
    .option('--plays <number>', 'how many orders of a scene are played at most', wholeNumber(1), 2_000)
    .option('--steps <number>', 'how many steps random acts take at most, in each calendar', wholeNumber(1), 20_000)
    .option('--faults <number>', 'how many actors may die, or answers be lost, in one play', wholeNumber(0), 0)
    .option('--minutes <number>', 'how long everything may take together', wholeNumber(1))
    .parse()
    .opts<Arguments>();
  const simulation = await loadSimulation();
  const parts = [
    ...(given.mistakes === undefined ? [] : mistakeParts(simulation, given)),
    ...(given.random === undefined && given.mistakes === undefined ? sceneParts(simulation, given) : []),
    ...(given.random !== undefined || given.all ? randomParts(simulation, given) : []),
  ];
  const end = performance.now() + (given.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
  const rows: string[][] = [];
  for (const [index, { name, run }] of parts.entries()) {
    const begin = performance.now();
    const { count, rules, history } = await run(begin + (end - begin) / (parts.length - index));
    rows.push([name, count, ((performance.now() - begin) / 1_000).toFixed(1), rules]);
    if (history) {
      process.exitCode = 1;
      console.log(`\n${name}\n${history}`);
    }
  }
  console.log(`\n${formatTable(['scene', 'played', 'seconds', 'broken'], rows)}`);
  console.log(
    `\n${rows.filter((row) => row[3] !== '').length} of ${rows.length} are not as they should be. Seed ${given.seed}.`,
  );
}

await runAsProgram(import.meta.url, main);
