import type { Command } from 'commander';
import { wholeNumber } from '../cli/whole-number.ts';
import { wait } from './http.ts';
import { type Bench, measures } from './machine.ts';
import { combine, type Measurement, measure, nothing, quantile, rangeText } from './measure.ts';
import {
  changeHours,
  countNearest,
  countTwice,
  MAX_SLOTS_A_DAY,
  makeCalendars,
  type Published,
} from './publishing/calendars.ts';
import { type Bookable, bookThroughGateway, makeBookable } from './targets.ts';

interface PublishingArguments {
  readonly schedules: number;
  readonly slots: number;
  readonly slotsLater: number;
  readonly bookings: number;
  readonly callers: number;
  readonly rounds: number;
}

const WORKING_DAYS = 10;

const MAX_SHOWN_MS = 300_000;

/** The bookings of a phase, and the seconds until each Schedule showed its nearest two weeks. */
interface Found {
  bookings: Measurement;
  readonly shown: number[];
}

const positive = wholeNumber(1);

const slotsADay = wholeNumber(1, MAX_SLOTS_A_DAY);

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Publishes new schedules of one service, changes its hours, and books meanwhile in other calendars; compared with ' +
        'bookings while nothing is published. Takes the same variables as bookings; the schedules stay. Kill Medplum in ' +
        'between to see that the publication goes on.',
    )
    .option('--schedules <number>', 'how many are published', positive, 6)
    .option('--slots <number>', 'half hours that are open on a working day', slotsADay, 16)
    .option('--slots-later <number>', 'the same after the change of hours', slotsADay, 14)
    .option('--bookings <number>', 'bookings at a time; they go on until the nearest two weeks show', positive, 40)
    .option('--callers <number>', 'bookings at the same time', positive, 2)
    .option('--rounds <number>', 'number of rounds', positive, 3);
  measures(command, run);
}

async function run(given: PublishingArguments, { installation, config, print }: Bench): Promise<void> {
  const { slots, slotsLater, callers } = given;
  const none = (): Found => ({ bookings: nothing, shown: [] });
  const found = { nothing: none(), 'new schedules': none(), 'changed hours': none(), 'later weeks': none() };
  type Phase = keyof typeof found;

  const book = async (phase: Phase): Promise<void> => {
    await installation.renew();
    const places: readonly Bookable[] = await makeBookable(installation, given.bookings, Date.now());
    const measured = await measure(places, callers, (place) => bookThroughGateway(place, installation, config));
    found[phase].bookings = combine(found[phase].bookings, measured);
  };
  const bookUntilShown = async (phase: Phase, { schedules }: Published, slotsADay: number): Promise<void> => {
    const since = Date.now();
    let left = schedules.length;
    const shown = schedules.map(async (schedule) => {
      const isShown = async () => (await countNearest(schedule, installation)) === slotsADay * WORKING_DAYS;
      await wait(isShown, `${slotsADay} slots a day of Schedule/${schedule}`, MAX_SHOWN_MS, 200);
      left -= 1;
      return (Date.now() - since) / 1000;
    });
    const all = Promise.all(shown);
    // An error is handled after the bookings.
    all.catch(() => undefined);
    for (const end = since + MAX_SHOWN_MS; left > 0 && Date.now() < end; ) {
      // A booking may fail because a server restarts. It does not count.
      await book(phase).catch((error: unknown) => console.error(`${phase}: ${String(error)}`));
    }
    found[phase].shown.push(...(await all));
  };

  let twice = 0;
  for (let round = 0; round < given.rounds; round += 1) {
    await book('nothing');
    const published = await makeCalendars(installation, given, config);
    await bookUntilShown('new schedules', published, slots);
    await changeHours(published, slotsLater, installation);
    await bookUntilShown('changed hours', published, slotsLater);
    await book('later weeks');
    twice += await countTwice(published, installation);
  }
  const quiet = found.nothing.bookings.durations;
  const rows = Object.entries(found).map(
    ([
      phase,
      {
        bookings: { durations, conflicts, failures },
        shown,
      },
    ]) => [
      phase,
      shown.length > 0 ? rangeText(shown) : '',
      String(durations.length),
      ...[0.5, 0.95].flatMap((share) => {
        const value = quantile(durations, share);
        return [value.toFixed(1), (value / quantile(quiet, share)).toFixed(2)];
      }),
      String(conflicts + failures),
    ],
  );
  const columns = [
    'meanwhile',
    'shown after s',
    'bookings',
    'p50 ms',
    '÷ nothing',
    'p95 ms',
    '÷ nothing',
    'not booked',
  ];
  print({ what: `${given.schedules} schedules, ${given.rounds} rounds; published twice: ${twice}`, columns, rows });
  process.exitCode = twice > 0 ? 1 : 0;
}
