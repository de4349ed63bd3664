import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Command } from 'commander';
import { wholeNumber } from '../cli/whole-number.ts';
import { type Measured, waysOf } from './bookings.ts';
import { wait } from './http.ts';
import { type Bench, measures } from './machine.ts';
import { inRounds, measure, quantile, rangeText, timed } from './measure.ts';
import { makePlaces } from './targets.ts';

interface ColdStartArguments {
  readonly restart: string;
  readonly rounds: number;
  readonly only?: string;
}

/** Which bookings after the start are shown. */
const SHOWN = [1, 2, 10];

/** Runs a command until it ends, and waits until gateway and Medplum answer. */
async function restart(command: string, { installation }: Measured): Promise<void> {
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
    .option('--only <ways>', 'only ways that begin like one of these: plain, gateway, staff …', 'gateway');
  measures(command, run);
}

async function run({ restart: command, rounds, only }: ColdStartArguments, bench: Bench): Promise<void> {
  const { installation, config, print } = bench;
  const ways = await waysOf(installation, only);
  const found = await inRounds(ways, rounds, async (way) => {
    const places = await makePlaces(way.installation, config, Math.max(...SHOWN), Date.now());
    const [took] = await timed(() => restart(command, way));
    const { durations } = await measure(places, 1, (place) => way.book(place, way.installation, config));
    return [took, ...SHOWN.map((nth) => durations[nth - 1] ?? Number.NaN)];
  });
  const rows = [...found].map(([{ name }, each]) => [
    name,
    ...[0, ...SHOWN].flatMap((_, column) => {
      const values = each.map((one) => one[column] ?? Number.NaN);
      return [quantile(values, 0.5).toFixed(1), rangeText(values)];
    }),
  ]);
  const columns = [
    'way',
    ...['ready', ...SHOWN.map((nth) => `booking ${nth}`)].flatMap((name) => [`${name}, ms`, 'of rounds']),
  ];
  print({ what: `${rounds} starts of each`, columns, rows });
}
