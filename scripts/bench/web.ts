import type { Command } from 'commander';
import { wholeNumber } from '../cli/whole-number.ts';
import { startEmbedded } from './installation.ts';
import { type Bench, measures } from './machine.ts';
import { launch } from './web/browser.ts';
import { makeWeek } from './web/calendars.ts';
import { measureDay, measureWeek, signIn } from './web/front-desk.ts';
import { measurePortal } from './web/portal.ts';
import { columns, rowsOf, type Sample } from './web/report.ts';
import { measureScrolling } from './web/scrolling.ts';

interface Arguments {
  readonly rounds: number;
  readonly calendars: number;
}

const positive = wholeNumber(1);

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Measures the pages in Chromium (CHROMIUM: its path) on an embedded installation: what the portal transfers and ' +
        'when it can be read; when the front desk answers; how smoothly a week of many calendars scrolls. The first round warms up and does not count.',
    )
    .option('--rounds <number>', 'number of rounds', positive, 5)
    .option('--calendars <number>', 'calendars of the week that is scrolled', positive, 20);
  measures(command, run, startEmbedded);
}

async function run(given: Arguments, { installation, config, print }: Bench): Promise<void> {
  const browser = await launch();
  try {
    const { origin } = new URL(installation.base);
    const week = await makeWeek(installation, config, given.calendars, Date.now());
    const state = await signIn(browser, origin);
    const samples: Sample[] = [];
    for (let round = 0; round <= given.rounds; round += 1) {
      const found = [
        ...(await measurePortal(browser, origin)),
        ...(await measureDay(browser, origin, state, week)),
        ...(await measureWeek(browser, origin, state, week)),
        ...(await measureScrolling(browser, origin, state, week)),
      ];
      samples.push(...(round === 0 ? [] : found));
      console.error(round === 0 ? 'Warmed up.' : `Round ${round} of ${given.rounds}.`);
    }
    print({ what: `Chromium ${browser.version()}; ${given.rounds} rounds`, columns, rows: rowsOf(samples) });
  } finally {
    await browser.close();
  }
}
