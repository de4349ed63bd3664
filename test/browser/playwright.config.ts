import { defineConfig } from '@playwright/test';
import { scaled } from '../lib/time-scale.ts';

/** Debian's Chromium, with everything off that would call others. */
const chromium = {
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
};

/** Tests in a browser: `npm run test:browser`. They start an installation of their own. */
export default defineConfig({
  testDir: '.',
  testMatch: '**/*.test.ts',
  outputDir: '../../dist/test-browser',
  globalSetup: './start.ts',
  workers: 2,
  fullyParallel: false,
  timeout: scaled(30_000),
  expect: { timeout: scaled(5_000) },
  reporter: 'list',
  use: {
    launchOptions: chromium,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    trace: 'retain-on-failure',
    screenshot: 'only-on-failure',
  },
});
