/**
 * Mutation testing: puts small changes into a copy of the project, each behind a switch, turns one on at a time, runs the
 * tests that reach it, and lists those that no test notices. `SAMPLE` mutants (30) are tried, chosen by `SEED` (1), for
 * `MINUTES` (60) at most. The same command goes on where it stopped, unless the project has changed.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { copyProject } from '../rules/copy.ts';
import { chooseMutants, type Mutant, sha256 } from './mutants.ts';
import type { Ran } from './run.ts';

const { SAMPLE = '30', SEED = '1', MINUTES = '60' } = process.env;
const [, , ...paths] = process.argv;
const folders = paths.length > 0 ? paths : ['core', 'gateway', 'bots'];
const end = Date.now() + Number(MINUTES) * 60_000;

/** With a mutant a test file may take so many times as long as without, and a minute. */
const PATIENCE = 5;

/** What a test file is taken for that has not been measured. */
const UNKNOWN = 240_000;

/** After so many mutants the tests of one run again without it, and must pass: the machine does not decide. */
const CONTROL = 20;

/** Milliseconds of tests for a mutant before the next has its turn: most are noticed soon, a survivor needs all tests. */
const ROUNDS = [15_000, 60_000, Number.POSITIVE_INFINITY];
const OPEN = 'open';

/** A test file without a mutant: how long it takes, and which mutants it reaches; it fails in the copy if `failure` is there. */
interface Test extends Pick<Ran, 'file' | 'failure'> {
  readonly milliseconds: number;
  readonly reached: readonly string[];
}

/** A mutant that was tried: the test that noticed it, and whether that passed without it, if it was run again. */
interface Trial {
  readonly place: string;
  readonly mutant: string;
  readonly verdict: string;
  /** How many of the tests that reach it have not noticed it. */
  readonly passed: number;
  readonly test: string | undefined;
  readonly control: boolean | undefined;
  readonly milliseconds: number;
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

const { count, chosen, files } = await chooseMutants(folders, SEED, Number(SAMPLE));
const folder = resolve('dist/mutation');
const copy = copyProject(join(folder, 'copy')).folder;
const read = globSync('*/**/*.{ts,tsx,js,json}', { cwd: copy, exclude: ['node_modules', 'test/mutation'] }).sort();
const key = sha256([SEED, SAMPLE, folders, read.map((file) => readFileSync(join(copy, file), 'utf8'))]);
for (const { name, content } of files) {
  writeFileSync(join(copy, name), content);
}

/** What is known already: the key, and a line for each test file and each trial. */
const log = join(folder, 'log.jsonl');
const [from, ...lines] = existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
const known: (Test | Trial)[] = from === key ? lines.map((line) => JSON.parse(line)) : [];
writeFileSync(log, [key, ...known.map((one) => JSON.stringify(one)), ''].join('\n'));
const tests = new Map(known.flatMap((one) => ('file' in one ? [[one.file, one]] : [])));
const trials = new Map(known.flatMap((one) => ('place' in one ? [[one.place, one]] : [])));

/** Runs tests on the copy, up to the first that fails or does not end; nothing of it goes on. */
async function run(words: readonly string[], environment: object, learn: (one: Ran) => void = () => undefined) {
  if (words.length === 0) {
    return { ran: [], failed: undefined, isLate: false };
  }
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary, { recursive: true });
  const options = `--disable-warning=ExperimentalWarning --import=${join(copy, 'test/mutation/switch.ts')}`;
  const child = spawn(process.execPath, ['test/mutation/run.ts', ...words], {
    cwd: copy,
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: {
      ...process.env,
      NODE_OPTIONS: options,
      TMPDIR: temporary,
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
      TINYPOOL_WORKER_ID: '0',
      ...environment,
    },
  });
  const endAll = (): unknown => spawnSync('kill', ['-KILL', '--', `-${child.pid}`]);
  const timer = (file = ''): NodeJS.Timeout =>
    setTimeout(endAll, 60_000 + PATIENCE * (tests.get(file)?.milliseconds ?? UNKNOWN));
  const ran: Ran[] = [];
  let late = timer(words[0]);
  child.on('message', (one: Ran) => {
    clearTimeout(late);
    late = timer(words[ran.push(one)]);
    learn(one);
  });
  const [, signal] = await once(child, 'close');
  clearTimeout(late);
  endAll();
  rmSync(temporary, { recursive: true, force: true });
  const failed = ran.find(({ failure }) => failure)?.file ?? words[ran.length];
  return { ran, failed, isLate: signal === 'SIGKILL' };
}

/** Learns how long tests take, and what each reaches: also what its service reached as it started. */
async function measure(words: readonly string[]): Promise<void> {
  const hits = join(folder, 'reached');
  writeFileSync(hits, '');
  let first = 0;
  const { ran } = await run(words, { REACHED: hits }, ({ file, from, to, failure }) => {
    first ||= from;
    const reached = readFileSync(hits, 'utf8')
      .trim()
      .split('\n')
      .flatMap((line) => {
        const [time = 0, id = ''] = line.split(' ');
        return Number(time) < first || (Number(time) > from - 300 && Number(time) <= to) ? [id] : [];
      });
    const test = { file, milliseconds: to - from, reached: [...new Set(reached)], failure };
    tests.set(file, test);
    appendFileSync(log, `${JSON.stringify(test)}\n`);
  });
  if (ran.length < words.length) {
    throw new Error(`Without a mutant this test does not end: ${words[ran.length]}`);
  }
}

const { default: jest } = await import(resolve('jest.config.js'));
const isSlow = (file: string): boolean =>
  jest.projects[0].testPathIgnorePatterns.some((slow: string) => new RegExp(slow).test(`/${file}`));
const needsService = (file: string): boolean => /^test\/(contract|faults)\//.test(file);
const missing = globSync('test/!(browser|operations)/**/*.test.ts', { cwd: copy })
  .filter((file) => !tests.has(file))
  .sort();
for (const file of missing.filter((one) => !needsService(one))) {
  await measure([file]);
}
if (missing.some(needsService)) {
  await measure(missing.filter(needsService));
}
const broken = [...tests.values()].filter(({ failure }) => failure).map(({ file }) => file);
console.log(`${tests.size} test files, without those that fail in the copy: ${broken.join(', ') || 'none'}`);

/** First those that are named like the source file, then the quick ones; at last those that need a service, and the slow ones. */
function order({ file: source }: Mutant): (one: Test, other: Test) => number {
  const words = source.replace('.ts', '').split('/');
  const cost = ({ file, milliseconds }: Test): number =>
    (isSlow(file) ? 2e9 : needsService(file) ? 1e9 : 0) +
    milliseconds / 4 ** words.filter((word) => file.includes(word)).length;
  return (one, other) => cost(one) - cost(other);
}

/** How many of the first tests take so many milliseconds without a mutant; one at least. */
function countWithin(some: readonly Test[], budget: number): number {
  let sum = 0;
  return some.filter(({ milliseconds }, index) => {
    sum += milliseconds;
    return index === 0 || sum <= budget;
  }).length;
}

/** Goes on with a mutant: the tests that reach it, up to a budget, without those that it has passed. */
async function tryOut(mutant: Mutant, passed: number, budget: number): Promise<Trial> {
  const reaching = [...tests.values()].filter(({ reached, failure }) => !failure && reached.includes(mutant.id));
  const goal = countWithin(reaching.sort(order(mutant)), budget);
  const next = reaching.slice(passed, goal).map(({ file }) => file);
  const begin = Date.now();
  const { failed, isLate } = await run(next, { MUTANT: mutant.id });
  const milliseconds = Date.now() - begin;
  const isControl = failed !== undefined && (isLate || noticed().length % CONTROL === 0);
  const again = isControl ? await run(next.slice(0, next.indexOf(failed) + 1), {}) : undefined;
  const missed = goal < reaching.length ? OPEN : reaching.length > 0 ? 'NOT NOTICED' : 'NOT REACHED';
  return {
    ...{ place: mutant.place, mutant: mutant.text, passed: Math.max(passed, goal), test: failed, milliseconds },
    verdict: failed ? `noticed${isLate ? ', takes too long' : ''}` : missed,
    control: again && again.failed === undefined,
  };
}

/** What the machine decided does not count. */
const counted = (): Trial[] => [...trials.values()].filter(({ control }) => control !== false);
const noticed = (): Trial[] => counted().filter(({ test }) => test);
for (const budget of ROUNDS) {
  for (const mutant of chosen) {
    const { verdict = OPEN, passed = 0 } = trials.get(mutant.place) ?? {};
    if (verdict === OPEN && Date.now() < end) {
      const trial = await tryOut(mutant, passed, budget);
      trials.set(mutant.place, trial);
      appendFileSync(log, `${JSON.stringify(trial)}\n`);
      console.log(`${trial.verdict}: ${trial.mutant}`);
    }
  }
}
const [tried, killed, open] = [counted(), noticed(), counted().filter(({ verdict }) => verdict === OPEN)];
const controls = [...trials.values()].filter(({ control }) => control !== undefined);
console.log(
  [
    '',
    'Not noticed:',
    ...tried.filter(({ test }) => !test).map(({ verdict, mutant }) => `${verdict}: ${mutant}`),
    '',
  ].join('\n'),
);
console.log(
  `${killed.length} of ${tried.length} noticed (${count} mutants in all), ${shareText(killed.length, tried.length)}`,
);
console.log(`${open.length} are open: not all tests that reach them have run with them`);
console.log(
  `${controls.filter(({ control }) => !control).length} of ${controls.length} controls failed; their mutants do not count`,
);
