import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Slot } from '@medplum/fhirtypes';
import {
  type Collision,
  collisions,
  collisionTask,
  givenWay,
  givesWay,
  holdersUnder,
  overlapEntries,
  slotsUnder,
} from '../../../core/booking/slots/collision.ts';
import { idIn } from '../../../core/fhir/reference/reference.ts';
import { updateEntry } from '../../../core/fhir/update-entry.ts';
import { config } from '../config.ts';
import { sendTransaction } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { syncAppointment } from './slot-sync.ts';

/** How many Slots are read at a time. */
const PAGE = 200;

/** A Slot as it is stored, and one page of the taken Slots of its Schedule that overlap it. */
async function readOverlapping(medplum: MedplumClient, { id, schedule, start, end }: Slot, offset: number) {
  const query = new URLSearchParams([
    ['schedule', schedule.reference ?? ''],
    ['status', 'busy,busy-tentative,busy-unavailable'],
    ['start', `lt${end}`],
    ['end', `gt${start}`],
    ['_sort', 'start,_id'],
    ['_count', String(PAGE)],
    ['_offset', String(offset)],
  ]);
  const [own, page] = await readInBatch(medplum, [`Slot?_id=${id}`, `Slot?${query}`]);
  const slots = new Map([...ofType('Slot', own), ...ofType('Slot', page)].map((slot) => [slot.id, slot]));
  return { slots: [...slots.values()], isLast: ofType('Slot', page).length < PAGE };
}

async function find(medplum: MedplumClient, taking: Slot, slots: readonly Slot[]): Promise<Collision[]> {
  if (slots.every(({ id, status }) => id === taking.id || status === 'busy-unavailable')) {
    return [];
  }
  const found = slotsUnder(taking, slots, Date.now(), config);
  if (!found || found.under.length === 0) {
    return [];
  }
  const [appointments] = await readInBatch(medplum, [holdersUnder(found.under).request?.url ?? '']);
  return collisions(found.taking, ofType('Appointment', appointments), Date.now(), config);
}

async function write(medplum: MedplumClient, entry: BundleEntry[], appointment: Appointment): Promise<void> {
  const { kind } = await sendTransaction(medplum, entry);
  // Overtaken: the appointment has changed in the meantime, and is checked again when Medplum reports that change.
  if (kind !== 'done' && kind !== 'overtaken') {
    throw new Error(`The collision of Appointment/${appointment.id} could not be resolved (${kind}).`);
  }
}

async function resolve(medplum: MedplumClient, collision: Collision): Promise<void> {
  const { appointment } = collision;
  if (!givesWay(collision)) {
    const isBlock = collision.taking.status === 'busy-unavailable';
    const entries = isBlock
      ? [collisionTask(collision, config)]
      : overlapEntries(appointment, collision.taking, config);
    await write(medplum, entries, appointment);
    return;
  }
  await write(medplum, [updateEntry(appointment, givenWay(collision, config))], appointment);
  await syncAppointment(medplum, appointment);
}

/**
 * Resolves the collisions of a Slot that was written over booked time: a hold or an unconfirmed request gives way, and
 * its portal is told; a confirmed appointment is left to staff, who find it among their Tasks. Collisions that are seen
 * in time are refused before the write; this handles those that get through.
 *
 * @param taking - as Medplum has reported it
 * @throws Error when the server could not be read or written
 */
export async function resolveCollisions(medplum: MedplumClient, taking: Slot): Promise<void> {
  if (taking.status === 'free' || taking.status === 'entered-in-error' || !idIn(taking.schedule, 'Schedule')) {
    return;
  }
  const found = new Map<string | undefined, Collision>();
  let isLast = false;
  for (let offset = 0; !isLast; offset += PAGE) {
    const page = await readOverlapping(medplum, taking, offset);
    isLast = page.isLast;
    for (const collision of await find(medplum, taking, page.slots)) {
      found.set(collision.appointment.id, collision);
    }
  }
  for (const collision of found.values()) {
    await resolve(medplum, collision);
  }
}
