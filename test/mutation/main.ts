/** Mutation testing: breaks the rules of each room one by one, and lists the changes that no test notices. */
import type { PartialStrykerOptions } from '@stryker-mutator/api/core';
import { Stryker } from '@stryker-mutator/core';
import { type Score, scoreOf, shareOf, shareText, survivors, totalOf } from './score.ts';
import { settingsFrom } from './settings.ts';

/** The smallest share of mutants, in percent, that tests must notice. */
const ENOUGH = 90;

function optionsFor(room: string): PartialStrykerOptions {
  const results = `dist/mutation/${room.replaceAll('/', '-')}`;
  return {
    mutate: [`${room}/**/*.ts`],
    plugins: ['./test/mutation/runner.ts', './test/mutation/sample.ts'],
    testRunner: 'warm',
    checkers: ['sample'],
    coverageAnalysis: 'perTest',
    concurrency: 2,
    timeoutMS: 20_000,
    // The tests of a room take some minutes on a busy machine.
    dryRunTimeoutMinutes: 30,
    tempDirName: `${results}/sandbox`,
    cleanTempDir: 'always',
    // The description of the interface is compared with the file that is generated from it.
    ignorePatterns: ['dist', 'docs/*', '!docs/openapi.json'],
    reporters: ['progress-append-only', 'json', 'html'],
    jsonReporter: { fileName: `${results}/report.json` },
    htmlReporter: { fileName: `${results}/report.html` },
    allowConsoleColors: false,
    disableTypeChecks: false,
    warnings: false,
    // There is none of this name: Stryker would read it with the compiler's JavaScript API, which TypeScript 7 lacks.
    tsconfigFile: 'none',
  };
}

const { rooms, size, seed } = settingsFrom(process.env);
const scores = new Map<string, Score>();
for (const room of rooms) {
  process.env.ROOM = room; // for the processes of Stryker
  const results = await new Stryker(optionsFor(room)).runMutationTest();
  console.log(['', ...survivors(results), ''].join('\n'));
  scores.set(room, scoreOf(results));
}
console.log(`Sample: ${size === Number.POSITIVE_INFINITY ? 'all' : size} of each room, seed ${seed}`);
for (const [room, score] of scores) {
  console.log(
    `${room}: ${score.killed} of ${score.tried} killed (${score.mutants} in all), ${shareText(shareOf(score))}`,
  );
}
if (scores.size > 1) {
  console.log(`All rooms: ${shareText(totalOf([...scores.values()]))}`);
}
process.exitCode = [...scores.values()].every((score) => shareOf(score).value >= ENOUGH) ? 0 : 1;
