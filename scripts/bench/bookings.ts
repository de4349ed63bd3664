import type { Command } from 'commander';
import type { BookingConfig } from '../../core/config/config.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import type { Installation } from './installation.ts';
import { type Bench, measures, runtimeOf } from './machine.ts';
import {
  combine,
  inRounds,
  type Measurement,
  measure,
  nothing,
  quantile,
  rangeText,
  settle,
  throughput,
} from './measure.ts';
import {
  type BenchBooking,
  bookByMedplum,
  bookByTransaction,
  bookThroughGateway,
  findThroughGateway,
  makeBenchBookings,
  type Way,
} from './targets.ts';

interface BenchArguments {
  readonly callers: readonly number[];
  readonly bookings: number;
  readonly rounds: number;
  readonly only?: string;
}

/** A way to book, and the installation in which it does. */
export interface Measured {
  readonly name: string;
  readonly book: Way;
  readonly installation: Installation;
}

const positive = wholeNumber(1);

const numbers = (text: string): number[] => text.split(',').map(positive);

/** The compared ways: Medplum without the service, the service, and Medplum with the service next to it. */
export async function waysOf(installation: Installation, only = ''): Promise<Measured[]> {
  const { medplum, gateways, tokens } = installation;
  const plain = { ...installation, base: medplum, tokens: { ...tokens, portal: tokens.plain, staff: tokens.plain } };
  const through = gateways.map(async (base): Promise<Measured> => {
    const name = `gateway, Bots in ${await runtimeOf(base)}`;
    return { name, book: bookThroughGateway, installation: { ...installation, base } };
  });
  const ways: Measured[] = [
    { name: 'plain transaction', book: bookByTransaction, installation: plain },
    { name: 'plain $book', book: bookByMedplum, installation: plain },
    ...(await Promise.all(through)),
    { name: 'staff transaction', book: bookByTransaction, installation },
    { name: 'staff $book', book: bookByMedplum, installation },
  ];
  return ways.filter(
    ({ name, installation: { tokens: own } }) =>
      own.staff !== '' && only.split(',').some((part) => name.startsWith(part)),
  );
}

function rowOf(name: string, rounds: readonly Measurement[], book: readonly Measurement[]): string[] {
  const measurement = rounds.reduce(combine, nothing);
  const p50 = quantile(measurement.durations, 0.5);
  const measured = rounds.filter(({ durations }) => durations.length > 0);
  const plain = book.reduce(combine, nothing);
  const ratio = (value: number): string => (Number.isFinite(value) ? value.toFixed(2) : '');
  return [
    name,
    p50.toFixed(1),
    rangeText(measured.map(({ durations }) => quantile(durations, 0.5))),
    quantile(measurement.durations, 0.95).toFixed(1),
    throughput(measurement).toFixed(1),
    rangeText(measured.map(throughput)),
    ratio(p50 / quantile(plain.durations, 0.5)),
    ratio(throughput(measurement) / throughput(plain)),
    String(measurement.conflicts),
    String(measurement.failures),
  ];
}

const columns = [
  'callers',
  'calendars',
  'way',
  'p50 ms',
  'of rounds',
  'p95 ms',
  'bookings/s',
  'of rounds',
  'p50 × $book',
  'bookings/s × $book',
  'conflicts',
  'failures',
];

/**
 * Measures the ways in rotation, some of the bookings in each round, so that other load on the machine affects all
 * alike.
 */
async function measureAll(
  ways: readonly Measured[],
  callers: number,
  calendars: number,
  { bookings, rounds }: BenchArguments,
  config: BookingConfig,
): Promise<string[][]> {
  const each = Math.ceil(bookings / rounds);
  const warmUp = Math.max(callers, 20);
  const prepared = new Map<Measured, BenchBooking[]>();
  for (const way of ways) {
    const count = Math.ceil((warmUp + rounds * each) / calendars);
    const made = await Promise.all(
      Array.from({ length: calendars }, () => makeBenchBookings(way.installation, config, count, Date.now())),
    );
    prepared.set(
      way,
      Array.from({ length: count }, (_, index) => made.flatMap((places) => places[index] ?? [])).flat(),
    );
  }
  const run = async (way: Measured, count: number): Promise<Measurement> => {
    const { name, book, installation } = way;
    const places = prepared.get(way)?.splice(0, count) ?? [];
    await findThroughGateway(places, installation);
    const measured = await measure(places, callers, (place) => book(place, installation, config));
    // Only the writes of staff start Bots.
    await (name.startsWith('staff') && settle());
    return measured;
  };
  await settle();
  for (const way of ways) {
    await run(way, warmUp);
  }
  const found = await inRounds(ways, rounds, (way) => run(way, each));
  const book = ways.flatMap((way) => (way.name === 'plain $book' ? (found.get(way) ?? []) : []));
  return ways.map((way) => [`${callers}`, `${calendars}`, ...rowOf(way.name, found.get(way) ?? [], book)]);
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Compares bookings through the gateway with those of a project of the same server that never had the service: the ' +
        "smallest transaction, and Medplum's own $book; and with these two where staff use them beside the service. Each " +
        'booking has its own slot, so every conflict is spurious. Several callers book in a calendar each, and in one. ' +
        'Measures the installation that BOOKING_BASE_URL (several: BOOKING_GATEWAYS), MEDPLUM_BASE_URL, PORTAL_A_…, ' +
        'FRONT_DESK_… and, for a client of the other project (npm run bootstrap), PLAIN_… name (…_TOKEN, or …_CLIENT_ID ' +
        'and …_CLIENT_SECRET).',
    )
    .option('--callers <numbers>', 'numbers of concurrent callers', numbers, [1, 8, 32])
    .option('--bookings <number>', 'bookings for each way and number of callers', positive, 200)
    .option('--rounds <number>', 'number of rounds; the ways alternate', positive, 5)
    .option('--only <ways>', 'only ways that begin like one of these: plain, gateway, staff …');
  measures(command, run);
}

async function run(given: BenchArguments, { installation, config, print }: Bench): Promise<void> {
  const { bookings, rounds } = given;
  const ways = await waysOf(installation, given.only);
  const rows: string[][] = [];
  for (const callers of given.callers) {
    for (const calendars of new Set([callers, 1])) {
      rows.push(...(await measureAll(ways, callers, calendars, given, config)));
    }
  }
  print({ what: `${bookings} bookings in ${rounds} rounds`, columns, rows });
}
