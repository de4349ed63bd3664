import type { LaunchOptions } from '@playwright/test';

/** Debian's Chromium, or the one that `CHROMIUM` names, with everything turned off that would call other servers. */
export const launchOptions: LaunchOptions = {
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
