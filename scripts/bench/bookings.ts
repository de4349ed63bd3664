import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { BookingConfig } from '../../core/config/config.ts';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { findInstallation, type Installation } from './installation.ts';
import { describeCircumstances, load } from './machine.ts';
import { type Measurement, measure } from './measure.ts';
import { parseReport, type Report, type Row, remarksOn, rowOf, tableOf } from './report.ts';
import { bookBy, makePlaces, type Place, type TargetName, targetNames, targetsOf } from './targets.ts';

interface BenchArguments {
  readonly callers: readonly number[];
  readonly bookings: number;
  readonly rounds: number;
  readonly only: readonly TargetName[];
  readonly json?: boolean;
  readonly compare?: string;
  readonly config?: string;
}

const positive = wholeNumber(1);

const numbers = (text: string): number[] => text.split(',').map(positive);

function readTargets(text: string): TargetName[] {
  return text.split(',').map((given) => {
    const name = targetNames.find((one) => one === given);
    if (!name) {
      throw new Error(`${given} is not one of ${targetNames.join(', ')}.`);
    }
    return name;
  });
}

/**
 * Measures the targets in turn, some of the bookings in each round, so that other load on the machine affects all of them
 * alike.
 */
async function measureAll(
  callers: number,
  { bookings, rounds, only }: BenchArguments,
  installation: Installation,
  config: BookingConfig,
): Promise<Row[]> {
  const share = Math.ceil(bookings / rounds);
  const found = new Map<TargetName, Measurement[]>();
  const run = (way: TargetName, places: readonly Place[]) =>
    measure(places, callers, (place) => bookBy(way, place, installation, config));
  for (const way of only) {
    await run(way, await makePlaces(installation, config, Math.max(callers, 20), Date.now()));
  }
  for (let round = 0; round < rounds; round++) {
    const order = [...only.slice(round % only.length), ...only.slice(0, round % only.length)];
    for (const way of order) {
      const places = await makePlaces(installation, config, share, Date.now());
      found.set(way, [...(found.get(way) ?? []), await run(way, places)]);
    }
  }
  return only.map((way) => rowOf(callers, way, found.get(way) ?? []));
}

function print(report: Report, before: Report | undefined, asJson = false): void {
  if (asJson) {
    console.log(JSON.stringify(report, undefined, 2));
    return;
  }
  const { head, rows } = tableOf(report, before);
  console.log(`${remarksOn(report, before).join('\n')}\n\n${formatTable(head, rows)}`);
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      "Measures bookings: as a bare transaction, through Medplum's own $book, by the Bot, and through the gateway. Each " +
        'booking has its own slot, so every conflict is spurious. Staff write the bare transaction, so the pre-commit ' +
        'Bot validate-appointment checks it first where that Bot is deployed. Measures the installation that ' +
        'BOOKING_BASE_URL, MEDPLUM_BASE_URL, PORTAL_A_… and FRONT_DESK_… name (…_TOKEN, or …_CLIENT_ID and ' +
        '…_CLIENT_SECRET); without them it starts an embedded one.',
    )
    .option('--callers <numbers>', 'numbers of concurrent callers', numbers, [1, 8, 32])
    .option('--bookings <number>', 'bookings per target and number of callers', positive, 200)
    .option('--rounds <number>', 'number of rounds; the targets alternate', positive, 5)
    .option('--only <targets>', `only these targets (${targetNames.join(', ')})`, readTargets, targetNames)
    .option('--json', 'print the figures as JSON, for --compare')
    .option('--compare <file>', 'compare with the figures of an earlier run, printed with --json')
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

async function main(given: BenchArguments): Promise<void> {
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  try {
    const only = await targetsOf(given.only, installation, config, Date.now());
    if (only.length === 0) {
      throw new Error('None of these targets works here; see above.');
    }
    const before = given.compare === undefined ? undefined : parseReport(readFileSync(given.compare, 'utf8'));
    const circumstances = await describeCircumstances(installation, Date.now());
    const atFirst = load();
    const rows: Row[] = [];
    for (const callers of given.callers) {
      rows.push(...(await measureAll(callers, { ...given, only }, installation, config)));
    }
    const { bookings, rounds } = given;
    print({ circumstances, load: [atFirst, load()], bookings, rounds, rows }, before, given.json);
  } finally {
    installation.stop();
  }
}
