import type { Command } from 'commander';
import type { BookingConfig } from '../../core/config/config.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { wait } from './http.ts';
import type { Installation } from './installation.ts';
import { type Bench, load, measures } from './machine.ts';
import { type Measurement, measure, nothing, quantile, rangeText, together } from './measure.ts';
import {
  changeHours,
  countFree,
  countNearest,
  countTwice,
  MOST_SLOTS_A_DAY,
  makeCalendars,
  type Published,
  readStanding,
  removeCalendars,
} from './publishing/calendars.ts';
import { type Bookable, bookThroughGateway, makeBookable, searchThroughGateway } from './targets.ts';

interface PublishingArguments {
  readonly schedules: number;
  readonly slots: number;
  readonly slotsLater: number;
  readonly few: number;
  readonly bookings: number;
  readonly callers: number;
  readonly beside: number;
  readonly limit: number;
}

/** What a phase has shown. */
interface Found {
  bookings: Measurement;
  searches: Measurement;
  /** After how many seconds each of a few calendars showed the change in the nearest two weeks, or all were published. */
  readonly shown: number[];
  /** How many free Slots were added or removed in that time. */
  slots: number;
}

const unknown = (): Found => ({ bookings: nothing, searches: nothing, shown: [], slots: 0 });

/** How many working days the nearest two weeks have. */
const WORKING_DAYS = 10;

/** How often a few calendars are made and changed, and how many rounds of bookings are prepared for each time. */
const TURNS = 3;
const ROUNDS = 4;

type Phase = keyof Publishing['found'];

/** A measurement of all phases. */
class Publishing {
  readonly #given: PublishingArguments;
  readonly #installation: Installation;
  readonly #config: BookingConfig;
  /** By what is done while portals book. */
  readonly found = {
    nothing: unknown(),
    'a few new calendars': unknown(),
    'their changed hours': unknown(),
    'the rest of them': unknown(),
    'first publication': unknown(),
    'change of hours': unknown(),
  };

  constructor(given: PublishingArguments, { installation, config }: Bench) {
    this.#given = given;
    this.#installation = installation;
    this.#config = config;
  }

  makePlaces(): Promise<Bookable[]> {
    return makeBookable(this.#installation, this.#given.bookings, Date.now());
  }

  /** Books places of a calendar of their own, made beforehand if given, and searches half as many days of it. */
  async book(phase: Phase, made?: readonly Bookable[]): Promise<void> {
    const { callers } = this.#given;
    await this.#installation.renew();
    const places = made ?? (await this.makePlaces());
    const half = places.filter((_, index) => index % 2 === 0);
    const searches = await measure(half, callers, (place) => searchThroughGateway(place, this.#installation));
    const bookings = await measure(places, callers, (place) =>
      bookThroughGateway(place, this.#installation, this.#config),
    );
    const found = this.found[phase];
    found.searches = together(found.searches, searches);
    found.bookings = together(found.bookings, bookings);
  }

  /** Books until something is shown, or for so many milliseconds; one that fails because a server restarts says nothing. */
  async #bookUntil(phase: Phase, shown: Promise<readonly number[]>, most: number, prepared: Bookable[][] = []) {
    let isOver = false;
    const seconds = shown.finally(() => {
      isOver = true;
    });
    // Its failure counts when the round is over.
    seconds.catch(() => undefined);
    for (const end = Date.now() + most; !isOver && Date.now() < end; ) {
      await this.book(phase, prepared.pop()).catch((error: unknown) => console.error(`${phase}: ${String(error)}`));
    }
    this.found[phase].shown.push(...(await seconds));
  }

  /** When each of a few calendars has so many Slots on a working day of the nearest two weeks, in seconds from now. */
  #shownIn({ schedules }: Published, slots: number): Promise<number[]> {
    const since = Date.now();
    return Promise.all(
      schedules.map(async (schedule) => {
        const isShown = async () => (await countNearest(schedule, this.#installation)) === slots * WORKING_DAYS;
        await wait(isShown, `${slots} slots a day of Schedule/${schedule}`, 300_000, 200);
        return (Date.now() - since) / 1000;
      }),
    );
  }

  /**
   * In turns: books while nothing is published, while a few new calendars are, and their changed hours, each until the
   * nearest two weeks show, and while the rest follows. The slots that are booked are made beforehand, so that only bookings
   * go on.
   */
  async few(): Promise<void> {
    const { few: schedules, slots, slotsLater } = this.#given;
    const rounds: Bookable[][] = [];
    while (rounds.length < ROUNDS) {
      rounds.push(await this.makePlaces());
    }
    await this.book('nothing');
    await this.book('nothing');
    const made = await makeCalendars(this.#installation, { schedules, slots }, this.#config);
    const forever = Number.POSITIVE_INFINITY;
    await this.#bookUntil('a few new calendars', this.#shownIn(made, slots), forever, rounds);
    await changeHours(made, slotsLater, this.#installation);
    await this.#bookUntil('their changed hours', this.#shownIn(made, slotsLater), forever, rounds);
    await this.book('the rest of them');
    await this.book('the rest of them');
    await removeCalendars(made, this.#installation);
  }

  /** Waits until all schedules are published as they should be; also for a server that is restarting. */
  async #allPublished(phase: Phase, published: Published, since: number): Promise<number[]> {
    const { limit } = this.#given;
    let said = since;
    const isOver = async (): Promise<boolean> => {
      const standing = await readStanding(
        published,
        since,
        phase === 'change of hours',
        this.#installation,
        this.#config,
      );
      if (Date.now() - said > 30_000) {
        said = Date.now();
        console.error(`${phase}: ${standing.completed} of ${published.schedules.length} schedules, load ${load()}`);
      }
      return standing.isOver;
    };
    await wait(() => isOver().catch(() => false), phase, limit * 60_000, 1_000);
    return [(Date.now() - since) / 1000];
  }

  /** Publishes all schedules, or what has changed of them; books beside that for some minutes. */
  async all(phase: Phase, published: Published, change?: () => Promise<void>): Promise<void> {
    const since = Date.now();
    await change?.();
    const before = await countFree(published, this.#installation);
    await this.#bookUntil(phase, this.#allPublished(phase, published, since), this.#given.beside * 60_000);
    this.found[phase].slots = Math.abs((await countFree(published, this.#installation)) - before);
  }
}

/** How many there were, their median and 95th percentile, and the ratio of the latter to the one without publishing. */
function columnsOf({ durations }: Measurement, quiet: Measurement): string[] {
  const p95 = quantile(durations, 0.95);
  const shown = [quantile(durations, 0.5).toFixed(1), p95.toFixed(1)];
  return [String(durations.length), ...shown, (p95 / quantile(quiet.durations, 0.95)).toFixed(2)];
}

/** The columns of the table. */
const columns = [
  'meanwhile',
  'shown after s',
  'slots',
  'a second',
  'bookings',
  'p50 ms',
  'p95 ms',
  '÷ nothing',
  'not booked',
  'searches',
  'p50 ms',
  'p95 ms',
  '÷ nothing',
];

function rowOf(phase: string, { bookings, searches, shown, slots }: Found, quiet: Found): string[] {
  return [
    phase,
    shown.length > 0 ? rangeText(shown) : '',
    slots > 0 ? String(slots) : '',
    slots > 0 ? (slots / (shown[0] ?? Number.NaN)).toFixed(1) : '',
    ...columnsOf(bookings, quiet.bookings),
    String(bookings.conflicts + bookings.failures),
    ...columnsOf(searches, quiet.searches),
  ];
}

const positive = wholeNumber(1);

const slotsADay = wholeNumber(1, MOST_SLOTS_A_DAY);

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Publishes many schedules of one service, changes its hours, and books beside it. Runs on the installation that the ' +
        'environment names, like npm run bench; the schedules stay there. Bookings made meanwhile are compared with bookings ' +
        'while nothing is published. Kill Medplum in between to see that the publication goes on.',
    )
    .option('--schedules <number>', 'how many are published', positive, 20)
    .option('--slots <number>', 'half hours that are open on a working day', slotsADay, 16)
    .option('--slots-later <number>', 'the same after the change of hours', slotsADay, 14)
    .option('--few <number>', 'how many more are made and changed first, to see when it shows', positive, 6)
    .option('--bookings <number>', 'bookings in one round; rounds go on while something is published', positive, 40)
    .option('--callers <number>', 'bookings at the same time', positive, 2)
    .option('--beside <minutes>', 'how long to book beside all schedules; then it goes on alone', wholeNumber(0), 5)
    .option('--limit <minutes>', 'how long each part may take', positive, 240);
  measures(command, run);
}

async function run(given: PublishingArguments, bench: Bench): Promise<void> {
  const { installation, config, print } = bench;
  const publishing = new Publishing(given, bench);
  await makeBookable(installation, given.bookings, Date.now());
  for (let turn = 0; turn < TURNS; turn += 1) {
    await publishing.few();
  }
  const published = await makeCalendars(installation, given, config);
  await publishing.all('first publication', published);
  await publishing.all('change of hours', published, () => changeHours(published, given.slotsLater, installation));
  const twice = await countTwice(published, installation);
  await publishing.book('nothing');
  const rows = Object.entries(publishing.found).map(([phase, found]) => rowOf(phase, found, publishing.found.nothing));
  print({ what: `published twice: ${twice}`, columns, rows });
  process.exitCode = twice > 0 ? 1 : 0;
}
