import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Command } from 'commander';
import { loadConfig } from '../cli/load-config.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { type Measured, waysOf } from './bookings.ts';
import { wait } from './http.ts';
import { findInstallation } from './installation.ts';
import { observe } from './machine.ts';
import { measure, quantile } from './measure.ts';
import { rangeOf, rangeText } from './report.ts';
import { makePlaces } from './targets.ts';

interface ColdStartArguments {
  readonly restart: string;
  readonly rounds: number;
  readonly only?: string;
  readonly json?: boolean;
  readonly config?: string;
}

/** Which bookings after the start are shown. */
const SHOWN = [1, 2, 10];

/** Runs a command until it ends, and waits until gateway and Medplum answer; returns the milliseconds. */
async function restart(command: string, { installation }: Measured): Promise<number> {
  const start = performance.now();
  const [code] = await once(spawn(command, { shell: true, stdio: 'ignore' }), 'exit');
  if (code !== 0) {
    throw new Error(`${command} ended with code ${code}.`);
  }
  const addresses = [`${installation.base}/metadata`, new URL('/healthcheck', installation.medplum).href];
  const isUp = (address: string): Promise<boolean> =>
    fetch(address).then(
      ({ ok }) => ok,
      () => false,
    );
  await wait(async () => (await Promise.all(addresses.map(isUp))).every(Boolean), 'for gateway and Medplum', 120_000);
  return performance.now() - start;
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Cold start: restarts the gateway, or Medplum, by a command of yours, and books ten times one after the other. ' +
        'Takes the same variables as bookings.',
    )
    .requiredOption('--restart <command>', 'restarts what is to be cold, and ends')
    .option('--rounds <number>', 'how often', wholeNumber(1), 5)
    .option('--only <ways>', 'only ways that begin like one of these: plain, gateway, staff …', 'gateway')
    .option('--json', 'print the figures as JSON')
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

async function main(given: ColdStartArguments): Promise<void> {
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  try {
    const print = await observe(installation);
    const ways = await waysOf(installation, given.only);
    const found = new Map<string, number[][]>();
    for (let round = 0; round < given.rounds; round++) {
      for (const way of ways) {
        const places = await makePlaces(way.installation, config, Math.max(...SHOWN), Date.now());
        const took = await restart(given.restart, way);
        const { durations } = await measure(places, 1, (place) => way.book(place, way.installation, config));
        found.set(way.name, [
          ...(found.get(way.name) ?? []),
          [took, ...SHOWN.map((nth) => durations[nth - 1] ?? Number.NaN)],
        ]);
      }
    }
    const rows = [...found].map(([name, rounds]) => [
      name,
      ...[0, ...SHOWN].flatMap((_, column) => {
        const values = rounds.map((one) => one[column] ?? Number.NaN);
        return [quantile(values, 0.5).toFixed(1), rangeText(rangeOf(values))];
      }),
    ]);
    const columns = [
      'way',
      ...['ready', ...SHOWN.map((nth) => `booking ${nth}`)].flatMap((name) => [`${name}, ms`, 'of rounds']),
    ];
    print({ what: `${given.rounds} starts of each`, columns, rows }, given.json);
  } finally {
    installation.stop();
  }
}
