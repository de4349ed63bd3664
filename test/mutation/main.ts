/** Mutation testing: breaks the sources one change at a time, and lists the changes that no test notices. */
import type { MutantResult, PartialStrykerOptions } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { restNotices } from './rest.ts';
import { difference, isAlive, scoreOf, shareText } from './score.ts';
import { settingsFrom } from './settings.ts';

const [, , ...paths] = process.argv;
const folders = paths.length > 0 ? paths : ['core', 'gateway', 'bots'];

const options: PartialStrykerOptions = {
  mutate: folders.map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.ts`)),
  plugins: ['./test/mutation/runner.ts', './test/mutation/sample.ts'],
  testRunner: 'warm',
  checkers: ['sample'],
  coverageAnalysis: 'perTest',
  concurrency: 2,
  timeoutMS: 20_000,
  // The tests take some minutes on a busy machine.
  dryRunTimeoutMinutes: 60,
  tempDirName: 'dist/mutation/sandbox',
  cleanTempDir: 'always',
  // The description of the interface is compared with the file that is generated from it.
  ignorePatterns: ['dist', 'docs/*', '!docs/openapi.json'],
  reporters: ['progress-append-only'],
  allowConsoleColors: false,
  disableTypeChecks: false,
  warnings: false,
  // There is none of this name: Stryker would read it with the compiler's JavaScript API, which TypeScript 7 lacks.
  tsconfigFile: 'none',
};

const { size, seed } = settingsFrom(process.env);
const results: MutantResult[] = [];
for (const result of await new Stryker(options).runMutationTest()) {
  const isNoticed = isAlive(result) && restNotices(result);
  results.push(isNoticed ? { ...result, status: 'Killed' } : result);
  if (isAlive(result) && !isNoticed) {
    console.log(`\n${difference(result)}`);
  }
}
const score = scoreOf(results);
console.log(
  `\n${folders.join(', ')}: ${score.killed} of ${score.tried} killed (${score.mutants} mutants in all, ` +
    `sample ${size}, seed ${seed}), ${shareText(score)}`,
);
