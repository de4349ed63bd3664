import type { Appointment } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import type { BookingConfig } from '../../core/config/config.ts';
import { loadConfig } from '../cli/load-config.ts';
import { formatTable } from '../cli/table.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { resourceIn, send, wait } from './http.ts';
import { findInstallation, type Installation } from './installation.ts';
import { circumstancesText, describeCircumstances, load } from './machine.ts';
import { quantile } from './measure.ts';
import { makeCalendars } from './operations/calendars.ts';
import { startReceivers } from './receivers/receivers.ts';
import { changeByStaff, subscribe, type Target } from './receivers/subscriptions.ts';
import { appointmentFor, type Bookable, makeBookable } from './targets.ts';

interface OperationsArguments {
  readonly rounds: number;
  readonly config?: string;
}

/** What is measured: carries it out once and returns how many resources were found, where that is meaningful. */
type Operation = () => Promise<number | undefined>;

/** The searches for free slots, by their names in the table: whose slots, from which day to which, and the page. */
const searches: Readonly<Record<string, readonly ['service' | 'schedule', number, number, string]>> = {
  'slots of a service, one day': ['service', 14, 15, '_count=51'],
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

const reason = {
  coding: [{ system: 'http://terminology.hl7.org/CodeSystem/appointment-cancellation-reason', code: 'pat' }],
};

/** The life of one appointment: booked, changed by staff (and its portal notified), read, and cancelled. */
function appointmentOperations(
  places: readonly Bookable[],
  { installation, config, receivers }: Target,
): [string, Operation][] {
  const { base } = installation;
  const waiting = [...places];
  let appointment: Appointment | undefined;
  const path = (): string => `Appointment/${appointment?.id}`;
  return [
    [
      '$book',
      async () => {
        const place = waiting.shift();
        if (!place) {
          throw new Error('There is no place left to book.');
        }
        const body = appointmentFor(place, config);
        const answer = await send('POST', `${base}/Appointment/$book`, installation.tokens.portal, body);
        appointment = resourceIn('Appointment', answer);
        return undefined;
      },
    ],
    [
      'change by staff, until the notification arrives',
      async () => {
        const { count } = receivers.quick();
        await changeByStaff(installation, path());
        await wait(() => receivers.quick().count > count, 'for a notification');
        return undefined;
      },
    ],
    [
      'appointment, read',
      async () => {
        appointment = resourceIn('Appointment', await send('GET', `${base}/${path()}`, installation.tokens.portal));
        return undefined;
      },
    ],
    [
      'PATCH that cancels',
      async () => {
        const patch = [
          { op: 'replace', path: '/status', value: 'cancelled' },
          { op: 'add', path: '/cancelationReason', value: reason },
        ];
        const headers = {
          'content-type': 'application/json-patch+json',
          'if-match': `W/"${appointment?.meta?.versionId}"`,
        };
        resourceIn('Appointment', await send('PATCH', `${base}/${path()}`, installation.tokens.portal, patch, headers));
        return undefined;
      },
    ],
  ];
}

/** How many rounds warm up; they do not count. */
const WARM_UP = 5;

/** Carries out all operations in turn; returns the rows of the table. */
async function measureAll(
  operations: readonly [string, Operation][],
  rounds: number,
  renew: () => Promise<void>,
): Promise<string[][]> {
  const took = new Map(operations.map(([name]) => [name, [] as number[]]));
  const found = new Map<string, number | undefined>();
  for (let round = 0; round < rounds + WARM_UP; round += 1) {
    await renew();
    for (const [name, act] of operations) {
      const start = performance.now();
      found.set(name, await act());
      if (round >= WARM_UP) {
        took.get(name)?.push(performance.now() - start);
      }
    }
  }
  return [...took].map(([name, times]) => {
    const figures = [quantile(times, 0.5), quantile(times, 0.95), Math.max(...times)].map((value) => value.toFixed(1));
    return [name, String(found.get(name) ?? ''), ...figures];
  });
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Measures what portals do, one request at a time: searches for free slots, bookings, changes, and the notification of ' +
        'a change by staff. The searched calendars are made for the run and have the same size every time, so runs beside ' +
        'more and more other data show what grows with it. Takes the same variables as npm run bench. The receiver of the ' +
        'notifications listens on 127.0.0.1, which notifications.allowedNetworks must allow. The calendars stay, and so ' +
        'does a cancelled appointment for each round.',
    )
    .option('--rounds <number>', 'how often each is measured', wholeNumber(1), 40)
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

async function main(given: OperationsArguments): Promise<void> {
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  try {
    const receivers = await startReceivers();
    const target = { installation, config, receivers };
    const subscription = await subscribe(target).catch((error: unknown) => {
      receivers.close();
      throw error;
    });
    try {
      const operations = [
        ...(await searchOperations(installation, config)),
        ...appointmentOperations(await makeBookable(installation, given.rounds + WARM_UP, Date.now()), target),
      ];
      const rows = await measureAll(operations, given.rounds, () => installation.renew());
      console.log(circumstancesText(await describeCircumstances(installation, Date.now())));
      console.log(`${given.rounds} of each, one at a time; load ${load()}\n`);
      console.log(formatTable(['request', 'found', 'p50 ms', 'p95 ms', 'longest ms'], rows));
    } finally {
      // Without a receiver, its notifications would be retried again and again.
      await send('DELETE', `${installation.base}/${subscription}`, installation.tokens.portal).catch(() => undefined);
      receivers.close();
    }
  } finally {
    installation.stop();
  }
}
