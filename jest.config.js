export const common = {
  // Real modules in processes of their own: those under test are loaded once for all files of a process.
  runner: ['jest-light-runner', { runtime: 'child_process' }],
  setupFiles: ['<rootDir>/test/lib/jest.ts'],
  transform: {},
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
};

/**
 * Before a release, by hand: great numbers of what other tests show once, the whole kit once more at services that are
 * broken or preset, and what only a release changes: an upgrade, one Bot by itself, Bots on AWS, what commands say to mistakes.
 */
const release = [
  '/packages/conformance/test/(broken|command|presets)[.]test[.]ts$',
  '/test/contract/(asynchronous/burst|calendar/crowded|calendar/find/find|patient/two-persons|races/(collisions|crosswise-pairs))[.]test[.]ts$',
  '/test/faults/(aws-lambda|notifications/(hanging-receivers|many-subscriptions|subscription-limit))[.]test[.]ts$',
  '/test/scripts/deploy/(deploy-one-bot|gateway-client|upgrade-while-booking)[.]test[.]ts$',
  '/test/scripts/start/start-up-errors[.]test[.]ts$',
  '/(test/gateway|apps/portal/test)/texts[.]test[.]ts$',
];

/** Tests that kill, race, wait or start many services, and take longer than all others together. */
const slow = [
  '/test/faults/.*[.]test[.]ts$',
  '/apps/assistants/test/.*[.]test[.]ts$',
  '/test/contract/races/.*[.]test[.]ts$',
  '/test/contract/(absence|requests|status/table)[.]test[.]ts$',
  '/test/contract/access/isolation-of-searches[.]test[.]ts$',
  '/test/contract/calendar/services[.]test[.]ts$',
  '/test/contract/notifications/(deliver|delivery|own-subscriptions|who-is-told)[.]test[.]ts$',
  '/test/contract/patient/personal-data[.]test[.]ts$',
  '/test/contract/visits/(find|several|waitlist)[.]test[.]ts$',
  '/test/scripts/consistency/repair[.]test[.]ts$',
  '/test/scripts/start/start[.]test[.]ts$',
  '/test/bots/(cost|faults|messages/send-messages)[.]test[.]ts$',
  '/test/core/absence/assign[.]test[.]ts$',
  '/test/gateway/largest-inputs[.]test[.]ts$',
];

const installation = {
  globalSetup: '<rootDir>/test/contract/start.ts',
  globalTeardown: '<rootDir>/test/contract/stop.ts',
};

// `npm test` by itself leaves these to `npm run test:slow`, `.ci/run` those before a release; a path or `--selectProjects` reaches them.
const isPlain = process.argv.slice(2).every((word) => word.startsWith('-'));

/** @type {import('jest').Config} */
export default {
  // Many tests wait for a server rather than for the processor.
  maxWorkers: 3,
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: [
        '<rootDir>/test/!(browser|contract|operations|faults)/**/*.test.ts',
        '<rootDir>/{apps,packages}/*/test/**/*.test.ts',
      ],
      testPathIgnorePatterns: ['/test/browser/', ...slow, ...release],
    },
    {
      ...common,
      ...installation,
      displayName: 'contract',
      testMatch: ['<rootDir>/test/contract/**/*.test.ts'],
      testPathIgnorePatterns: [...slow, ...release],
    },
    ...(isPlain
      ? []
      : [
          { ...common, ...installation, displayName: 'slow', testRegex: slow, testPathIgnorePatterns: release },
          { ...common, ...installation, displayName: 'release', testRegex: release },
        ]),
  ],
};
