import type { Command } from 'commander';
import type { BookingConfig } from '../../core/config/config.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { type Measured, waysOf } from './bookings.ts';
import { wait } from './http.ts';
import { type Bench, measures } from './machine.ts';
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
import { type BenchBooking, makeBenchBookings, searchThroughGateway } from './targets.ts';

interface ReadersArguments {
  readonly readers: number;
  readonly searches: number;
  readonly seconds: number;
  readonly bookings: number;
  readonly rounds: number;
  readonly only?: string;
}

const CALENDARS = 10;

/** Free times of a calendar: more than a page, so that the search has to count them. */
const FREE = 30;

const SEARCHED = ['nothing', 'different', 'the same'] as const;

type Searched = (typeof SEARCHED)[number];

interface Round {
  readonly searches: Measurement;
  readonly bookings: Measurement;
}

function* until<T>(end: number, one: T): Iterable<T> {
  while (performance.now() < end) {
    yield one;
  }
}

/**
 * Readers search as fast as they can, each in its own calendar or all in the first. After a number of searches, one
 * books.
 */
async function beside(
  { book, installation }: Measured,
  calendars: readonly BenchBooking[][],
  searched: Exclude<Searched, 'nothing'>,
  { readers, searches, seconds }: ReadersArguments,
  config: BookingConfig,
): Promise<Round> {
  const end = performance.now() + seconds * 1_000;
  let answered = 0;
  const firsts = calendars.flatMap(([place]) => place ?? []);
  const reading = firsts.slice(0, readers).map((own) =>
    measure(until(end, searched === 'different' ? own : (firsts[0] ?? own)), 1, async (place) => {
      const result = await searchThroughGateway(place, installation);
      answered += 1;
      return result;
    }),
  );
  let bookings = nothing;
  for (let next = searches; performance.now() < end; next += searches) {
    await wait(() => answered >= next || performance.now() > end, 'for searches');
    const last = answered >= next ? calendars[(next / searches) % calendars.length]?.pop() : undefined;
    bookings = combine(bookings, await measure(last ? [last] : [], 1, (place) => book(place, installation, config)));
  }
  const found = await Promise.all(reading);
  const elapsed = Math.max(...found.map((measurement) => measurement.elapsed));
  return { searches: { ...found.reduce(combine, nothing), elapsed }, bookings: { ...bookings, elapsed } };
}

function rowOf(way: string, searched: string, rounds: readonly Round[]): string[] {
  const cells = (kind: keyof Round): string[] => {
    const each = rounds.map((round) => round[kind]).filter(({ durations }) => durations.length > 0);
    const measurement = each.reduce(combine, nothing);
    const [p50, p95] = [0.5, 0.95].map((share) => quantile(measurement.durations, share).toFixed(1));
    const spread = rangeText(each.map(({ durations }) => quantile(durations, 0.95)));
    return each.length === 0 ? ['', '', '', ''] : [throughput(measurement).toFixed(1), p50 ?? '', p95 ?? '', spread];
  };
  const failures = rounds.reduce((sum, { searches, bookings }) => sum + searches.failures + bookings.failures, 0);
  return [way, searched, ...cells('searches'), ...cells('bookings'), String(failures)];
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Readers beside writers, as when times are released: searches for the free slots of a day by many at once, each in ' +
        'a calendar of its own or all in the same one, and a booking for each so many of them; and bookings one after ' +
        'the other without readers. In turns with a project that never had the service, asked the same. Takes the same variables as bookings; a gateway needs LIMIT_REQUESTS_PER_CLIENT and ' +
        'LIMIT_REQUESTS_PER_ADDRESS for more than 100 searches a second.',
    )
    .option('--readers <number>', 'how many search at once', wholeNumber(1), 8)
    .option('--searches <number>', 'how many searches come to a booking', wholeNumber(1), 1000)
    .option('--seconds <number>', 'how long they search in each round', wholeNumber(1), 20)
    .option('--bookings <number>', 'bookings without readers in each round', wholeNumber(1), 50)
    .option('--rounds <number>', 'number of rounds', wholeNumber(1), 3)
    .option('--only <ways>', 'only ways that begin like one of these', 'plain $book,gateway');
  measures(command, run);
}

async function run(given: ReadersArguments, { installation, config, print }: Bench): Promise<void> {
  const ways = await waysOf(installation, given.only);
  const each = Math.ceil(given.bookings / CALENDARS);
  const prepared = new Map<Measured, BenchBooking[][]>();
  for (const way of ways) {
    const calendars: BenchBooking[][] = [];
    while (calendars.length < Math.max(CALENDARS, given.readers)) {
      calendars.push(await makeBenchBookings(way.installation, config, given.rounds * each + FREE, Date.now()));
    }
    prepared.set(way, calendars);
  }
  await settle();
  const found = await inRounds(ways, given.rounds, async (way): Promise<Record<Searched, Round>> => {
    const { book, installation: at } = way;
    const calendars = prepared.get(way) ?? [];
    const alone = calendars.flatMap((places) => places.splice(0, each));
    return {
      nothing: { searches: nothing, bookings: await measure(alone, 1, (place) => book(place, at, config)) },
      different: await beside(way, calendars, 'different', given, config),
      'the same': await beside(way, calendars, 'the same', given, config),
    };
  });
  const columns = [
    'way',
    'searched',
    ...['search', 'booking'].flatMap((kind) => [
      `${kind === 'search' ? 'searches' : 'bookings'}/s`,
      `${kind} p50 ms`,
      `${kind} p95 ms`,
      'of rounds',
    ]),
    'failures',
  ];
  const rows = ways.flatMap((way) =>
    SEARCHED.map((searched) =>
      rowOf(
        way.name,
        searched,
        (found.get(way) ?? []).map((round) => round[searched]),
      ),
    ),
  );
  const { readers, searches, rounds, seconds } = given;
  const what = `${readers} readers, ${FREE} free times in each calendar, a booking for each ${searches} searches, ${rounds} rounds of ${seconds} s`;
  print({ what, columns, rows });
}
