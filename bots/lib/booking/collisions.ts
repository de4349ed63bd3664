import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Slot } from '@medplum/fhirtypes';
import { absenceIdsIn } from '../../../core/absence/rows.ts';
import {
  bookedBeside,
  type Collision,
  collisions,
  collisionTask,
  givenWay,
  givesWay,
  overlapEntries,
  takenByHand,
} from '../../../core/booking/appointment/collision.ts';
import { holderSearch } from '../../../core/booking/appointment/reads.ts';
import { idIn, isId } from '../../../core/fhir/reference.ts';
import { updateEntry } from '../../../core/fhir/resource.ts';
import { isRow } from '../../../core/rows/row.ts';
import { searchUrl } from '../../../core/rows/search.ts';
import { type CalendarSlot, calendarOf, isTaken } from '../../../core/slots/slot.ts';
import { config } from '../config.ts';
import { writeUnlessOvertaken } from '../medplum.ts';
import { ofType, pageUrl, readInBatch, readPages } from '../read.ts';
import { carryOut } from '../rows.ts';
import { readDependentAppointments } from '../visits/dependent-appointments.ts';
import { syncAppointment } from './slot-sync.ts';

const PAGES = { order: 'start', count: 200 } as const;

const overlapping = ({ schedule, start, end }: Slot): string =>
  searchUrl('Slot', [
    ['schedule', schedule.reference ?? ''],
    ['status', 'busy,busy-tentative,busy-unavailable'],
    ['start', `lt${end}`],
    ['end', `gt${start}`],
  ]);

/** The first searches of `resolveCollisions`, to be read ahead. */
export const collisionSearches = (external: Slot): string[] => [
  ...collidingSearches(external).map((one) => pageUrl(one, PAGES)),
  holderSearch([external.id ?? '']),
];

const collidingSearches = (external: Slot): string[] => [`Slot?_id=${external.id}`, overlapping(external)];

/** Reads Slots again and returns those with the same version: an appointment may have released the others since. */
async function unchanged(medplum: MedplumClient, slots: readonly CalendarSlot[]): Promise<readonly CalendarSlot[]> {
  const [found] = await readInBatch(
    medplum,
    slots.length > 0 ? [`Slot?_id=${slots.map(({ id }) => id).join(',')}&_count=${slots.length}`] : [],
  );
  const versions = new Map(ofType('Slot', found).map(({ id, meta }) => [id, meta?.versionId]));
  return slots.filter(({ id, resource }) => versions.get(id) === resource.meta?.versionId);
}

/** Finds the collisions of a written Slot with the booked Slots among those that were read. */
async function findCollisions(medplum: MedplumClient, written: Slot, slots: readonly Slot[]): Promise<Collision[]> {
  const calendar = calendarOf(slots, config);
  const slot = calendar.get(written.id ?? '');
  const beside = slot && isTaken(slot) ? bookedBeside(slot, [...calendar.values()]) : [];
  if (!slot || (beside.length === 0 && !slot.isByHand)) {
    return [];
  }
  const concerned = [slot, ...beside];
  const [found] = await readInBatch(medplum, [holderSearch(concerned.map(({ id }) => id))]);
  const appointments = ofType('Appointment', found);
  const byHand = takenByHand(concerned, appointments);
  const stays = await unchanged(medplum, byHand);
  const isCurrent = (candidate: CalendarSlot): boolean => !byHand.includes(candidate) || stays.includes(candidate);
  return isCurrent(slot) ? collisions(slot, beside.filter(isCurrent), appointments, Date.now(), config) : [];
}

/** Lets the appointment yield together with its visit, or creates a Task for staff; an overbooking is marked. */
async function resolveCollision(medplum: MedplumClient, collision: Collision): Promise<void> {
  const { appointment } = collision;
  // If the write was overtaken, the appointment has changed: it is checked again when Medplum reports that change.
  const write = (entry: BundleEntry[]) =>
    writeUnlessOvertaken(medplum, entry, `The collision of Appointment/${appointment.id}`);
  if (!givesWay(collision)) {
    const entries = collision.isBlock
      ? [collisionTask(collision, config)]
      : overlapEntries(appointment, collision.externalSlot, config);
    await write(entries);
    return;
  }
  // Half of a visit is of no use to anybody.
  const dependents = (await readDependentAppointments(medplum, appointment)).map(
    (dependentAppointment) => dependentAppointment.appointment,
  );
  const appointments = [appointment, ...dependents.filter(({ status }) => status === appointment.status)];
  await write(appointments.map((each) => updateEntry(each, givenWay({ ...collision, appointment: each }, config))));
  for (const each of appointments) {
    await syncAppointment(medplum, each);
  }
}

/** Whether a Slot blocks the time of an absence: the absence decides about the appointments under it. */
async function isOfAbsence(medplum: MedplumClient, external: Slot): Promise<boolean> {
  const ids = absenceIdsIn(external).filter(isId);
  const [found] = await readInBatch(medplum, ids.length > 0 ? [`Task?_id=${ids.join(',')}`] : []);
  return ofType('Task', found).some((row) => isRow(row, ['absence'], config));
}

/**
 * Resolves the collisions of a Slot that was written over booked time. A hold or an unconfirmed request yields, and its
 * portal is notified. A confirmed appointment is left to staff as a Task. Most collisions are refused before the write;
 * this handles the rest.
 * @param external - the Slot as Medplum has reported it
 * @returns whether there are collisions
 * @throws Error when the server could not be read or written
 */
export async function resolveCollisions(medplum: MedplumClient, external: Slot): Promise<boolean> {
  if (external.status === 'free' || external.status === 'entered-in-error' || !idIn(external.schedule, 'Schedule')) {
    return false;
  }
  const found = new Map<string | undefined, Collision>();
  let own: Slot[] = [];
  for await (const pages of readPages(medplum, collidingSearches(external), PAGES)) {
    const [itself, beside] = pages.map((page) => ofType('Slot', page));
    own = own.length > 0 ? own : (itself ?? []);
    for (const collision of await findCollisions(medplum, external, [...own, ...(beside ?? [])])) {
      found.set(collision.appointment.id, collision);
    }
  }
  const isPartOfAbsence = found.size > 0 && (await isOfAbsence(medplum, external));
  const acts = isPartOfAbsence ? [] : [...found.values()].map((one) => () => resolveCollision(medplum, one));
  await carryOut(acts, Number.POSITIVE_INFINITY);
  return found.size > 0;
}
