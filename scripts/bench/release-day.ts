import { setTimeout as wait } from 'node:timers/promises';
import type { Patient, Slot } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import { mapConcurrently } from '../../bots/lib/concurrency.ts';
import type { BookingConfig } from '../../core/config/config.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { createPatient, createSchedule, createSlots, freeSlot } from './create.ts';
import { type BenchResponse, resourceIn, send } from './http.ts';
import type { Installation } from './installation.ts';
import { type Bench, measures } from './machine.ts';
import { quantile, timed } from './measure.ts';
import { appointmentFor } from './targets.ts';

interface ReleaseDayArguments {
  readonly patients: number;
  readonly times: number;
  readonly calendars: number;
  readonly seconds: number;
}

/**
 * One response: the kind of request, its HTTP status (0 without a response), and its duration in milliseconds. The kind
 * `patient` is all requests of a patient until the result was known.
 */
interface Answered {
  readonly kind: 'search' | 'book' | 'read' | 'patient';
  readonly status: number;
  readonly took: number;
}

interface ReleaseDayResult {
  /** Request, status, number, p50, p95 and the longest in milliseconds. */
  readonly rows: readonly string[][];
  readonly booked: number;
  /** Times that more than one appointment holds. */
  readonly twice: number;
  /** Whether every time was booked once, each confirmed booking is stored, and every response was expected. */
  readonly isRight: boolean;
}

const expected: Readonly<Record<Answered['kind'], readonly number[]>> = {
  search: [200],
  book: [201, 409],
  read: [200],
  patient: [201, 200],
};

/**
 * Evaluates a release day. The number of booked times must be that of the times or of the patients, and each is booked
 * once.
 *
 * @param held - the slots of stored appointments, repeated if several appointments hold one
 */
function resultOf(
  answers: readonly Answered[],
  held: readonly string[],
  { patients, times }: ReleaseDayArguments,
): ReleaseDayResult {
  const groups = Map.groupBy(answers, ({ kind, status }) => `${kind} ${status}`);
  const rows = [...groups].map(([key, group]) => {
    const took = group.map((one) => one.took);
    const figures = [quantile(took, 0.5), quantile(took, 0.95), Math.max(...took)].map((value) => value.toFixed(0));
    return [...key.split(' '), String(group.length), ...figures];
  });
  const booked = groups.get('book 201')?.length ?? 0;
  const twice = held.length - new Set(held).size;
  const isExpected = answers.every(({ kind, status }) => expected[kind].includes(status));
  const isSoldOnce = twice === 0 && booked === held.length && booked === Math.min(patients, times);
  return { rows: rows.sort(), booked, twice, isRight: isExpected && isSoldOnce };
}

/** Maximum length of a bookable time. Times are shorter if a calendar has many in a day. */
const MAX_LENGTH = 20 * 60_000;

const CONCURRENCY = 8;

async function release(installation: Installation, times: number, calendars: number): Promise<readonly Slot[]> {
  const first = Math.ceil(Date.now() / DAY) * DAY + 365 * DAY;
  const each = Math.ceil(times / calendars);
  const length = Math.floor(Math.min(MAX_LENGTH, DAY / each));
  const wanted: Slot[] = [];
  while (wanted.length < times) {
    const schedule = await createSchedule(installation);
    const count = Math.min(each, times - wanted.length);
    wanted.push(...Array.from({ length: count }, (_, index) => freeSlot(schedule, first + index * length, length)));
  }
  return createSlots(installation, wanted);
}

function dayOf([first]: readonly Slot[]): string {
  const start = Math.floor(Date.parse(first?.start ?? '') / DAY) * DAY;
  return new URLSearchParams([
    ['start', `ge${formatInstant(start)}`],
    ['start', `lt${formatInstant(start + DAY)}`],
  ]).toString();
}

/** Times a request. An error counts as a response, too. */
async function answered(
  kind: Answered['kind'],
  act: () => Promise<BenchResponse>,
): Promise<Answered & Pick<BenchResponse, 'body'>> {
  const [took, { status, body }] = await timed(() =>
    act().catch((error: unknown) => ({ status: 0, body: String(error) })),
  );
  return { kind, status, took, body };
}

/**
 * One patient searches for free times and books one of the first ten. If another patient was faster, the patient tries
 * again until no time is free. After a booking, the patient reads the appointment.
 *
 * @returns the responses in order, and an entry for the total time until the patient knew the result
 */
async function visit(
  patient: Patient,
  search: string,
  base: string,
  { tokens }: Installation,
  config: BookingConfig,
): Promise<Answered[]> {
  const responses: Answered[] = [];
  const began = performance.now();
  const ended = (status: number): Answered => ({ kind: 'patient', status, took: performance.now() - began });
  for (;;) {
    const found = await answered('search', () => send('GET', `${base}/${search}`, tokens.portal));
    responses.push(found);
    const entries = isResource(found.body, 'Bundle') ? (found.body.entry ?? []) : [];
    const free = entries.flatMap(({ resource }) => (isResource(resource, 'Slot') ? [resource] : []));
    const slot = free[Math.floor(Math.random() * free.length)];
    if (!slot) {
      return [...responses, ended(found.status)];
    }
    const appointment = appointmentFor({ slot, patient }, config);
    const booked = await answered('book', () => send('POST', `${base}/Appointment/$book`, tokens.portal, appointment));
    responses.push(booked);
    if (booked.status !== 409) {
      responses.push(ended(booked.status));
    }
    if (isResource(booked.body, 'Appointment')) {
      const { id } = booked.body;
      responses.push(await answered('read', () => send('GET', `${base}/Appointment/${id}`, tokens.portal)));
    }
    if (booked.status !== 409) {
      return responses;
    }
  }
}

/**
 * The slots that stored appointments hold, repeated if several hold one. Each slot is searched for alone, because
 * Medplum is slow to search for many at once.
 */
async function readHeld(slots: readonly Slot[], { medplum, tokens }: Installation): Promise<string[]> {
  const held: string[] = [];
  for (const { id } of slots) {
    const query = `Appointment?slot=Slot/${id}&status=booked,pending&_count=100`;
    const { entry = [] } = resourceIn('Bundle', await send('GET', `${medplum}/${query}`, tokens.staff));
    held.push(
      ...entry
        .flatMap(({ resource }) => (isResource(resource, 'Appointment') ? (resource.slot ?? []) : []))
        .flatMap(({ reference }) => reference ?? []),
    );
  }
  return held;
}

/** The command line. */
export function define(command: Command): void {
  command
    .description(
      'The day on which a clinic releases its times: many patients look for one and book it through the gateways in turn, ' +
        'spread evenly over a minute, each trying again when another was faster until nothing is free, and read what they ' +
        'have booked. Reports how long the answers took, how long each patient waited until the last of them, and whether a time was sold twice. Runs on the installation that ' +
        'the environment names, like npm run bench.',
    )
    .option('--patients <number>', 'how many patients come', wholeNumber(1), 500)
    .option('--times <number>', 'how many times there are', wholeNumber(1), 200)
    .option('--calendars <number>', 'in how many calendars they are', wholeNumber(1), 10)
    .option('--seconds <number>', 'within what time they come', wholeNumber(1), 60);
  measures(command, run);
}

async function run(given: ReleaseDayArguments, { installation, config, print }: Bench): Promise<void> {
  const each = Array.from({ length: given.patients });
  const patients = await mapConcurrently(each, CONCURRENCY, () => createPatient(installation));
  const slots = await release(installation, given.times, given.calendars);
  const schedules = [...new Set(slots.map(({ schedule }) => schedule.reference))].join(',');
  const search = `Slot?schedule=${schedules}&status=free&${dayOf(slots)}&_sort=start&_count=10`;
  const { gateways } = installation;
  const began = performance.now();
  const visits = patients.map(async (patient, index) => {
    await wait((index * given.seconds * 1_000) / patients.length);
    return visit(patient, search, gateways[index % gateways.length] ?? installation.base, installation, config);
  });
  const responses = (await Promise.all(visits)).flat();
  const elapsed = (performance.now() - began) / 1_000;
  const held = await readHeld(slots, installation);
  const { rows, booked, twice, isRight } = resultOf(responses, held, given);
  const columns = ['request', 'answer', 'number', 'p50 ms', 'p95 ms', 'longest ms'];
  const what = `${given.patients} patients within ${given.seconds} s, ${given.times} times in ${given.calendars} calendars, ${gateways.length} gateways; the last answer after ${elapsed.toFixed(1)} s; ${booked} booked, ${held.length} appointments stored, sold twice: ${twice}`;
  print({ what, columns, rows });
  process.exitCode = isRight ? 0 : 1;
}
