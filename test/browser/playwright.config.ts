import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';
import { scaled } from '../lib/time-scale.ts';
import { launchOptions } from './launch.ts';

/** Chromium without its windows takes half of the processor; where it is not installed, the whole browser is used. */
const shell = '/usr/bin/chromium-headless-shell';
const hasShell = process.env.CHROMIUM === undefined && existsSync(shell);

/** Tests in a browser: `npm run test:browser`. They start an installation of their own. */
export default defineConfig({
  testDir: '../..',
  testMatch: ['test/browser/**/*.test.ts', 'apps/*/test/browser/**/*.test.ts'],
  outputDir: '../../dist/test-browser',
  globalSetup: './start.ts',
  // They wait for the server as often as for the processor.
  workers: 3,
  fullyParallel: false,
  timeout: scaled(30_000),
  expect: { timeout: scaled(5_000) },
  reporter: 'list',
  use: {
    launchOptions: hasShell ? { ...launchOptions, executablePath: shell } : launchOptions,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    // What was done and requested; pictures of each step cost a third of all time: `--trace on` takes them.
    trace: { mode: 'retain-on-failure', screenshots: false, snapshots: false, sources: false },
    screenshot: 'only-on-failure',
  },
});
