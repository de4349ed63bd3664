import { Command } from 'commander';
import type { BookingConfig } from '../core/config/config.ts';
import { findInstallation, type Installation } from './bench/installation.ts';
import { type Measurement, measure, nothing, quantile, throughput, together } from './bench/measure.ts';
import { bookBy, makePlaces, type Place, type TargetName, targetNames, targetsOf } from './bench/targets.ts';
import { runAsProgram } from './cli/command.ts';
import { loadConfig } from './cli/load-config.ts';
import { formatTable } from './cli/table.ts';

interface BenchArguments {
  readonly callers: readonly number[];
  readonly bookings: number;
  readonly rounds: number;
  readonly only: readonly TargetName[];
  readonly json?: boolean;
  readonly config?: string;
}

const numbers = (text: string): number[] => text.split(',').map(positive);

function positive(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) {
    throw new Error(`${text} is not a positive whole number.`);
  }
  return value;
}

function readTargets(text: string): TargetName[] {
  return text.split(',').map((given) => {
    const name = targetNames.find((one) => one === given);
    if (!name) {
      throw new Error(`${given} is not one of ${targetNames.join(', ')}.`);
    }
    return name;
  });
}

/** The figures of one way at one number of callers. */
interface Row extends Measurement {
  readonly callers: number;
  readonly way: TargetName;
}

/** Measures all targets in turns, a part of the bookings in each round, so that whatever else the machine does hits all alike. */
async function measureAll(
  callers: number,
  { bookings, rounds, only }: BenchArguments,
  installation: Installation,
  config: BookingConfig,
): Promise<Row[]> {
  const share = Math.ceil(bookings / rounds);
  const found = new Map<TargetName, Measurement>();
  const run = (way: TargetName, places: readonly Place[]) =>
    measure(places, callers, (place) => bookBy(way, place, installation, config));
  for (const way of only) {
    await run(way, await makePlaces(installation, config, Math.max(callers, 20), Date.now()));
  }
  for (let round = 0; round < rounds; round++) {
    const order = [...only.slice(round % only.length), ...only.slice(0, round % only.length)];
    for (const way of order) {
      const places = await makePlaces(installation, config, share, Date.now());
      found.set(way, together(found.get(way) ?? nothing, await run(way, places)));
    }
  }
  return only.map((way) => ({ callers, way, ...(found.get(way) ?? nothing) }));
}

const head = [
  'callers',
  'way',
  'p50 ms',
  'p95 ms',
  'bookings/s',
  'p50 × bare',
  'throughput × bare',
  'conflicts',
  'failures',
];

function cellsOf(row: Row, bare: Row | undefined): string[] {
  const median = quantile(row.durations, 0.5);
  const ratios = bare
    ? [(median / quantile(bare.durations, 0.5)).toFixed(2), (throughput(row) / throughput(bare)).toFixed(2)]
    : ['', ''];
  return [
    String(row.callers),
    row.way,
    median.toFixed(1),
    quantile(row.durations, 0.95).toFixed(1),
    throughput(row).toFixed(1),
    ...ratios,
    String(row.conflicts),
    String(row.failures),
  ];
}

async function main(): Promise<void> {
  const given = new Command()
    .name('npm run bench --')
    .description(
      'Measures bookings: as a bare transaction, by $book of Medplum itself, by the Bot, and by the gateway. Each ' +
        'booking has its own slot, so every conflict is spurious. The bare transaction is written by staff, so the ' +
        'pre-commit Bot validate-appointment checks it first where it is deployed. Measures the installation that ' +
        'BOOKING_BASE_URL, MEDPLUM_BASE_URL, PORTAL_A_… and FRONT_DESK_… name (…_TOKEN, or …_CLIENT_ID and ' +
        '…_CLIENT_SECRET); without them it starts an embedded one.',
    )
    .option('--callers <numbers>', 'numbers of concurrent callers', numbers, [1, 8, 32])
    .option('--bookings <number>', 'bookings per target and number of callers', positive, 200)
    .option('--rounds <number>', 'number of rounds; the targets alternate', positive, 5)
    .option('--only <targets>', `only these targets (${targetNames.join(', ')})`, readTargets, targetNames)
    .option('--json', 'print the figures as JSON')
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .parse()
    .opts<BenchArguments>();
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  try {
    const offered = await targetsOf(installation, config, Date.now());
    const only = given.only.filter((way) => offered.includes(way));
    const rows: string[][] = [];
    for (const callers of given.callers) {
      const measured = await measureAll(callers, { ...given, only }, installation, config);
      const bare = measured.find(({ way }) => way === 'bare');
      rows.push(...measured.map((row) => cellsOf(row, bare)));
    }
    const asObjects = rows.map((row) => Object.fromEntries(head.map((name, column) => [name, row[column]])));
    console.log(given.json ? JSON.stringify(asObjects, undefined, 2) : formatTable(head, rows));
  } finally {
    installation.stop();
  }
}

await runAsProgram(import.meta.url, main);
