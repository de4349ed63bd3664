import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { BookingConfig } from '../../core/config/config.ts';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { findInstallation, type Installation } from './installation.ts';
import { describeCircumstances, load, runtimeOf } from './machine.ts';
import { type Measurement, measure, settle } from './measure.ts';
import { parseReport, type Report, type Row, remarksOn, rowOf, tableOf } from './report.ts';
import {
  bookByMedplum,
  bookByTransaction,
  bookThroughGateway,
  findThroughGateway,
  makePlaces,
  type Place,
  type Way,
} from './targets.ts';

interface BenchArguments {
  readonly callers: readonly number[];
  readonly bookings: number;
  readonly rounds: number;
  readonly only?: string;
  readonly json?: boolean;
  readonly compare?: string;
  readonly config?: string;
}

/** A way to book, and the installation in which it does. */
export interface Measured {
  readonly name: string;
  readonly book: Way;
  readonly installation: Installation;
}

const positive = wholeNumber(1);

const numbers = (text: string): number[] => text.split(',').map(positive);

/** What is compared: Medplum without the service, the service, and Medplum with the service beside it. */
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

/**
 * Measures the ways in turn, some of the bookings in each round, so that other load on the machine affects all of them
 * alike.
 */
async function measureAll(
  ways: readonly Measured[],
  callers: number,
  calendars: number,
  { bookings, rounds }: BenchArguments,
  config: BookingConfig,
): Promise<Row[]> {
  const each = Math.ceil(bookings / rounds);
  const warmUp = Math.max(callers, 20);
  const prepared = new Map<Measured, Place[]>();
  for (const way of ways) {
    const count = Math.ceil((warmUp + rounds * each) / calendars);
    const made = await Promise.all(
      Array.from({ length: calendars }, () => makePlaces(way.installation, config, count, Date.now())),
    );
    const inTurn = Array.from({ length: count }, (_, index) => made.flatMap((places) => places[index] ?? []));
    prepared.set(way, inTurn.flat());
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
  const found = new Map<Measured, Measurement[]>();
  await settle();
  for (const way of ways) {
    await run(way, warmUp);
  }
  for (let round = 0; round < rounds; round++) {
    for (const way of [...ways.slice(round % ways.length), ...ways.slice(0, round % ways.length)]) {
      found.set(way, [...(found.get(way) ?? []), await run(way, each)]);
    }
  }
  return ways.map((way) => rowOf({ callers, calendars, way: way.name }, found.get(way) ?? []));
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
      'Compares bookings through the gateway with those of a project of the same server that never had the service: the ' +
        "smallest transaction, and Medplum's own $book; and with these two where staff use them beside the service. Each " +
        'booking has its own slot, so every conflict is spurious. Several callers book in a calendar each, and in one. ' +
        'Measures the installation that BOOKING_BASE_URL (several: BOOKING_GATEWAYS), MEDPLUM_BASE_URL, PORTAL_A_…, ' +
        'FRONT_DESK_… and, for a client of the other project (npm run bootstrap), PLAIN_… name (…_TOKEN, or …_CLIENT_ID ' +
        'and …_CLIENT_SECRET); without them it starts an embedded one.',
    )
    .option('--callers <numbers>', 'numbers of concurrent callers', numbers, [1, 8, 32])
    .option('--bookings <number>', 'bookings for each way and number of callers', positive, 200)
    .option('--rounds <number>', 'number of rounds; the ways alternate', positive, 5)
    .option('--only <ways>', 'only ways that begin like one of these: plain, gateway, staff …')
    .option('--json', 'print the figures as JSON, for --compare')
    .option('--compare <file>', 'compare with the figures of an earlier run, printed with --json')
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

async function main(given: BenchArguments): Promise<void> {
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  try {
    const ways = await waysOf(installation, given.only);
    const before = given.compare === undefined ? undefined : parseReport(readFileSync(given.compare, 'utf8'));
    const circumstances = await describeCircumstances(installation, Date.now());
    const atFirst = load();
    const rows: Row[] = [];
    for (const callers of given.callers) {
      for (const calendars of new Set([callers, 1])) {
        rows.push(...(await measureAll(ways, callers, calendars, given, config)));
      }
    }
    const { bookings, rounds } = given;
    print({ circumstances, load: [atFirst, load()], bookings, rounds, rows }, before, given.json);
  } finally {
    installation.stop();
  }
}
