import { randomUUID } from 'node:crypto';
import type { Practitioner, Schedule } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { earliestOffer, MOST_ASKED, offerEnd } from '../../core/booking/waitlist/refill.ts';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { formatTable } from '../cli/table.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { create, createPatient, createSlots, freeSlot } from './create.ts';
import { resourceIn, send } from './http.ts';
import type { Installation } from './installation.ts';
import { type Bench, measures } from './machine.ts';
import { quantile } from './measure.ts';

const [MINUTE, HOUR] = [60_000, 3_600_000];

/**
 * How the people of the simulated practice behave. How many accept is published (11 % of offers); the rest is assumed:
 * a third says no, the others do not answer; who answers does so after 25 minutes on average.
 */
const people = { accept: 0.11, decline: 0.3, answer: 25 * MINUTE } as const;

/** Freed time is known from 3 hours to 14 days ahead, each order of magnitude as often. */
const ahead = { least: 3 * HOUR, most: 14 * DAY } as const;

/** Mulberry32: a seeded source of numbers from 0 to 1. */
function chance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What a person does with an offer: when, and whether it is a yes; `undefined` if nothing. */
function answerOf(random: () => number): { readonly after: number; readonly isYes: boolean } | undefined {
  const kind = random();
  const after = -Math.log(1 - random()) * people.answer;
  return kind < people.accept + people.decline ? { after, isYes: kind < people.accept } : undefined;
}

/** What came of one freed time; lengths are milliseconds. */
interface Outcome {
  readonly isFilled: boolean;
  readonly offers: number;
  /** How many said yes to a time that was gone. */
  readonly inVain: number;
  /** How long it was kept for people who did not take it. */
  readonly idle: number;
}

const policy = { policy: {}, saidBy: {}, isReadable: true } as const;

/** One after the other, by the rules of the service. */
function oneByOne(left: number, random: () => number): Outcome {
  let [now, offers, idle] = [0, 0, 0];
  while (offers < MOST_ASKED && left >= earliestOffer(policy, now)) {
    offers += 1;
    const answer = answerOf(random);
    const until = offerEnd(policy, left, now);
    const ends = Math.min(until, now + (answer?.after ?? Number.POSITIVE_INFINITY));
    if (answer?.isYes && now + answer.after < until) {
      return { isFilled: true, offers, inVain: 0, idle };
    }
    idle += ends - now;
    now = ends;
  }
  return { isFilled: false, offers, inVain: 0, idle };
}

/** Five at once, looked for every ten minutes; whoever is first has it, and after an hour the next five are told. */
function fiveAtOnce(left: number, random: () => number): Outcome {
  let [now, offers, inVain] = [random() * 10 * MINUTE, 0, 0];
  while (offers < MOST_ASKED && left >= earliestOffer(policy, now)) {
    offers += 5;
    const answers = Array.from({ length: 5 }, () => answerOf(random)).flatMap((one) => (one?.isYes ? one.after : []));
    const inTime = answers.filter((after) => now + after < left);
    inVain += Math.max(0, inTime.length - 1);
    if (inTime.length > 0) {
      return { isFilled: true, offers, inVain, idle: 0 };
    }
    now += HOUR;
  }
  return { isFilled: false, offers, inVain, idle: 0 };
}

const ways = { 'one after the other (the service)': oneByOne, 'five at once, every ten minutes': fiveAtOnce } as const;

function practice(times: number): string {
  const rows = Object.entries(ways).map(([name, way]) => {
    const random = chance(1);
    const all = Array.from({ length: times }, () => {
      const left = ahead.least * (ahead.most / ahead.least) ** random();
      return way(left, random);
    });
    const mean = (of: (one: Outcome) => number): number => all.reduce((sum, one) => sum + of(one), 0) / times;
    return [
      name,
      `${(100 * mean(({ isFilled }) => Number(isFilled))).toFixed(1)} %`,
      mean(({ offers }) => offers).toFixed(1),
      (100 * mean(({ inVain }) => inVain)).toFixed(1),
      (mean(({ idle }) => idle) / HOUR).toFixed(1),
    ];
  });
  rows.push(['nobody is asked', '0 %', '0', '0', '0']);
  const head = ['who is asked', 'filled', 'offers a time', 'told yes in vain, of 100 times', 'kept in vain, hours'];
  return formatTable(head, rows);
}

/** Waits for the offer of a freed time, and returns how long it took; `undefined` if it is not made within a minute. */
async function offered(installation: Installation, patient: string, since: number): Promise<number | undefined> {
  const url = `${installation.base}/Appointment?status=proposed&patient=${patient}`;
  while (performance.now() - since < MINUTE) {
    if (resourceIn('Bundle', await send('GET', url, installation.tokens.portal)).entry?.length) {
      return performance.now() - since;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return undefined;
}

/** Books the only time of a service, lets somebody wait for it, frees it, and waits for the offer. */
async function release(installation: Installation, config: BookingConfig): Promise<number | undefined> {
  const { base, tokens } = installation;
  const serviceType = [{ coding: [{ system: artefactUri(config, 'LocalServiceType'), code: randomUUID() }] }];
  const { id } = await create<Practitioner>(installation, {
    resourceType: 'Practitioner',
    name: [{ family: 'Benchmark' }],
  });
  const schedule = await create<Schedule>(installation, {
    resourceType: 'Schedule',
    active: true,
    serviceType,
    actor: [{ reference: `Practitioner/${id}` }],
    extension: [
      {
        url: artefactUri(config, 'LocalBookingPolicy'),
        extension: [{ url: 'refill', valueBoolean: true }],
      },
    ],
  });
  const [slot] = await createSlots(installation, [freeSlot(schedule, Date.now() + 3 * DAY, HOUR / 2)]);
  const { start, end } = slot ?? {};
  const patient = `Patient/${(await createPatient(installation)).id}`;
  const participant = [{ actor: { reference: patient, display: 'Benchmark' }, status: 'accepted' }];
  const own = { resourceType: 'Appointment', serviceType, participant };
  const ask = async (operation: string, body: object) =>
    resourceIn('Appointment', await send('POST', `${base}/Appointment/${operation}`, tokens.portal, body));
  const booking = { ...own, status: 'proposed', start, end, slot: [{ reference: `Slot/${slot?.id}` }] };
  const booked = await ask('$book', booking);
  await ask('$waitlist', { ...own, status: 'waitlist', requestedPeriod: [{ start, end }] });
  const since = performance.now();
  const patch = [{ op: 'replace', path: '/status', value: 'cancelled' }];
  const headers = { 'content-type': 'application/json-patch+json' };
  resourceIn('Appointment', await send('PATCH', `${base}/Appointment/${booked.id}`, tokens.portal, patch, headers));
  return offered(installation, patient, since);
}

interface WaitlistArguments {
  readonly count: number;
  readonly times: number;
}

/** The command line: how long it takes until freed time is offered, and what that fills in a simulated practice. */
export function define(command: Command): void {
  command
    .description('Measures how soon freed time is offered to who waits, and simulates what is filled by it.')
    .option('--count <number>', 'releases that are measured', wholeNumber(1), 50)
    .option('--times <number>', 'freed times of the simulated practice', wholeNumber(1), 100_000);
  measures(command, run);
}

async function run({ count, times }: WaitlistArguments, { installation, config, print }: Bench): Promise<void> {
  console.error(`${practice(times)}\n`);
  const found: (number | undefined)[] = [];
  for (let index = 0; index < count; index++) {
    await installation.renew();
    found.push(await release(installation, config));
  }
  const took = found.flatMap((one) => one ?? []);
  const columns = ['cancelled', 'offers made', 'p50 ms', 'p95 ms'];
  const figures = [0.5, 0.95].map((share) => quantile(took, share).toFixed(0));
  print({ what: 'From a cancellation to the offer', columns, rows: [[`${count}`, `${took.length}`, ...figures]] });
}
