/** The room whose rules are broken, and whose own tests are to notice: `core/booking`, `core/notifications`, `gateway` … */
export const room = process.env.ROOM ?? 'core/booking';
const results = `dist/mutation/${room.replaceAll('/', '-')}`;

/**
 * Mutation testing of one room: breaks its rules one by one and says which of these changes no test notices.
 *
 * @type {import('@stryker-mutator/api/core').PartialStrykerOptions}
 */
export default {
  mutate: [`${room}/**/*.ts`],
  testRunner: 'jest',
  jest: { configFile: 'jest.mutation.config.js' },
  testRunnerNodeArgs: ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'],
  coverageAnalysis: 'perTest',
  // A constant of a module is made once, when the module is loaded: each of its mutants would need all tests.
  ignoreStatic: true,
  // The modules of a test run are never freed.
  maxTestRunnerReuse: 80,
  concurrency: 2,
  timeoutMS: 20_000,
  // Only what has changed since the last run is tried again.
  incremental: true,
  incrementalFile: `${results}/incremental.json`,
  tempDirName: `${results}/sandbox`,
  ignorePatterns: ['dist', 'docs'],
  reporters: ['clear-text', 'progress-append-only', 'json', 'html'],
  clearTextReporter: { logTests: false, allowColor: false },
  jsonReporter: { fileName: `${results}/report.json` },
  htmlReporter: { fileName: `${results}/report.html` },
  thresholds: { high: 95, low: 90, break: 90 },
  disableTypeChecks: false,
  // There is none of this name: Stryker would read it with the compiler's JavaScript API, which TypeScript 7 lacks.
  tsconfigFile: 'none',
};
