/**
 * Breaks the rules of docs/conformance.md one by one, in a copy of the project, and tells which of the tests that their
 * rows name stay green. A word as argument chooses the rules that contain it.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Break, breaks } from './breaks.ts';
import { type Copy, copyProject } from './copy.ts';
import { type NamedTest, patternOf, rows } from './rows.ts';

/** The part of Jest's report that is read. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly title: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

/** What became of a test: of its cases the first failure, if there is one, and how many passed. */
interface Verdict {
  readonly test: NamedTest;
  readonly failure: string | undefined;
  readonly passed: number;
}

const preload = ['--import', './test/lib/worker-data.ts'];
const jest = ['--disable-warning=ExperimentalWarning', ...preload, 'node_modules/jest/bin/jest.js'];

/** What waits for something that never happens is to end soon; the unbroken project passes with the same limits. */
const limits = { TIME_SCALE: process.env.TIME_SCALE ?? '3' };

async function run({ folder }: Copy, tests: readonly NamedTest[]): Promise<Verdict[]> {
  const output = resolve('dist/rules/report.json');
  rmSync(output, { force: true });
  const names = tests.map(({ name }) => patternOf(name)).join('|');
  const files = [...new Set(tests.map(({ file }) => file))];
  const child = spawn(process.execPath, [...jest, '--json', `--outputFile=${output}`, '-t', names, ...files], {
    cwd: folder,
    env: { ...process.env, ...limits },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const errors: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
  await once(child, 'close');
  if (!existsSync(output)) {
    throw new Error(`The tests did not run: ${Buffer.concat(errors).toString().slice(-1_000)}`);
  }
  const { testResults }: Report = JSON.parse(readFileSync(output, 'utf8'));
  return tests.map((test) => {
    const title = new RegExp(`^${patternOf(test.name)}`);
    const file = testResults.find(({ name }) => name === join(resolve(folder), test.file));
    const cases = (file?.assertionResults ?? []).filter((one) => title.test(one.title));
    const failed = cases.find(({ status }) => status === 'failed');
    return {
      test,
      failure: failed && (failed.failureMessages[0] ?? 'failed'),
      passed: cases.filter(({ status }) => status === 'passed').length,
    };
  });
}

const testsOf = ({ rule, fails }: Break): readonly NamedTest[] =>
  (rows.find((row) => row.rule === rule)?.tests ?? []).filter(({ name }) => fails?.includes(name) ?? true);

// biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of Jest's messages
const plain = (text: string): string => text.replaceAll(/\u001b\[\d+m/g, '');

/** The lines of a failure that say what was expected, or else its first. */
function summary(failure: string): string {
  const lines = plain(failure).split('\n');
  const told = lines.filter((line) => /^\s*(Expected|Received|[-+] )/.test(line)).map((line) => line.trim());
  return (told.length > 0 ? told.slice(0, 4).join(' · ') : (lines[0] ?? '')).slice(0, 240);
}

const [, , word = ''] = process.argv;
const chosen = breaks.filter(({ rule }) => rule.includes(word));
const copy = copyProject('dist/rules/copy');

const unbroken = await run(copy, [
  ...new Map(chosen.flatMap(testsOf).map((one) => [`${one.file} ${one.name}`, one])).values(),
]);
const red = unbroken.filter(({ failure, passed }) => failure !== undefined || passed === 0);
if (red.length > 0) {
  throw new Error(
    `Without a break these fail or do not run: ${red.map(({ test, failure }) => `${test.file}: ${test.name} (${summary(failure ?? 'not run')})`).join('\n')}`,
  );
}

let survivors = 0;
for (const one of chosen) {
  console.log(`\n${one.rule}`);
  for (const { file, from, to } of one.edits) {
    console.log(`  ${file}: ${from.trim()} → ${to.trim() || 'nothing'}`);
  }
  const verdicts = await copy
    .while(one.edits, () => run(copy, testsOf(one)))
    .catch((error: unknown) => {
      console.log(`  DID NOT RUN: ${error}`);
      return testsOf(one).map((test): Verdict => ({ test, failure: undefined, passed: 0 }));
    });
  for (const { test, failure, passed } of verdicts) {
    survivors += failure === undefined ? 1 : 0;
    console.log(`  ${failure === undefined ? 'STAYS GREEN' : 'fails'}: ${test.file}: “${test.name}”`);
    console.log(`    ${failure === undefined ? `${passed} cases passed` : summary(failure)}`);
  }
}
console.log(`\n${chosen.length} breaks, ${survivors} tests that stay green`);
process.exitCode = survivors === 0 ? 0 : 1;
