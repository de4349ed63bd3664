import { Command } from 'commander';
import { attack } from '../../../packages/conformance/attack/attack.ts';
import { rules } from '../../../packages/conformance/attack/round.ts';
import { runAsProgram } from '../../../scripts/cli/command.ts';
import { formatTable } from '../../../scripts/cli/table.ts';
import { wholeNumber } from '../../../scripts/cli/whole-number.ts';
import { mistakes } from '../../simulation/mistakes.ts';
import type { Mistake } from '../../simulation/world.ts';
import { startMistaken } from './mistaken.ts';

interface Arguments {
  readonly mistakes?: string | true;
  readonly seconds: number;
  readonly seed: number;
}

/** Lets the service make each mistake, and attacks it until that is noticed. */
async function seekMistakes({ mistakes: text, seconds, seed }: Arguments): Promise<void> {
  const { given, make, running } = await startMistaken();
  const rows: string[][] = [];
  const all: Readonly<Record<string, Mistake>> = { 'no mistake': {}, ...mistakes };
  for (const name of Object.keys(all).filter((one) => text === true || one.match(text ?? ''))) {
    make(all[name] ?? {});
    const begin = performance.now();
    const passed = (): number => (performance.now() - begin) / 1_000;
    const found = await attack({ ...given, seed, goesOn: () => passed() < seconds }).then(
      ({ violations: [first], operations }) => [first ? rules[first.rule] : 'not found', String(operations)],
      (error: unknown) => [`ended: ${String(error).slice(0, 100)}`, ''],
    );
    rows.push([name, passed().toFixed(0), ...found]);
    process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`);
    make({});
  }
  console.log(formatTable(['mistake', 'seconds', 'broken rule', 'operations'], rows));
  await running.stop();
}

async function main(): Promise<void> {
  const given = new Command()
    .name('npm run test:attack --')
    .description('Attacks the service on an embedded Medplum, whose Bots make mistakes, with the conformance kit.')
    .option('--mistakes [text]', 'the mistakes whose names fit this expression')
    .option('--seconds <number>', 'how long each is attacked', wholeNumber(1), 60)
    .option('--seed <number>', 'decides what is random', wholeNumber(0), 1)
    .parse()
    .opts<Arguments>();
  await seekMistakes(given);
  process.exit();
}

await runAsProgram(import.meta.url, main);
