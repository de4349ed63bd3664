import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Slot } from '@medplum/fhirtypes';
import {
  type Collision,
  collisions,
  collisionTask,
  givenWay,
  givesWay,
  holdersRead,
  slotsUnder,
} from '../../../core/booking/slots/collision.ts';
import { unmarkedIn } from '../../../core/booking/slots/takings.ts';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference/reference.ts';
import { updateEntry } from '../../../core/fhir/update-entry.ts';
import { readOffered } from '../calendar/offered.ts';
import { config } from '../config.ts';
import { sendTransaction } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { syncAppointment } from './slot-sync.ts';

const COUNT = '200';

/** What of its Schedule overlaps a Slot and is taken. */
async function readOverlapping(medplum: MedplumClient, { schedule, start, end }: Slot): Promise<Slot[]> {
  const query = new URLSearchParams([
    ['schedule', schedule.reference ?? ''],
    ['status', 'busy,busy-tentative,busy-unavailable'],
    ['start', `lt${end}`],
    ['end', `gt${start}`],
    ['_count', COUNT],
  ]);
  const [found] = await readInBatch(medplum, [`Slot?${query}`]);
  return ofType('Slot', found);
}

async function find(medplum: MedplumClient, taking: Slot): Promise<Collision[]> {
  const interval = { start: parseInstant(taking.start) ?? 0, end: parseInstant(taking.end) ?? 0 };
  const slots = await readOverlapping(medplum, taking);
  if (slots.every(({ id, status }) => id === taking.id || status === 'busy-unavailable')) {
    return [];
  }
  const state = new Map(slots.map((slot) => [`Slot/${slot.id}`, slot]));
  const offered = await readOffered(medplum, unmarkedIn(state, interval, config));
  const found = slotsUnder(taking, slots, offered, Date.now(), config);
  if (!found || found.under.length === 0) {
    return [];
  }
  const [appointments] = await readInBatch(medplum, [holdersRead(found.under).request?.url ?? '']);
  return collisions(found.taking, ofType('Appointment', appointments), Date.now(), config);
}

async function write(medplum: MedplumClient, entry: BundleEntry, appointment: Appointment): Promise<void> {
  const { kind } = await sendTransaction(medplum, [entry]);
  // Somebody has changed the appointment meanwhile: what it is now is looked at when Medplum reports that change.
  if (kind !== 'done' && kind !== 'overtaken') {
    throw new Error(`The collision of Appointment/${appointment.id} could not be resolved (${kind}).`);
  }
}

async function resolve(medplum: MedplumClient, collision: Collision): Promise<void> {
  const { appointment } = collision;
  if (!givesWay(collision)) {
    await write(medplum, collisionTask(collision, config), appointment);
    return;
  }
  await write(medplum, updateEntry(appointment, givenWay(collision, config)), appointment);
  await syncAppointment(medplum, appointment);
}

/**
 * Resolves what a Slot collides with that somebody has written over booked time: a hold or a request that is not
 * confirmed gives way, and its portal is told; of a confirmed appointment staff decide, and find it among their Tasks.
 * The guards refuse what is seen in time: this is about what they let pass.
 *
 * @param taking - as Medplum has reported it
 * @throws Error when the server could not be read or written
 */
export async function resolveCollisions(medplum: MedplumClient, taking: Slot): Promise<void> {
  if (taking.status === 'free' || taking.status === 'entered-in-error' || !idIn(taking.schedule, 'Schedule')) {
    return;
  }
  for (const collision of await find(medplum, taking)) {
    await resolve(medplum, collision);
  }
}
