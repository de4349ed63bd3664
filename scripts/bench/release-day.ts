import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { Patient, Schedule, Slot } from '@medplum/fhirtypes';
import type { Command } from 'commander';
import type { BookingConfig } from '../../core/config/config.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { loadConfig } from '../cli/load-config.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { created, createSlots, post } from './create.ts';
import { findInstallation, type Installation } from './installation.ts';
import { observe } from './machine.ts';
import { type Answered, resultOf, slotsHeldBy } from './release-day/result.ts';
import { appointmentFor } from './targets.ts';

interface ReleaseDayArguments {
  readonly patients: number;
  readonly times: number;
  readonly calendars: number;
  readonly seconds: number;
  readonly json?: boolean;
  readonly config?: string;
}

const DAY = 24 * 3_600_000;

/** The longest that a bookable time is; where a calendar has many in the day, they are shorter. */
const LONGEST = 20 * 60_000;

/** The most requests at once while the patients are made. */
const AT_ONCE = 8;

/** Makes calendars with free times on one day, a year from now. */
async function release(installation: Installation, times: number, calendars: number): Promise<readonly Slot[]> {
  const { medplum, tokens } = installation;
  const first = Math.ceil(Date.now() / DAY) * DAY + 365 * DAY;
  const each = Math.ceil(times / calendars);
  const length = Math.min(LONGEST, DAY / each);
  const wanted: Slot[] = [];
  while (wanted.length < times) {
    const resource: Schedule = {
      resourceType: 'Schedule',
      active: true,
      actor: [{ display: `Release day ${randomUUID()}` }],
    };
    const schedule = created<Schedule>(await post(`${medplum}/Schedule`, tokens.staff, resource), 'A schedule');
    const count = Math.min(each, times - wanted.length);
    for (let index = 0; index < count; index++) {
      const start = first + Math.floor(index * length);
      wanted.push({
        resourceType: 'Slot',
        schedule: { reference: `Schedule/${schedule.id}` },
        status: 'free',
        start: formatInstant(start),
        end: formatInstant(start + Math.floor(length)),
      });
    }
  }
  return createSlots(installation, wanted);
}

/** The search condition for the day of some slots. */
function dayOf([first]: readonly Slot[]): string {
  const start = Math.floor(Date.parse(first?.start ?? '') / DAY) * DAY;
  return new URLSearchParams([
    ['start', `ge${formatInstant(start)}`],
    ['start', `lt${formatInstant(start + DAY)}`],
  ]).toString();
}

async function makePatients({ base, tokens }: Installation, count: number): Promise<Patient[]> {
  const patients: Patient[] = [];
  const make = async (): Promise<void> => {
    const name = [{ family: 'Release day', given: [randomUUID()] }];
    const answer = await post(`${base}/Patient`, tokens.portal, { resourceType: 'Patient', name });
    patients.push(created<Patient>(answer, 'A patient'));
  };
  while (patients.length < count) {
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - patients.length) }, make));
  }
  return patients;
}

async function get(url: string, token: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const body: unknown = await response.json();
  return { status: response.status, body };
}

/** Times a request; whatever happens to it counts as an answer. */
async function timed(
  kind: Answered['kind'],
  send: () => Promise<{ status: number; body: unknown }>,
): Promise<Answered & { readonly body: unknown }> {
  const start = performance.now();
  const { status, body } = await send().catch((error: unknown) => ({ status: 0, body: String(error) }));
  return { kind, status, took: performance.now() - start, body };
}

/**
 * One patient looks for free times and books one of the first ten; if another patient was faster, tries again until nothing
 * is free. Who has booked reads the appointment.
 *
 * @returns the answers, in order, and as what they all took until the patient knew
 */
async function visit(
  patient: Patient,
  search: string,
  base: string,
  { tokens }: Installation,
  config: BookingConfig,
): Promise<Answered[]> {
  const answers: Answered[] = [];
  const began = performance.now();
  const told = (status: number): Answered => ({ kind: 'patient', status, took: performance.now() - began });
  for (;;) {
    const found = await timed('search', () => get(`${base}/${search}`, tokens.portal));
    answers.push(found);
    const entries = isResource(found.body, 'Bundle') ? (found.body.entry ?? []) : [];
    const free = entries.flatMap(({ resource }) => (isResource(resource, 'Slot') ? [resource] : []));
    const slot = free[Math.floor(Math.random() * free.length)];
    if (!slot) {
      return [...answers, told(found.status)];
    }
    const appointment = appointmentFor({ slot, patient }, config);
    const booked = await timed('book', () => post(`${base}/Appointment/$book`, tokens.portal, appointment));
    answers.push(booked);
    if (booked.status !== 409) {
      answers.push(told(booked.status));
    }
    if (isResource(booked.body, 'Appointment')) {
      const { id } = booked.body;
      answers.push(await timed('read', () => get(`${base}/Appointment/${id}`, tokens.portal)));
    }
    if (booked.status !== 409) {
      return answers;
    }
  }
}

/**
 * The slots that stored appointments hold, each as often as it is held. One search for each slot: Medplum is slow to search
 * for many at once.
 */
async function readHeld(slots: readonly Slot[], { medplum, tokens }: Installation): Promise<string[]> {
  const held: string[] = [];
  for (const { id } of slots) {
    const query = `Appointment?slot=Slot/${id}&status=booked,pending&_count=100`;
    const { body } = await get(`${medplum}/${query}`, tokens.staff);
    if (!isResource(body, 'Bundle')) {
      throw new Error(`The appointments could not be read: ${JSON.stringify(body).slice(0, 300)}`);
    }
    held.push(...(body.entry ?? []).flatMap(({ resource }) => slotsHeldBy(resource)));
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
    .option('--seconds <number>', 'within what time they come', wholeNumber(1), 60)
    .option('--json', 'print the figures as JSON')
    .option('--config <file>', 'configuration of the installation (default: booking.config.json)')
    .action(main);
}

async function main(given: ReleaseDayArguments): Promise<void> {
  const config = loadConfig(given.config);
  const installation = await findInstallation(process.env);
  try {
    const print = await observe(installation);
    const patients = await makePatients(installation, given.patients);
    const slots = await release(installation, given.times, given.calendars);
    const schedules = [...new Set(slots.map(({ schedule }) => schedule.reference))].join(',');
    const day = dayOf(slots);
    const search = `Slot?schedule=${schedules}&status=free&${day}&_sort=start&_count=10`;
    const { gateways } = installation;
    const began = performance.now();
    const visits = patients.map(async (patient, index) => {
      await wait((index * given.seconds * 1_000) / patients.length);
      return visit(patient, search, gateways[index % gateways.length] ?? installation.base, installation, config);
    });
    const answers = (await Promise.all(visits)).flat();
    const elapsed = (performance.now() - began) / 1_000;
    const held = await readHeld(slots, installation);
    const { rows, booked, twice, isRight } = resultOf(answers, held, given);
    const columns = ['request', 'answer', 'number', 'p50 ms', 'p95 ms', 'longest ms'];
    const what = `${given.patients} patients within ${given.seconds} s, ${given.times} times in ${given.calendars} calendars, ${gateways.length} gateways; the last answer after ${elapsed.toFixed(1)} s; ${booked} booked, ${held.length} appointments stored, sold twice: ${twice}`;
    print({ what, columns, rows }, given.json);
    process.exitCode = isRight ? 0 : 1;
  } finally {
    installation.stop();
  }
}
