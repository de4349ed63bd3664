import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { artefactUri, type BookingConfig } from '../../core/config/config.ts';
import { DAY } from '../../core/time/time-zone.ts';
import { wholeNumber } from '../cli/whole-number.ts';
import { createActor, createPatient, createSchedule, createSlots, freeSlot } from './create.ts';
import { resourceIn, send, wait } from './http.ts';
import type { Installation } from './installation.ts';
import { type Bench, measures } from './machine.ts';
import { quantile, timed } from './measure.ts';
import { appointmentFor, bookAs, cancelAs } from './targets.ts';

const HALF_HOUR = 1_800_000;

/**
 * Books the only time of a service, lets somebody wait for it, and frees it.
 *
 * @returns how many milliseconds it takes until it is offered
 * @throws Error if that takes more than a minute
 */
async function release(installation: Installation, config: BookingConfig): Promise<number> {
  const { base, tokens } = installation;
  const serviceType = [{ coding: [{ system: artefactUri(config, 'LocalServiceType'), code: randomUUID() }] }];
  const refill = [{ url: 'refill', valueBoolean: true }];
  const schedule = await createSchedule(installation, {
    serviceType,
    actor: [await createActor(installation)],
    extension: [{ url: artefactUri(config, 'LocalBookingPolicy'), extension: refill }],
  });
  const [slot] = await createSlots(installation, [freeSlot(schedule, Date.now() + 3 * DAY, HALF_HOUR)]);
  if (!slot) {
    throw new Error('No slot could be made.');
  }
  const { start, end } = slot;
  const patient = await createPatient(installation);
  const booked = await bookAs(installation, appointmentFor({ slot, patient }, config));
  const participant = [{ actor: { reference: `Patient/${patient.id}` }, status: 'accepted' }];
  const requestedPeriod = [{ start, end }];
  const entry = { resourceType: 'Appointment', status: 'waitlist', serviceType, participant, requestedPeriod };
  resourceIn('Appointment', await send('POST', `${base}/Appointment/$waitlist`, tokens.portal, entry));
  const offers = `${base}/Appointment?status=proposed&patient=Patient/${patient.id}`;
  const isOffered = async (): Promise<boolean> =>
    (resourceIn('Bundle', await send('GET', offers, tokens.portal)).entry ?? []).length > 0;
  const [took] = await timed(async () => {
    await cancelAs(installation, booked);
    await wait(isOffered, 'for an offer', 60_000, 50);
  });
  return took;
}

/** The command line: how long it takes until freed time is offered. */
export function define(command: Command): void {
  command
    .description('Measures how soon freed time is offered to who waits.')
    .option('--count <number>', 'releases that are measured', wholeNumber(1), 50);
  measures(command, run);
}

async function run({ count }: { readonly count: number }, { installation, config, print }: Bench): Promise<void> {
  const took: number[] = [];
  while (took.length < count) {
    await installation.renew();
    took.push(await release(installation, config));
  }
  const figures = [0.5, 0.95].map((share) => quantile(took, share).toFixed(0));
  print({
    what: 'From a cancellation to the offer',
    columns: ['number', 'p50 ms', 'p95 ms'],
    rows: [[`${count}`, ...figures]],
  });
}
