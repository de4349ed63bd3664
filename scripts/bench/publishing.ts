import { setTimeout as wait } from 'node:timers/promises';
import { Command } from 'commander';
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
  readonly limit: number;
  readonly config?: string;
}

/** Bookings while something was published, and how long that took in milliseconds. */
interface Phase {
  readonly name: string;
  readonly bookings: Measurement;
  readonly took: number;
  /** How many free Slots came or went. */
  readonly slots: number;
}

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

/** Books while something is published, and says every half minute how far it is; a server that is restarted is waited for. */
async function during(
  name: string,
  published: Published,
  before: number,
  isByPass: boolean,
  given: PublishingArguments,
  installation: Installation,
  config: BookingConfig,
): Promise<Phase> {
  const since = Date.now();
  let measured = nothing;
  let said = since;
  for (let isOver = false; !isOver; ) {
    try {
      const some = await bookSome(given, installation, config);
      const now = await readStanding(published, since, isByPass, installation, config);
      // What was booked when it was over already says nothing.
      isOver = now.isOver;
      measured = isOver && measured !== nothing ? measured : together(measured, some);
      if (Date.now() - said > 30_000 || isOver) {
        said = Date.now();
        const free = await countFree(published, installation);
        console.error(
          `${name}: ${Math.round((said - since) / 1000)} s, ${now.completed} of ${published.schedules.length} schedules, ${free} free slots, load ${load()}`,
        );
      }
    } catch (error) {
      console.error(`${name}: ${String(error)}`);
      await wait(5_000);
    }
    if (Date.now() - since > given.limit * 60_000) {
      throw new Error(`${name}: not finished after ${given.limit} minutes.`);
    }
  }
  const took = Date.now() - since;
  return { name, bookings: measured, took, slots: Math.abs((await countFree(published, installation)) - before) };
}

const milliseconds = (value: number): string => value.toFixed(1);

function rowOf({ name, bookings, took, slots }: Phase, quiet: number): string[] {
  const { durations, conflicts, failures } = bookings;
  const p95 = quantile(durations, 0.95);
  return [
    name,
    took > 0 ? `${Math.round(took / 1000)} s` : '',
    slots > 0 ? String(slots) : '',
    slots > 0 ? ((slots / took) * 1000).toFixed(1) : '',
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
    .option('--limit <minutes>', 'for how long each part may take', positive, 240)
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .parse()
    .opts<PublishingArguments>();
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  try {
    await bookSome(given, installation, config);
    const quiet = async (): Promise<Measurement> =>
      together(await bookSome(given, installation, config), await bookSome(given, installation, config));
    const before = await quiet();
    const published = await makeCalendars(installation, given.schedules, config);
    const first = await during('first publication', published, 0, false, given, installation, config);
    const free = await countFree(published, installation);
    await changeHours(published, installation);
    const hours = await during('change of hours', published, free, true, given, installation, config);
    const twice = await countTwice(published, installation);
    const nothingElse: Phase = { name: 'nothing', bookings: together(before, await quiet()), took: 0, slots: 0 };
    const phases = [nothingElse, first, hours];
    const p95 = quantile(nothingElse.bookings.durations, 0.95);
    const head = ['meanwhile', 'took', 'slots', 'slots/s', 'bookings', 'p50 ms', 'p95 ms', '÷ nothing', 'not booked'];
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
