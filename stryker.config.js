import { common } from './jest.config.js';

/**
 * Mutation testing: breaks the rules one by one and says which of these changes no test notices.
 *
 * @type {import('@stryker-mutator/api/core').PartialStrykerOptions}
 */
export default {
  mutate: ['core/booking/**/*.ts', 'core/notifications/**/*.ts', 'gateway/**/*.ts'],
  testRunner: 'jest',
  // The tests that need no other process: each mutant meets those of them that run its line.
  jest: {
    projectType: 'custom',
    config: { ...common, testMatch: ['<rootDir>/test/{core,gateway}/**/*.test.ts'], testTimeout: 30_000 },
    enableFindRelatedTests: true,
  },
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  // Modules of a finished test run are never freed.
  maxTestRunnerReuse: 80,
  concurrency: 2,
  timeoutMS: 20_000,
  // What was measured is kept; only what has changed is measured again.
  incremental: true,
  incrementalFile: 'dist/mutation/incremental.json',
  tempDirName: 'dist/mutation/sandbox',
  reporters: ['clear-text', 'progress-append-only', 'json', 'html'],
  clearTextReporter: { logTests: false, allowColor: false },
  jsonReporter: { fileName: 'dist/mutation/report.json' },
  htmlReporter: { fileName: 'dist/mutation/report.html' },
  ignorePatterns: ['dist', 'docs'],
  disableTypeChecks: false,
  // There is none of this name: Stryker would read it with the compiler's JavaScript API, which TypeScript 7 lacks.
  tsconfigFile: 'none',
};
