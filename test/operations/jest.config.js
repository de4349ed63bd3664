import { common } from '../../jest.config.js';

/** The samples of docs/operations, run by the programs they are for: nginx, promtool and systemd-analyze must be there. */
export default {
  ...common,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/operations/**/*.test.ts'],
};
