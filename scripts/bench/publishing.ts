import { setTimeout as wait } from 'node:timers/promises';
import { Command } from 'commander';
import { QUIET_AFTER } from '../../core/calendar/publish/pace.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { runAsProgram } from '../cli/command.ts';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { findInstallation, type Installation } from './installation.ts';
import { circumstancesText, describeCircumstances, load } from './machine.ts';
import { type Measurement, measure, nothing, quantile, together } from './measure.ts';
import {
  changeHours,
  countFree,
  countTwice,
  makeCalendars,
  type Published,
  readStanding,
} from './publishing/calendars.ts';
import { bookThroughGateway, makeBookable } from './targets.ts';

interface PublishingArguments {
  readonly schedules: number;
  readonly bookings: number;
  readonly callers: number;
  readonly beside: number;
  readonly limit: number;
  readonly config?: string;
}

/** How many free Slots came or went within a time in milliseconds. */
interface Progress {
  readonly took: number;
  readonly slots: number;
}

/** What was published while somebody booked, and while nobody did. */
interface Phase {
  readonly name: string;
  readonly bookings: Measurement;
  readonly beside: Progress;
  readonly alone: Progress;
}

const none: Progress = { took: 0, slots: 0 };

const positive = wholeNumber(1);

/** Books so many slots of a calendar of their own. */
async function bookSome(
  { bookings, callers }: Pick<PublishingArguments, 'bookings' | 'callers'>,
  installation: Installation,
  config: BookingConfig,
): Promise<Measurement> {
  const places = await makeBookable(installation, bookings, Date.now());
  return measure(places, callers, (place) => bookThroughGateway(place, installation, config));
}

/**
 * Books for some minutes while something is published, then lets it go on by itself, and says every half minute how far
 * it is; a server that is restarted is waited for.
 */
async function during(
  name: string,
  published: Published,
  isByPass: boolean,
  given: PublishingArguments,
  installation: Installation,
  config: BookingConfig,
): Promise<Phase> {
  const since = Date.now();
  const counted = async () => ({ at: Date.now(), free: await countFree(published, installation) });
  const progress = (from: { at: number; free: number }, to: { at: number; free: number }): Progress => ({
    took: to.at - from.at,
    slots: Math.abs(to.free - from.free),
  });
  const began = await counted();
  let bookings = nothing;
  let beside = none;
  let quiet: typeof began | undefined;
  let said = since;
  for (;;) {
    try {
      const isBeside = Date.now() - since < given.beside * 60_000;
      const some = isBeside ? await bookSome(given, installation, config) : nothing;
      const { isOver, completed } = await readStanding(published, since, isByPass, installation, config);
      // What was booked when it was over already says nothing.
      bookings = isOver && bookings !== nothing ? bookings : together(bookings, some);
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
        const seconds = Math.round((at - since) / 1000);
        const of = `${completed} of ${published.schedules.length} schedules, ${free} free slots`;
        console.error(`${name}: ${seconds} s, ${of}, load ${load()}`);
      }
      if (isOver) {
        return { name, bookings, beside, alone: quiet ? progress(quiet, await counted()) : none };
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

const milliseconds = (value: number): string => value.toFixed(1);

const rate = ({ took, slots }: Progress): string => (took > 0 ? ((slots / took) * 1000).toFixed(1) : '');

function rowOf({ name, bookings, beside, alone }: Phase, quiet: number): string[] {
  const { durations, conflicts, failures } = bookings;
  const p95 = quantile(durations, 0.95);
  return [
    name,
    beside.took > 0 ? String(beside.slots) : '',
    rate(beside),
    alone.took > 0 ? String(alone.slots) : '',
    rate(alone),
    String(durations.length),
    milliseconds(quantile(durations, 0.5)),
    milliseconds(p95),
    (p95 / quiet).toFixed(2),
    String(conflicts + failures),
  ];
}

async function main(): Promise<void> {
  const given = new Command()
    .name('npm run bench:publishing --')
    .description(
      'Publishes many schedules of one service, changes its hours, and books beside it. Runs on the installation that the ' +
        'environment names, like npm run bench; the schedules stay there. What is booked beside it is compared with what is ' +
        'booked before and afterwards. Kill Medplum in between to see that it goes on.',
    )
    .option('--schedules <number>', 'how many are published', positive, 20)
    .option('--bookings <number>', 'bookings in one round; rounds go on while something is published', positive, 40)
    .option('--callers <number>', 'bookings at the same time', positive, 2)
    .option('--beside <minutes>', 'for how long is booked beside each part; then it goes on alone', positive, 5)
    .option('--limit <minutes>', 'for how long each part may take', positive, 240)
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .parse()
    .opts<PublishingArguments>();
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  try {
    await bookSome(given, installation, config);
    const quiet = async (): Promise<Measurement> => {
      let measured = nothing;
      for (let round = 0; round < 6; round += 1) {
        measured = together(measured, await bookSome(given, installation, config));
      }
      return measured;
    };
    const before = await quiet();
    const published = await makeCalendars(installation, given.schedules, config);
    const first = await during('first publication', published, false, given, installation, config);
    await changeHours(published, installation);
    const hours = await during('change of hours', published, true, given, installation, config);
    const twice = await countTwice(published, installation);
    const nothingElse: Phase = {
      name: 'nothing',
      bookings: together(before, await quiet()),
      beside: none,
      alone: none,
    };
    const phases = [nothingElse, first, hours];
    const p95 = quantile(nothingElse.bookings.durations, 0.95);
    const head = [
      'meanwhile',
      'slots beside bookings',
      'a second',
      'slots alone',
      'a second',
      'bookings',
      'p50 ms',
      'p95 ms',
      '÷ nothing',
      'not booked',
    ];
    console.log(circumstancesText(await describeCircumstances(installation, Date.now())));
    console.log(
      `\n${formatTable(
        head,
        phases.map((phase) => rowOf(phase, p95)),
      )}\n\nPublished twice: ${twice}`,
    );
    process.exitCode = twice > 0 ? 1 : 0;
  } finally {
    installation.stop();
  }
}

await runAsProgram(import.meta.url, main);
