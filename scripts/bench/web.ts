import type { Command } from 'commander';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { startEmbedded } from './installation.ts';
import { describeCircumstances, load } from './machine.ts';
import { launch } from './web/browser.ts';
import { makeWeek } from './web/calendars.ts';
import { measureDay, measureWeek, signIn } from './web/front-desk.ts';
import { measurePortal } from './web/portal.ts';
import { type Sample, type WebReport, webRemarks, webRows, webTable } from './web/report.ts';
import { measureScrolling } from './web/scrolling.ts';

interface Arguments {
  readonly rounds: number;
  readonly calendars: number;
  readonly json?: boolean;
}

const positive = wholeNumber(1);

function print(report: WebReport, asJson = false): void {
  if (asJson) {
    console.log(JSON.stringify(report, undefined, 2));
    return;
  }
  const { head, rows } = webTable(report);
  console.log(`${webRemarks(report).join('\n')}\n\n${formatTable(head, rows)}`);
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Measures the pages in Chromium (CHROMIUM: its path) on an embedded installation: what the portal transfers and ' +
        'when it can be read; when the front desk answers; whether a week of many calendars scrolls as smoothly as an ' +
        'empty page. The first round warms up and does not count.',
    )
    .option('--rounds <number>', 'number of rounds', positive, 5)
    .option('--calendars <number>', 'calendars of the week that is scrolled', positive, 20)
    .option('--json', 'print the figures as JSON')
    .action(main);
}

async function main(given: Arguments): Promise<void> {
  const installation = await startEmbedded();
  const browser = await launch();
  try {
    const { origin } = new URL(installation.base);
    const week = await makeWeek(installation, loadConfig(), given.calendars, Date.now());
    const state = await signIn(browser, origin);
    const circumstances = await describeCircumstances(installation, Date.now());
    const atFirst = load();
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
    const rows = webRows(samples);
    print(
      { circumstances, browser: browser.version(), load: [atFirst, load()], rounds: given.rounds, rows },
      given.json,
    );
  } finally {
    await browser.close();
    installation.stop();
  }
}
