import type { Appointment, Patient, RelatedPerson, Resource, Schedule, Slot } from '@medplum/fhirtypes';
import { parseInstant } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { isBuffer } from '../../../core/fhir/scheduling/slot-marks.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { listOf } from '../../../packages/web/elements.ts';
import { patientIdOf } from '../appointment/people.ts';
import { type Kind, kindOfSlot, kindOfStatus } from './kinds.ts';

/** An appointment or a Slot at a time of one calendar. */
export interface Entry extends Interval {
  /** Type and id of the appointment or Slot, so that it is stable across versions. */
  readonly key: string;
  readonly kind: Kind;
  readonly appointment?: Appointment;
  readonly slots: readonly Slot[];
}

interface Unplaced {
  readonly resource: Appointment | Slot;
  readonly why: 'no-time' | 'no-calendar' | 'unknown-status';
}

/** The resources of some calendars and days. */
export interface CalendarData {
  readonly slots: readonly Slot[];
  readonly appointments: readonly Appointment[];
  readonly patients: ReadonlyMap<string, Patient>;
  readonly guardians: readonly RelatedPerson[];
}

const isShown = (one: unknown): one is Slot | Appointment | Patient | RelatedPerson =>
  isResource(one, 'Slot') ||
  isResource(one, 'Appointment') ||
  isResource(one, 'Patient') ||
  isResource(one, 'RelatedPerson');

/** Sorts search results by type. Broken resources are kept. */
export function calendarData(resources: readonly unknown[]): CalendarData {
  const byKey = new Map<string, Resource>();
  for (const resource of resources) {
    if (isShown(resource)) {
      byKey.set(`${resource.resourceType}/${resource.id}`, resource);
    }
  }
  const all = [...byKey.values()];
  return {
    slots: all.filter((one) => isResource(one, 'Slot')),
    appointments: all.filter((one) => isResource(one, 'Appointment')),
    patients: new Map(all.filter((one) => isResource(one, 'Patient')).map((patient) => [patient.id ?? '', patient])),
    guardians: all.filter((one) => isResource(one, 'RelatedPerson')),
  };
}

/** A calendar after a change of an appointment: the Slots that it leaves become free. */
export function withChange(data: CalendarData, becomes: Appointment | undefined): CalendarData {
  if (!becomes) {
    return data;
  }
  const before = data.appointments.find(({ id }) => id === becomes.id);
  const kept = kindOfStatus[becomes.status] ? slotsNamedBy(becomes) : [];
  const left = new Set(before && slotsNamedBy(before).filter((id) => !kept.includes(id)));
  return {
    ...data,
    appointments: [...data.appointments.filter((appointment) => appointment !== before), becomes],
    slots: data.slots.map((slot) => (left.has(slot.id ?? '') ? { ...slot, status: 'free' } : slot)),
  };
}

/** The time of a resource; `undefined` if it is not valid. */
export function timeOf({ start, end }: { readonly start?: string; readonly end?: string }): Interval | undefined {
  const [from, to] = [parseInstant(start), parseInstant(end)];
  return from !== undefined && to !== undefined && from < to ? { start: from, end: to } : undefined;
}

/** The ids of the Slots that an appointment names. Malformed references are skipped. */
export function slotsNamedBy({ slot }: Appointment): string[] {
  return listOf(slot).flatMap((reference) => idIn(reference, 'Slot') ?? []);
}

function actorsOf({ participant }: Appointment): string[] {
  return listOf(participant).flatMap(({ actor }) => actor?.reference ?? []);
}

const scheduleIdOf = ({ schedule }: Slot): string | undefined => idIn(schedule, 'Schedule');

function appointmentsBySlot(appointments: readonly Appointment[]): ReadonlyMap<string, readonly Appointment[]> {
  const found = new Map<string, Appointment[]>();
  for (const appointment of appointments) {
    for (const id of kindOfStatus[appointment.status] ? slotsNamedBy(appointment) : []) {
      found.set(id, [...(found.get(id) ?? []), appointment]);
    }
  }
  return found;
}

function entryOfSlot(slot: Slot): Entry | undefined {
  const time = timeOf(slot);
  const kind = isBuffer(slot) ? 'buffer' : kindOfSlot[slot.status];
  return time && kind ? { ...time, key: `Slot/${slot.id}`, kind, slots: [slot] } : undefined;
}

function entryOfAppointment(appointment: Appointment, slots: readonly Slot[]): Entry | undefined {
  const time = timeOf(appointment) ?? slots.map(timeOf).find((interval) => interval !== undefined);
  const kind = kindOfStatus[appointment.status];
  return time && kind ? { ...time, key: `Appointment/${appointment.id}`, kind, appointment, slots } : undefined;
}

/** Whether an appointment without Slots belongs to a calendar: an actor of the calendar takes part. */
function takesPart(appointment: Appointment, { actor }: Schedule): boolean {
  const references = new Set(listOf(actor).map(({ reference }) => reference));
  return actorsOf(appointment).some((reference) => references.has(reference));
}

const byTime = (entry: Entry, other: Entry): number =>
  entry.start - other.start || entry.end - other.end || entry.key.localeCompare(other.key);

/** All entries of the calendar of a Schedule, sorted by time. */
export function entriesOf(schedule: Schedule, { slots, appointments }: CalendarData): Entry[] {
  const own = slots.filter((slot) => scheduleIdOf(slot) === schedule.id);
  const bySlot = appointmentsBySlot(appointments);
  const using = new Map<Appointment, Slot[]>();
  for (const slot of own) {
    for (const appointment of bySlot.get(slot.id ?? '') ?? []) {
      using.set(appointment, [...(using.get(appointment) ?? []), slot]);
    }
  }
  for (const appointment of appointments) {
    if (slotsNamedBy(appointment).length === 0 && takesPart(appointment, schedule)) {
      using.set(appointment, []);
    }
  }
  const unused = own.filter(({ id }) => !bySlot.has(id ?? ''));
  return [
    ...[...using].map(([appointment, theirs]) => entryOfAppointment(appointment, theirs)),
    ...unused.map(entryOfSlot),
  ]
    .filter((entry) => entry !== undefined)
    .toSorted(byTime);
}

const byStart = (appointment: Appointment, other: Appointment): number =>
  (timeOf(appointment)?.start ?? 0) - (timeOf(other)?.start ?? 0);

/** The appointments of patients who have arrived, sorted by start. */
export const waitingIn = ({ appointments }: CalendarData): Appointment[] =>
  appointments.filter(({ status }) => status === 'arrived' || status === 'checked-in').toSorted(byStart);

/**
 * The cancelled appointments of `schedules` (among `all` of the clinic), and those without a known calendar. Without a
 * patient, an appointment was only a hold and is left out.
 */
export function cancelledIn(
  { appointments, slots }: CalendarData,
  schedules: readonly Schedule[],
  all: readonly Schedule[],
): Appointment[] {
  const known = new Set(slots.map(({ id }) => id));
  const isAll = schedules.length === all.length;
  const isShown = (appointment: Appointment): boolean => {
    const named = slotsNamedBy(appointment);
    return (
      isAll ||
      named.length === 0 ||
      named.some((id) => known.has(id)) ||
      schedules.some((own) => takesPart(appointment, own))
    );
  };
  return appointments
    .filter(
      (appointment) =>
        appointment.status === 'cancelled' && patientIdOf(appointment) !== undefined && isShown(appointment),
    )
    .toSorted(byStart);
}

/** The resources that should be in a column but fit none, so that nothing is lost. */
export function unplacedOf(schedules: readonly Schedule[], data: CalendarData): Unplaced[] {
  const known = new Set(data.slots.map(({ id }) => id));
  const slots = data.slots
    .filter((slot) => !timeOf(slot) && slot.status !== 'entered-in-error')
    .map((resource): Unplaced => ({ resource, why: 'no-time' }));
  const appointments = data.appointments.flatMap((resource): Unplaced[] => {
    if (!Object.hasOwn(kindOfStatus, resource.status)) {
      return [{ resource, why: 'unknown-status' }];
    }
    const named = slotsNamedBy(resource);
    const hasCalendar =
      named.some((id) => known.has(id)) || schedules.some((schedule) => takesPart(resource, schedule));
    if (!kindOfStatus[resource.status] || (named.length > 0 && !hasCalendar)) {
      return [];
    }
    if (!hasCalendar) {
      return [{ resource, why: 'no-calendar' }];
    }
    return timeOf(resource) || named.length > 0 ? [] : [{ resource, why: 'no-time' }];
  });
  return [...appointments, ...slots];
}
