import { scaled } from './test/lib/time-scale.ts';

export const common = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2022', parser: { syntax: 'typescript' } }, module: { type: 'es6' } },
    ],
  },
};

/** @type {import('jest').Config} */
export default {
  // Many tests wait for a server rather than for the processor.
  maxWorkers: 3,
  testTimeout: scaled(30_000),
  projects: [
    { ...common, displayName: 'unit', testMatch: ['<rootDir>/test/!(contract|operations)/**/*.test.ts'] },
    {
      ...common,
      displayName: 'contract',
      testMatch: ['<rootDir>/test/contract/**/*.test.ts'],
      globalSetup: '<rootDir>/test/contract/start.ts',
      globalTeardown: '<rootDir>/test/contract/stop.ts',
    },
  ],
};
