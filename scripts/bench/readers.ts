import type { Command } from 'commander';
import type { BookingConfig } from '../../core/config/config.ts';
import { loadConfig } from '../cli/load-config.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { type Measured, waysOf } from './bookings.ts';
import { wait } from './http.ts';
import { findInstallation } from './installation.ts';
import { observe } from './machine.ts';
import { type Measurement, measure, nothing, quantile, throughput, together } from './measure.ts';
import { rangeOf, rangeText } from './report.ts';
import { makePlaces, type Place, searchThroughGateway } from './targets.ts';

interface ReadersArguments {
  readonly readers: number;
  readonly searches: number;
  readonly seconds: number;
  readonly bookings: number;
  readonly rounds: number;
  readonly only?: string;
  readonly json?: boolean;
  readonly config?: string;
}

/** In how many calendars it is searched and booked. */
const CALENDARS = 10;

/** What a round has found. */
interface Round {
  readonly searches: Measurement;
  readonly bookings: Measurement;
}

/** Places one after the other, again and again, until the time is over. */
function* until(end: number, places: readonly Place[]): Iterable<Place> {
  for (let index = 0; performance.now() < end; index++) {
    const place = places[index % places.length];
    if (place) {
      yield place;
    }
  }
}

/** Readers search as fast as they can; after each so many searches, a place is booked. */
async function beside(
  { book, installation }: Measured,
  places: readonly Place[],
  { readers, searches, seconds }: ReadersArguments,
  config: BookingConfig,
): Promise<Round> {
  const end = performance.now() + seconds * 1_000;
  let answered = 0;
  const reading = measure(until(end, places), readers, async (place) => {
    const result = await searchThroughGateway(place, installation);
    answered += 1;
    return result;
  });
  let bookings = nothing;
  for (const [index, place] of places.entries()) {
    await wait(() => answered >= (index + 1) * searches || performance.now() > end, 'for searches');
    if (performance.now() > end) {
      break;
    }
    bookings = together(bookings, await measure([place], 1, (one) => book(one, installation, config)));
  }
  const found = await reading;
  return { searches: found, bookings: { ...bookings, elapsed: found.elapsed } };
}

function rowOf(way: string, readers: number, rounds: readonly Round[]): string[] {
  const cells = (kind: keyof Round): string[] => {
    const each = rounds.map((round) => round[kind]).filter(({ durations }) => durations.length > 0);
    const all = each.reduce(together, nothing);
    const [p50, p95] = [0.5, 0.95].map((share) => quantile(all.durations, share).toFixed(1));
    const spread = rangeText(rangeOf(each.map(({ durations }) => quantile(durations, 0.95))));
    return each.length === 0 ? ['', '', '', ''] : [throughput(all).toFixed(1), p50 ?? '', p95 ?? '', spread];
  };
  const failures = rounds.reduce((sum, { searches, bookings }) => sum + searches.failures + bookings.failures, 0);
  return [way, String(readers), ...cells('searches'), ...cells('bookings'), String(failures)];
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Readers beside writers, as when times are released: searches for the free slots of a day by many at once, and a ' +
        'booking for each so many of them; and bookings one after the other without readers. In turns with a project ' +
        'that never had the service. Takes the same variables as bookings; a gateway needs LIMIT_REQUESTS_PER_CLIENT and ' +
        'LIMIT_REQUESTS_PER_ADDRESS for more than 100 searches a second.',
    )
    .option('--readers <number>', 'how many search at once', wholeNumber(1), 8)
    .option('--searches <number>', 'how many searches come to a booking', wholeNumber(1), 1000)
    .option('--seconds <number>', 'how long they search in each round', wholeNumber(1), 20)
    .option('--bookings <number>', 'bookings without readers in each round', wholeNumber(1), 50)
    .option('--rounds <number>', 'number of rounds', wholeNumber(1), 3)
    .option('--only <ways>', 'only ways that begin like one of these', 'plain $book,gateway')
    .option('--json', 'print the figures as JSON')
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

async function main(given: ReadersArguments): Promise<void> {
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  try {
    const print = await observe(installation);
    const ways = await waysOf(installation, given.only);
    const found = new Map<string, Round[]>();
    for (let round = 0; round < given.rounds; round++) {
      for (const way of [...ways.slice(round % ways.length), ...ways.slice(0, round % ways.length)]) {
        const { name, book, installation: at } = way;
        const [alone, both]: Place[][] = [[], []];
        for (let calendar = 0; calendar < CALENDARS; calendar++) {
          const each = Math.ceil(given.bookings / CALENDARS);
          const made = await makePlaces(at, config, 2 * each, Date.now());
          alone?.push(...made.slice(0, each));
          both?.push(...made.slice(each));
        }
        const bookings = await measure(alone ?? [], 1, (place) => book(place, at, config));
        const rounds = {
          0: { searches: nothing, bookings },
          [given.readers]: await beside(way, both ?? [], given, config),
        };
        for (const [readers, one] of Object.entries(rounds)) {
          found.set(`${name}|${readers}`, [...(found.get(`${name}|${readers}`) ?? []), one]);
        }
      }
    }
    const columns = [
      'way',
      'readers',
      ...['search', 'booking'].flatMap((kind) => [
        `${kind === 'search' ? 'searches' : 'bookings'}/s`,
        `${kind} p50 ms`,
        `${kind} p95 ms`,
        'of rounds',
      ]),
      'failures',
    ];
    const rows = [...found].sort().map(([key, rounds]) => {
      const [name = '', readers] = key.split('|');
      return rowOf(name, Number(readers), rounds);
    });
    const what = `a booking for each ${given.searches} searches, ${given.rounds} rounds of ${given.seconds} s`;
    print({ what, columns, rows }, given.json);
  } finally {
    installation.stop();
  }
}
