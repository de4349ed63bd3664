/**
 * Mutation testing: breaks the sources one change at a time, in a copy of the project, and lists the changes that no test
 * notices. `SAMPLE` mutants (30) are tried, chosen by `SEED` (1), for `MINUTES` (60) at most.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { copyProject } from '../rules/copy.ts';

const { SAMPLE = '30', SEED = '1', MINUTES = '60' } = process.env;
const [, , ...paths] = process.argv;
const folders = paths.length > 0 ? paths : ['core', 'gateway', 'bots'];

/** A change of a source file: the text between two places of it becomes another one. */
interface Mutant {
  readonly file: string;
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly replacement: string;
}

async function mutantsOf(file: string): Promise<Mutant[]> {
  const nothing = (): void => undefined;
  const no = (): boolean => false;
  const logger: ConstructorParameters<typeof Instrumenter>[0] = {
    ...{ isTraceEnabled: no, isDebugEnabled: no, isInfoEnabled: no, isWarnEnabled: no, isErrorEnabled: no },
    ...{ isFatalEnabled: no, trace: nothing, debug: nothing, info: nothing, warn: nothing, error: nothing },
    fatal: nothing,
  };
  const text = readFileSync(file, 'utf8');
  const source = { name: file, content: text, mutate: true };
  const options = { plugins: null, excludedMutations: [], ignorers: [] };
  const { mutants } = await new Instrumenter(logger).instrument([source], options);
  const lines = text.split('\n');
  const offset = ({ line, column }: { line: number; column: number }): number =>
    lines.slice(0, line).reduce((sum, { length }) => sum + length + 1, column);
  return mutants.map(({ location: { start, end }, replacement }) => ({
    ...{ file, text, from: offset(start), to: offset(end), replacement },
  }));
}

/** The share of mutants that are noticed, in percent, with the 95 % confidence interval of Wilson. */
function shareText(noticed: number, tried: number): string {
  const [z, p] = [1.96, noticed / tried];
  const scale = 1 + z ** 2 / tried;
  const middle = (p + z ** 2 / (2 * tried)) / scale;
  const half = (z / scale) * Math.sqrt((p * (1 - p)) / tried + z ** 2 / (4 * tried ** 2));
  const [share, low, high] = [p, middle - half, middle + half].map((one) => (100 * one).toFixed(1));
  return `${share} %, 95 % confidence ${low}–${high} %`;
}

/** A number that looks random, and is the same in every run with this seed. */
const rank = ({ file, from, to, replacement }: Mutant): string =>
  createHash('sha256')
    .update(JSON.stringify([SEED, file, from, to, replacement]))
    .digest('hex');

const copy = copyProject('dist/mutation/copy');

/**
 * Runs tests on the copy as it is, up to the first failure.
 *
 * @returns whether one has failed, or did not end
 */
function fails(...words: readonly string[]): boolean {
  const { status } = spawnSync('npm', ['test', '--', '--bail', ...words], {
    cwd: copy.folder,
    stdio: 'ignore',
    timeout: 600_000,
  });
  return status !== 0;
}

/** The tests that load the file, and the simulation, which loads every Bot. */
const unit = (file: string): string[] => [
  ...['--selectProjects', 'unit', '--findRelatedTests', file],
  ...(/^(core|bots)\//.test(file) ? ['test/simulation/simulation.test.ts'] : []),
];

/** Those that start the service: they take minutes, and run only for what the others did not notice. */
const rest = ['test/contract', '--selectProjects', 'contract'];

/** Whether a test notices a mutant. */
const isNoticed = ({ file, text, from, to, replacement }: Mutant): Promise<boolean> =>
  copy.while([{ file, from: text, to: `${text.slice(0, from)}${replacement}${text.slice(to)}` }], async () =>
    [unit(file), rest].some((words) => fails(...words)),
  );

const files = folders.flatMap((path) => (path.endsWith('.ts') ? [path] : globSync(`${path}/**/*.ts`).sort()));
const all = (await Promise.all(files.map(mutantsOf))).flat();
const sample = all.sort((one, other) => rank(one).localeCompare(rank(other))).slice(0, Number(SAMPLE));
const end = Date.now() + Number(MINUTES) * 60_000;

if (fails('--selectProjects', 'unit', '--findRelatedTests', ...new Set(sample.map(({ file }) => file)))) {
  throw new Error('Tests fail without a mutant.');
}
let [tried, killed] = [0, 0];
for (const mutant of sample) {
  if (Date.now() > end) {
    break;
  }
  const { file, text, from, to, replacement } = mutant;
  const isKilled = await isNoticed(mutant);
  [tried, killed] = [tried + 1, killed + (isKilled ? 1 : 0)];
  const line = text.slice(0, from).split('\n').length;
  const [before, after] = [text.slice(from, to), replacement].map((code) => code.replaceAll(/\s+/g, ' ').slice(0, 160));
  console.log(`${isKilled ? 'noticed' : 'NOT NOTICED'}: ${file}:${line}: ${before} → ${after}`);
}
console.log(`\n${killed} of ${tried} noticed (${all.length} mutants in all), ${shareText(killed, tried)}`);
