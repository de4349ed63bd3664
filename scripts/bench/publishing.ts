import { setTimeout as wait } from 'node:timers/promises';
import type { Command } from 'commander';
import { QUIET_AFTER } from '../../core/calendar/publish/due.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import type { Installation } from './installation.ts';
import { type Bench, load, measures } from './machine.ts';
import { type Measurement, measure, nothing, quantile, together } from './measure.ts';
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
  readonly quiet: number;
  readonly beside: number;
  readonly limit: number;
}

/** How many free Slots were added or removed, and the time it took in milliseconds. */
interface Progress {
  readonly took: number;
  readonly slots: number;
}

/** What portals do meanwhile. */
interface Traffic {
  readonly bookings: Measurement;
  readonly searches: Measurement;
}

/** What was published with bookings going on beside it, and without. */
interface Phase extends Traffic {
  readonly name: string;
  /** How long all of it took, in milliseconds. */
  readonly took: number;
  readonly beside: Progress;
  readonly alone: Progress;
}

const none: Progress = { took: 0, slots: 0 };

/** Of a phase that ends when enough has been booked. */
const untimed = { took: 0, beside: none, alone: none };

const positive = wholeNumber(1);

const slotsADay = wholeNumber(1, MOST_SLOTS_A_DAY);

const noTraffic: Traffic = { bookings: nothing, searches: nothing };

const both = (one: Traffic, other: Traffic): Traffic => ({
  bookings: together(one.bookings, other.bookings),
  searches: together(one.searches, other.searches),
});

/** Books a number of slots of a calendar of their own, made beforehand if given, and searches half as many days of it. */
async function bookSome(
  { bookings, callers }: Pick<PublishingArguments, 'bookings' | 'callers'>,
  installation: Installation,
  config: BookingConfig,
  made?: readonly Bookable[],
): Promise<Traffic> {
  const places = made ?? (await makeBookable(installation, bookings, Date.now()));
  const half = places.filter((_, index) => index % 2 === 0);
  return {
    searches: await measure(half, callers, (place) => searchThroughGateway(place, installation)),
    bookings: await measure(places, callers, (place) => bookThroughGateway(place, installation, config)),
  };
}

/**
 * Changes something if that is given, and books for some minutes while it is published, then lets the publication go on by itself. Reports progress every
 * half minute, and waits for a server that is restarting.
 */
async function during(
  name: string,
  published: Published,
  change: (() => Promise<void>) | undefined,
  given: PublishingArguments,
  installation: Installation,
  config: BookingConfig,
): Promise<Phase> {
  const since = Date.now();
  await change?.();
  const counted = async () => ({ at: Date.now(), free: await countFree(published, installation) });
  const progress = (from: { at: number; free: number }, to: { at: number; free: number }): Progress => ({
    took: to.at - from.at,
    slots: Math.abs(to.free - from.free),
  });
  const began = await counted();
  let traffic = noTraffic;
  let beside = none;
  let quiet: typeof began | undefined;
  let said = since;
  for (;;) {
    try {
      await installation.renew();
      const isBeside = Date.now() - since < given.beside * 60_000;
      const some = isBeside ? await bookSome(given, installation, config) : noTraffic;
      const { isOver, completed } = await readStanding(published, since, change !== undefined, installation, config);
      // Bookings made after it was over say nothing.
      traffic = isOver && traffic !== noTraffic ? traffic : both(traffic, some);
      if (isBeside) {
        beside = isOver ? progress(began, await counted()) : beside;
      } else if (beside === none) {
        beside = progress(began, await counted());
        await wait(QUIET_AFTER + 5_000);
        quiet = await counted();
      }
      if (Date.now() - said > 30_000 || isOver) {
        said = Date.now();
        const { at, free } = await counted();
        const refused = traffic.bookings.conflicts + traffic.bookings.failures;
        const seconds = Math.round((at - since) / 1000);
        const of = `${completed} of ${published.schedules.length} schedules, ${free} free slots, ${refused} bookings failed`;
        console.error(`${name}: ${seconds} s, ${of}, load ${load()}`);
      }
      if (isOver) {
        return {
          name,
          ...traffic,
          took: Date.now() - since,
          beside,
          alone: quiet ? progress(quiet, await counted()) : none,
        };
      }
      await wait(isBeside ? 0 : 1_000);
    } catch (error) {
      console.error(`${name}: ${String(error)}`);
      await wait(5_000);
    }
    if (Date.now() - since > given.limit * 60_000) {
      throw new Error(`${name}: not finished after ${given.limit} minutes.`);
    }
  }
}

/** How many working days the nearest two weeks have. */
const WORKING_DAYS = 10;

/** When each of a few calendars shows what has changed, in seconds since the change: the first Slot, and two weeks. */
async function shownAfter(
  { schedules }: Published,
  slots: readonly number[],
  since: number,
  installation: Installation,
): Promise<{ readonly first: number[]; readonly nearest: number[] }> {
  const [before = 0, after = 0] = slots.map((count) => count * WORKING_DAYS);
  const times = await Promise.all(
    schedules.map(async (schedule) => {
      let first: number | undefined;
      for (;;) {
        const count = await countNearest(schedule, installation);
        const seconds = (Date.now() - since) / 1000;
        first ??= count === before ? undefined : seconds;
        if (count === after || seconds > 300) {
          return { first: first ?? seconds, nearest: seconds };
        }
        await wait(200);
      }
    }),
  );
  return { first: times.map(({ first }) => first), nearest: times.map(({ nearest }) => nearest) };
}

/** How often a few calendars are made and changed, and how many rounds of bookings are prepared for each time. */
const TURNS = 3;
const ROUNDS = 4;

/** What is done to a few calendars while bookings are made, and how bookings fare then. */
const fewPhases = ['nothing', 'a few new calendars', 'their changed hours', 'the rest of them'] as const;

/**
 * In turns: books while nothing is published, while a few new calendars are, and their changed hours, each until the nearest
 * two weeks show, and while the rest follows. The slots that are booked are made beforehand, so that only bookings go on.
 */
async function fewBeside(
  given: PublishingArguments,
  installation: Installation,
  config: BookingConfig,
): Promise<Record<(typeof fewPhases)[number], Traffic>> {
  const traffic = {
    nothing: noTraffic,
    'a few new calendars': noTraffic,
    'their changed hours': noTraffic,
    'the rest of them': noTraffic,
  };
  for (let turn = 0; turn < TURNS; turn += 1) {
    await installation.renew();
    const rounds: Bookable[][] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.push(await makeBookable(installation, given.bookings, Date.now()));
    }
    const book = async (phase: (typeof fewPhases)[number]): Promise<void> => {
      traffic[phase] = both(traffic[phase], await bookSome(given, installation, config, rounds.pop()));
    };
    const during = async (phase: (typeof fewPhases)[number], shown: ReturnType<typeof shownAfter>): Promise<void> => {
      let isOver = false;
      const watched = shown.finally(() => {
        isOver = true;
      });
      while (!isOver) {
        await book(phase);
      }
      const { first, nearest } = await watched;
      const texts = [first, nearest].map((all) => all.map((seconds) => seconds.toFixed(1)).join(', '));
      console.error(`${phase}: the first slots after ${texts[0]} s, the nearest two weeks after ${texts[1]} s`);
    };
    await book('nothing');
    await book('nothing');
    const began = Date.now();
    const few = await makeCalendars(installation, { schedules: given.few, slots: given.slots }, config);
    await during('a few new calendars', shownAfter(few, [0, given.slots], began, installation));
    const changed = Date.now();
    await changeHours(few, given.slotsLater, installation);
    const counts = [given.slots, given.slotsLater];
    await during('their changed hours', shownAfter(few, counts, changed, installation));
    await book('the rest of them');
    await book('the rest of them');
    await removeCalendars(few, installation);
  }
  return traffic;
}

const milliseconds = (value: number): string => value.toFixed(1);

const rate = ({ took, slots }: Progress): string => (took > 0 ? ((slots / took) * 1000).toFixed(1) : '');

/** How many there were, their median and 95th percentile, and the ratio of the latter to the one without publishing. */
function columnsOf({ durations }: Measurement, quiet: Measurement): string[] {
  const p95 = quantile(durations, 0.95);
  return [
    String(durations.length),
    milliseconds(quantile(durations, 0.5)),
    milliseconds(p95),
    (p95 / quantile(quiet.durations, 0.95)).toFixed(2),
  ];
}

/** The columns of the tables. */
const columns = [
  'meanwhile',
  'minutes',
  'slots beside bookings',
  'a second',
  'slots alone',
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

function rowOf({ name, bookings, searches, took, beside, alone }: Phase, quiet: Traffic): string[] {
  return [
    name,
    took > 0 ? (took / 60_000).toFixed(1) : '',
    beside.took > 0 ? String(beside.slots) : '',
    rate(beside),
    alone.took > 0 ? String(alone.slots) : '',
    rate(alone),
    ...columnsOf(bookings, quiet.bookings),
    String(bookings.conflicts + bookings.failures),
    ...columnsOf(searches, quiet.searches),
  ];
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Publishes many schedules of one service, changes its hours, and books beside it. Runs on the installation that the ' +
        'environment names, like npm run bench; the schedules stay there. Bookings made meanwhile are compared with bookings ' +
        'made before and afterwards. Kill Medplum in between to see that the publication goes on.',
    )
    .option('--schedules <number>', 'how many are published', positive, 20)
    .option('--slots <number>', 'half hours that are open on a working day', slotsADay, 16)
    .option('--slots-later <number>', 'the same after the change of hours', slotsADay, 14)
    .option('--few <number>', 'how many more are made and changed first, to see when it shows', positive, 6)
    .option('--bookings <number>', 'bookings in one round; rounds go on while something is published', positive, 40)
    .option('--callers <number>', 'bookings at the same time', positive, 2)
    .option('--quiet <minutes>', 'how long to book before and afterwards, without publishing', positive, 2)
    .option('--beside <minutes>', 'how long to book beside each part; then it goes on alone', positive, 5)
    .option('--limit <minutes>', 'how long each part may take', positive, 240);
  measures(command, run);
}

async function run(given: PublishingArguments, { installation, config, print }: Bench): Promise<void> {
  await bookSome(given, installation, config);
  const quiet = async (): Promise<Traffic> => {
    let measured = noTraffic;
    for (const since = Date.now(); Date.now() - since < given.quiet * 60_000; ) {
      await installation.renew();
      measured = both(measured, await bookSome(given, installation, config));
    }
    return measured;
  };
  const few = await fewBeside(given, installation, config);
  const before = await quiet();
  const published = await makeCalendars(installation, given, config);
  const first = await during('first publication', published, undefined, given, installation, config);
  const change = () => changeHours(published, given.slotsLater, installation);
  const hours = await during('change of hours', published, change, given, installation, config);
  const twice = await countTwice(published, installation);
  const traffic = both(before, await quiet());
  const rows = [
    ...fewPhases.map((name) => rowOf({ name, ...few[name], ...untimed }, few.nothing)),
    ...[{ name: 'nothing', ...traffic, ...untimed }, first, hours].map((phase) => rowOf(phase, traffic)),
  ];
  print({ what: `published twice: ${twice}`, columns, rows });
  process.exitCode = twice > 0 ? 1 : 0;
}
