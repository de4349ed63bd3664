import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Appointment } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { clock } from '../../core/config/bots.ts';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { resourceIn, send, wait } from './http.ts';
import { findInstallation, type Installation } from './installation.ts';
import { type Bench, measures } from './machine.ts';
import { quantile } from './measure.ts';
import { makeCalendars } from './operations/calendars.ts';
import { startReceivers } from './receivers/receivers.ts';
import { changeByStaff, subscribe, type Target } from './receivers/subscriptions.ts';
import { appointmentFor, type Bookable, makeBookable } from './targets.ts';

interface OperationsArguments {
  readonly rounds: number;
  readonly against?: string;
}

/** What is measured: carries it out once and returns how many resources were found, where that is meaningful. */
type Operation = () => Promise<number | undefined>;

/** The searches for free slots, by their names in the table: whose slots, from which day to which, and the page. */
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

/** What Medplum's clock does every minute, by the administrator: the same Bots, one after the other. */
function sweep({ installation, config }: Target): [string, Operation][] {
  const { medplum, tokens } = installation;
  const everyMinute = Object.entries(clock).flatMap(([name, when]) => (when === '* * * * *' ? [name] : []));
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

/** How many rounds warm up; they do not count. */
const WARM_UP = 5;

/** An installation with everything that is done in it. */
interface Side {
  readonly operations: readonly [string, Operation][];
  readonly installation: Installation;
  end(): Promise<void>;
}

async function prepare(installation: Installation, config: BookingConfig, rounds: number): Promise<Side> {
  const receivers = await startReceivers();
  const target = { installation, config, receivers };
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
    receivers.close();
    installation.stop();
  };
  return { operations, installation, end };
}

/** Carries out all operations of all sides in turn; returns the rows of the table. */
async function measureAll(sides: readonly Side[], rounds: number): Promise<string[][]> {
  const took = sides.map(({ operations }) => new Map(operations.map(([name]) => [name, [] as number[]])));
  const found = new Map<string, number | undefined>();
  for (let round = 0; round < rounds + WARM_UP; round += 1) {
    const inTurn = [...sides.entries()];
    for (const [index, { operations, installation }] of round % 2 === 0 ? inTurn : inTurn.reverse()) {
      await installation.renew();
      for (const [name, act] of operations) {
        const start = performance.now();
        found.set(name, await act());
        if (round >= WARM_UP) {
          took[index]?.get(name)?.push(performance.now() - start);
        }
      }
    }
  }
  const [own = new Map<string, number[]>(), other] = took;
  return [...own].map(([name, times]) => {
    const [p50 = 0, ...more] = [quantile(times, 0.5), quantile(times, 0.95), Math.max(...times)];
    const beside = quantile(other?.get(name) ?? [], 0.5);
    const compared = other ? [beside.toFixed(1), (p50 / beside).toFixed(2)] : [];
    return [name, String(found.get(name) ?? ''), ...[p50, ...more].map((value) => value.toFixed(1)), ...compared];
  });
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'Measures what portals do, one request at a time: searches for free slots, bookings, changes, and the notification of ' +
        'a change by staff; with ADMIN_… also what Medplum does every minute. The searched calendars are made for the run ' +
        'and have the same size every time, so runs beside more and more other data, or in turns with another installation, ' +
        'show what grows with it. Takes the same variables as npm run bench. The receiver of the notifications listens on ' +
        '127.0.0.1, which notifications.allowedNetworks must allow. The calendars stay, and so does a cancelled ' +
        'appointment for each round.',
    )
    .option('--rounds <number>', 'how often each is measured', wholeNumber(1), 40)
    .option('--against <file>', 'variables (.env) of another installation with the same configuration, in turns');
  measures(command, run);
}

async function run({ rounds, against }: OperationsArguments, { installation, config, print }: Bench): Promise<void> {
  const environment = against === undefined ? undefined : parseEnv(readFileSync(against, 'utf8'));
  const others = environment ? [await findInstallation({ ...process.env, ...environment })] : [];
  const sides: Side[] = [];
  try {
    for (const one of [installation, ...others]) {
      sides.push(await prepare(one, config, rounds));
    }
    const columns = ['request', 'found', 'p50 ms', 'p95 ms', 'longest ms'];
    const compared = others.length > 0 ? ['p50 ms, other', '×'] : [];
    const rows = await measureAll(sides, rounds);
    print({ what: `${rounds} of each, one at a time`, columns: [...columns, ...compared], rows });
  } finally {
    await Promise.all(sides.map(({ end }) => end()));
  }
}
