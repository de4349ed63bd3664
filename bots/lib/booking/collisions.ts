import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Slot } from '@medplum/fhirtypes';
import {
  bookedBeside,
  type Collision,
  collisions,
  collisionTask,
  givenWay,
  givesWay,
  holdersOf,
  overlapEntries,
  takenByHand,
} from '../../../core/booking/slots/collision.ts';
import { idIn } from '../../../core/fhir/reference/reference.ts';
import { updateEntry } from '../../../core/fhir/update-entry.ts';
import { type CalendarSlot, calendarOf, isTaken } from '../../../core/slots/slot.ts';
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

/** Those that are still as they were read: an appointment that had one of them until just now has written it since. */
async function unchanged(medplum: MedplumClient, slots: readonly CalendarSlot[]): Promise<readonly CalendarSlot[]> {
  const [found] = await readInBatch(
    medplum,
    slots.length > 0 ? [`Slot?_id=${slots.map(({ id }) => id).join(',')}&_count=${slots.length}`] : [],
  );
  const versions = new Map(ofType('Slot', found).map(({ id, meta }) => [id, meta?.versionId]));
  return slots.filter(({ id, resource }) => versions.get(id) === resource.meta?.versionId);
}

async function find(medplum: MedplumClient, written: Slot, slots: readonly Slot[]): Promise<Collision[]> {
  const calendar = calendarOf(slots, config);
  const slot = calendar.get(written.id ?? '');
  const beside = slot && isTaken(slot) ? bookedBeside(slot, [...calendar.values()]) : [];
  if (!slot || (beside.length === 0 && !slot.isByHand)) {
    return [];
  }
  const concerned = [slot, ...beside];
  const [found] = await readInBatch(medplum, [holdersOf(concerned).request?.url ?? '']);
  const appointments = ofType('Appointment', found);
  const byHand = takenByHand(concerned, appointments);
  const stays = await unchanged(medplum, byHand);
  const isKnown = (one: CalendarSlot): boolean => !byHand.includes(one) || stays.includes(one);
  return isKnown(slot) ? collisions(slot, beside.filter(isKnown), appointments, Date.now(), config) : [];
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
