import type { Appointment } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { scheduledBots } from '../../core/config/bots.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { resourceIn, send } from './http.ts';
import type { Installation } from './installation.ts';
import { type Bench, measures } from './machine.ts';
import { quantile, timed } from './measure.ts';
import { makeCalendars } from './operations/calendars.ts';
import { startReceiver, subscribe, type Target, untilNotified } from './subscriber.ts';
import { appointmentFor, type Bookable, bookAs, cancelAs, makeBookable } from './targets.ts';

interface OperationsArguments {
  readonly rounds: number;
}

/** A measured operation. It runs once and returns the number of resources found, if that is meaningful. */
type Operation = () => Promise<number | undefined>;

/** The searches for free slots, by their names in the table: service or schedule, first and last day, page. */
const searches: Readonly<Record<string, readonly ['service' | 'schedule', number, number, string]>> = {
  'slots of a service, one day': ['service', 14, 15, '_count=20'],
  'slots of a service, a week, first page': ['service', 14, 21, '_count=20'],
  'slots of a service, twelve weeks, page 50': ['service', 0, 84, '_count=20&_offset=980'],
  'slots of a service, four weeks': ['service', 14, 42, '_count=1000'],
  'slots of a schedule, four weeks': ['schedule', 14, 42, '_count=1000'],
  'slots of a schedule, twelve weeks': ['schedule', 0, 84, '_count=1000'],
};

async function searchOperations(installation: Installation, config: BookingConfig): Promise<[string, Operation][]> {
  const { base } = installation;
  const calendars = await makeCalendars(installation, config, Date.now());
  const whose = { service: calendars.ofService, schedule: calendars.ofSchedule };
  return Object.entries(searches).map(([name, [which, from, to, page]]) => {
    const url = `${base}/Slot?status=free&${whose[which]}&${calendars.within(from, to)}&_sort=start&${page}`;
    return [
      name,
      async () => resourceIn('Bundle', await send('GET', url, installation.tokens.portal)).entry?.length ?? 0,
    ];
  });
}

/** The operations on one appointment: book it, change it as staff (and notify its portal), read it, cancel it. */
function appointmentOperations(places: readonly Bookable[], target: Target): [string, Operation][] {
  const { installation, config } = target;
  const waiting = [...places];
  let appointment: Appointment | undefined;
  const path = (): string => `Appointment/${appointment?.id}`;
  const nothing = () => undefined;
  return [
    [
      '$book',
      async () => {
        const place = waiting.shift();
        appointment = place && (await bookAs(installation, appointmentFor(place, config)));
        return undefined;
      },
    ],
    ['change by staff, until the notification arrives', () => untilNotified(target, path()).then(nothing)],
    [
      'appointment, read',
      async () => {
        const response = await send('GET', `${installation.base}/${path()}`, installation.tokens.portal);
        appointment = resourceIn('Appointment', response);
        return undefined;
      },
    ],
    [
      'PATCH that cancels',
      async () => {
        await (appointment && cancelAs(installation, appointment));
        return undefined;
      },
    ],
  ];
}

/** The scheduled Bots that Medplum starts every minute, called by the administrator one after the other. */
function sweep({ installation, config }: Target): [string, Operation][] {
  const { medplum, tokens } = installation;
  const everyMinute = Object.entries(scheduledBots).flatMap(([name, when]) => (when === '* * * * *' ? [name] : []));
  const run = async (): Promise<undefined> => {
    for (const name of everyMinute) {
      const url = `${medplum}/Bot/$execute?identifier=${artefactUri(config, 'LocalBot')}|${name}`;
      const { status, body } = await send('POST', url, installation.tokens.admin, {});
      if (status >= 300) {
        throw new Error(`${name} failed (${status}): ${JSON.stringify(body).slice(0, 300)}`);
      }
    }
  };
  return tokens.admin === '' ? [] : [["the minute's sweep", run]];
}

const WARM_UP = 5;

async function prepare(installation: Installation, config: BookingConfig, rounds: number) {
  const receiver = await startReceiver();
  const target = { installation, config, receiver };
  const subscription = await subscribe(target);
  const operations = [
    ...(await searchOperations(installation, config)),
    ...appointmentOperations(await makeBookable(installation, rounds + WARM_UP, Date.now()), target),
    ...sweep(target),
  ];
  const end = async (): Promise<void> => {
    // Without a receiver, its notifications would be retried again and again.
    const url = `${installation.base}/${subscription}`;
    await send('DELETE', url, installation.tokens.portal).catch(() => undefined);
    receiver.close();
  };
  return { operations, end };
}

async function measureAll(
  operations: readonly [string, Operation][],
  installation: Installation,
  rounds: number,
): Promise<string[][]> {
  const found = new Map(
    operations.map(([name]) => [name, [] as (readonly [took: number, count: number | undefined])[]]),
  );
  for (let round = 0; round < rounds + WARM_UP; round++) {
    await installation.renew();
    for (const [name, act] of operations) {
      found.get(name)?.push(await timed(act));
    }
  }
  return [...found].map(([name, all]) => {
    const times = all.slice(WARM_UP).map(([took]) => took);
    const figures = [quantile(times, 0.5), quantile(times, 0.95), Math.max(...times)];
    return [name, String(all[0]?.[1] ?? ''), ...figures.map((value) => value.toFixed(1))];
  });
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Measures what portals do, one request at a time: searches for free slots, bookings, changes, and the notification of ' +
        'a change by staff; with ADMIN_… also what Medplum does every minute. The searched calendars are made for the run ' +
        'and have the same size every time, so runs beside more and more other data ' +
        'show what grows with it. Takes the same variables as npm run bench. The receiver of the notifications listens on ' +
        '127.0.0.1, which notifications.allowedNetworks must allow. The calendars stay, and so does a cancelled ' +
        'appointment for each round.',
    )
    .option('--rounds <number>', 'how often each is measured', wholeNumber(1), 40);
  measures(command, run);
}

async function run({ rounds }: OperationsArguments, { installation, config, print }: Bench): Promise<void> {
  const { operations, end } = await prepare(installation, config, rounds);
  try {
    const columns = ['request', 'found', 'p50 ms', 'p95 ms', 'longest ms'];
    print({
      what: `${rounds} of each, one at a time`,
      columns,
      rows: await measureAll(operations, installation, rounds),
    });
  } finally {
    await end();
  }
}
