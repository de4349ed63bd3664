import { Command } from 'commander';
import { runAsProgram } from '../../scripts/cli/command.ts';
import { formatTable } from '../../scripts/cli/table.ts';
import { wholeNumber } from '../../scripts/cli/whole-number.ts';
import { loadSimulation } from './simulation.ts';

interface Arguments {
  readonly scene?: string;
  readonly all?: boolean;
  readonly plays: number;
  readonly faults: number;
  readonly minutes?: number;
}

async function main(): Promise<void> {
  const given = new Command()
    .name('npm run simulate --')
    .description(
      'Plays scenes of portals, staff, Medplum and its clock in all orders of their requests, in one process, and says ' +
        'which order breaks a rule.',
    )
    .option('--scene <text>', 'only the scenes whose names contain this text')
    .option('--plays <number>', 'how many orders of a scene are played at most', wholeNumber(1), 2000)
    .option('--faults <number>', 'how many actors may die, or answers be lost, in one play', wholeNumber(0), 0)
    .option('--minutes <number>', 'how long all scenes may take together', wholeNumber(1))
    .parse()
    .opts<Arguments>();
  const { scenes, exploreScene, tableOf } = await loadSimulation();
  const wanted = scenes.filter(({ name }) => name.includes(given.scene ?? ''));
  const end = performance.now() + (given.minutes ?? Number.POSITIVE_INFINITY) * 60_000;
  const rows: string[][] = [];
  let total = 0;
  for (const [index, scene] of wanted.entries()) {
    const begin = performance.now();
    const until = begin + (end - begin) / (wanted.length - index);
    const { plays, isComplete, failed } = await exploreScene(scene, {
      plays: given.plays,
      faults: given.faults,
      until,
    });
    const seconds = (performance.now() - begin) / 1_000;
    total += plays;
    const rules = [...new Set(failed?.violations.map(({ rule }) => rule))].join('; ');
    rows.push([scene.name, String(plays), isComplete ? 'all' : failed ? '' : 'cut', seconds.toFixed(1), rules]);
    if (failed) {
      process.exitCode = 1;
      console.log(`\n${scene.name}\n${tableOf(failed)}`);
    }
  }
  console.log(`\n${formatTable(['scene', 'orders', '', 'seconds', 'broken'], rows)}`);
  const broken = rows.filter((row) => row[4] !== '').length;
  console.log(`\n${total} orders of ${rows.length} scenes, ${broken} scenes break a rule.`);
}

await runAsProgram(import.meta.url, main);
