import type { MedplumClient } from '@medplum/core';
import type { Appointment, Resource, Slot, Task } from '@medplum/fhirtypes';
import { type Patients, patientIdsOf } from '../../../core/booking/appointment/change.ts';
import { holderSearch } from '../../../core/booking/appointment/reads.ts';
import { openTasksOf } from '../../../core/booking/jobs/confirmation-task.ts';
import { idIn } from '../../../core/fhir/reference.ts';
import { overbookingMark } from '../../../core/fhir/scheduling/slot-marks.ts';
import { byId, resourceSet } from '../../../core/rows/resource-set.ts';
import { serviceReads } from '../../../core/rows/search.ts';
import { newExternalSlot } from '../../../core/slots/guard.ts';
import { isOfAppointment, reservationsIn, reservationsOf } from '../../../core/slots/reservation.ts';
import { type CalendarSlot, calendarOf, slotIdsOf } from '../../../core/slots/slot.ts';
import { type ScheduleServices, withServices } from '../../../core/slots/terms.ts';
import { config } from '../config.ts';
import { ofType, readInBatch, readWhole } from '../read.ts';

/** The existing slots and patients of an appointment. */
export interface Related {
  readonly slots: readonly Slot[];
  readonly patients: Patients;
  /** The Schedules with their actors that were read together with the slots. */
  readonly calendars: readonly Resource[];
}

export interface RelatedAppointment extends Related {
  /** Absent if it was deleted. */
  readonly appointment: Appointment | undefined;
  /** Its open Tasks, such as the one of a request that waits for the clinic. */
  readonly tasks: readonly Task[];
}

const MAX = '_count=1000';

const WITH_CALENDARS = '&_include=Slot:schedule&_include:iterate=Schedule:actor';

const idSearch = (type: 'Patient' | 'Slot', ids: readonly string[]): string => `${type}?_id=${ids.join(',')}&${MAX}`;

/** The searches for an appointment, its slots with their calendars, its patients and its Tasks. */
export function relatedSearches(id: string): string[] {
  const encodedId = encodeURIComponent(id);
  return [
    `Appointment?_id=${encodedId}`,
    `Slot?_has:Appointment:slot:_id=${encodedId}&${MAX}${WITH_CALENDARS}`,
    `Patient?_has:Appointment:patient:_id=${encodedId}&${MAX}`,
    openTasksOf([id], config),
  ];
}

/**
 * Reads an appointment with its slots, patients and Tasks in one batch, with the Bot's own rights.
 * @param id - of the appointment, as the caller sent it
 */
export async function readRelatedAppointment(medplum: MedplumClient, id: string): Promise<RelatedAppointment> {
  const [appointments, slots, patients, tasks] = await readInBatch(medplum, relatedSearches(id));
  return {
    appointment: ofType('Appointment', appointments)[0],
    slots: ofType('Slot', slots),
    patients: byId(ofType('Patient', patients)),
    tasks: ofType('Task', tasks),
    calendars: (slots ?? []).filter(({ resourceType }) => resourceType !== 'Slot'),
  };
}

/**
 * Reads by id, with the Bot's own rights, the slots and patients of an appointment that `known` lacks: a search misses
 * those of another version and absolute references. Deleted resources stay missing.
 */
export async function completeRelated(
  medplum: MedplumClient,
  appointment: Appointment,
  known: Related,
): Promise<Related> {
  const slotIds = slotIdsOf(appointment).filter((id) => !known.slots.some((slot) => slot.id === id));
  const patientIds = patientIdsOf(appointment, config.baseUrl).flatMap(({ id }) =>
    known.patients.has(id) ? [] : [id],
  );
  const found = (
    await readInBatch(medplum, [
      ...(slotIds.length > 0 ? [idSearch('Slot', slotIds)] : []),
      ...(patientIds.length > 0 ? [idSearch('Patient', patientIds)] : []),
    ])
  ).flat();
  return {
    slots: [...known.slots, ...ofType('Slot', found)],
    patients: new Map([...known.patients, ...byId(ofType('Patient', found))]),
    calendars: known.calendars,
  };
}

/** Reads the stored version of an appointment and the patients of its changed version; `taken` for a new appointment. */
export async function readForChange(
  medplum: MedplumClient,
  changed: Appointment,
): Promise<{ readonly stored: Appointment | undefined; readonly patients: Patients; readonly taken: Resource[][] }> {
  const ids = patientIdsOf(changed, config.baseUrl).map(({ id }) => id);
  const slots = changed.meta?.versionId === undefined ? slotIdsOf(changed) : [];
  const [appointments, patients, ...taken] = await readInBatch(medplum, [
    `Appointment?_id=${encodeURIComponent(changed.id ?? '')}`,
    idSearch('Patient', ids),
    ...takenSearches(slots),
  ]);
  return { stored: ofType('Appointment', appointments)[0], patients: byId(ofType('Patient', patients)), taken };
}

/**
 * The searches for the Slots of an appointment with their calendars, the appointments on them, and the reservations of
 * Slots that the same request is about to store.
 */
const takenSearches = (slots: readonly string[]): string[] =>
  slots.length > 0
    ? [`${idSearch('Slot', slots)}${WITH_CALENDARS}`, holderSearch(slots), reservationsOf({ slots }, config)]
    : [];

/**
 * Reads Schedules with their services.
 * @param known - Schedules and services that were read before
 */
export async function readSchedules(
  medplum: MedplumClient,
  ids: readonly string[],
  known: readonly Resource[] = [],
): Promise<ScheduleServices[]> {
  const unknown = ids.filter((id) => !ofType('Schedule', known).some((schedule) => schedule.id === id));
  const [read = []] =
    unknown.length > 0
      ? await readInBatch(medplum, [`Schedule?_id=${unknown.join(',')}&_include=Schedule:actor&${MAX}`])
      : [];
  const found = [...known, ...read];
  const schedules = ofType('Schedule', found).filter(({ id = '' }) => ids.includes(id));
  const services = [...found, ...(await readWhole(medplum, serviceReads(schedules, resourceSet(found))))];
  return schedules.map((schedule) => withServices(schedule, ofType('HealthcareService', services)));
}

export const scheduleIdsOf = (slots: readonly Slot[]): string[] => [
  ...new Set(slots.flatMap(({ schedule }) => idIn(schedule, 'Schedule') ?? [])),
];

/**
 * Reads the Schedules of Slots with their services.
 * @param known - Schedules with their actors that were read before
 */
export const readSchedulesOf = (
  medplum: MedplumClient,
  slots: readonly Slot[],
  known: readonly Resource[] = [],
): Promise<ScheduleServices[]> => readSchedules(medplum, scheduleIdsOf(slots), known);

/** The Slots and Schedules in which an appointment that is about to be stored takes time. */
interface TakenRead {
  /** Its Slots, including reserved ones that the same request is about to store. */
  readonly named: readonly CalendarSlot[];
  readonly appointments: readonly Appointment[];
  readonly schedules: readonly ScheduleServices[];
  /** Whether `named` has all Slots of the appointment. */
  readonly isKnown: boolean;
}

/** The Slots that an author has reserved and is about to store. */
function reservedBy(rows: readonly Task[], author: string): CalendarSlot[] {
  return rows.flatMap((row) => {
    const schedule = idIn(row.focus, 'Schedule');
    const reservations = reservationsIn(row, Date.now(), config).filter(
      (reservation) => reservation.author === author && !isOfAppointment(reservation),
    );
    return schedule === undefined
      ? []
      : reservations.map(({ slots: [id = ''], overbooks, ...time }) =>
          newExternalSlot(schedule, time, {
            id,
            status: 'busy',
            ...(overbooks && { extension: [overbookingMark(config)] }),
          }),
        );
  });
}

/** Reads the Schedules of participants who have exactly one. */
async function readOwnSchedules(medplum: MedplumClient, { participant }: Appointment): Promise<ScheduleServices[]> {
  const actors = participant.flatMap(({ actor }) =>
    actor?.reference && !idIn(actor, 'Patient') && !idIn(actor, 'RelatedPerson') ? actor.reference : [],
  );
  const searches = actors.map(
    (actor) => `Schedule?${new URLSearchParams({ actor, 'active:not': 'false', _count: '2' })}`,
  );
  const found = await readInBatch(medplum, searches);
  const single = found.flatMap((resources) =>
    ofType('Schedule', resources).length === 1 ? ofType('Schedule', resources) : [],
  );
  return readSchedules(medplum, [...new Set(single.flatMap(({ id }) => id ?? []))]);
}

/**
 * Reads where an appointment takes time: its Slots, stored or reserved by its author, with their Schedules and the
 * appointments on them. If it names none, or none exists yet: the Schedule of each actor who has exactly one.
 * @param known - responses to `takenSearches`, if they were read before
 */
export async function readTaken(
  medplum: MedplumClient,
  appointment: Appointment,
  known: readonly (readonly Resource[])[] = [],
): Promise<TakenRead> {
  const ids = slotIdsOf(appointment);
  if (ids.length === 0) {
    return { named: [], appointments: [], schedules: await readOwnSchedules(medplum, appointment), isKnown: true };
  }
  const [slots = [], holders, rows = []] =
    known.length > 0 ? known : await readInBatch(medplum, takenSearches([...new Set(ids)]));
  const stored = [...calendarOf(ofType('Slot', slots), config).values()];
  const reserved = reservedBy(ofType('Task', rows), appointment.meta?.author?.reference ?? '');
  const isNew = ({ id }: CalendarSlot): boolean => ids.includes(id) && !stored.some((slot) => slot.id === id);
  const named = [...stored, ...reserved.filter(isNew)];
  const schedules = await readSchedules(
    medplum,
    [...new Set(named.map(({ schedule }) => schedule))],
    [...slots, ...rows],
  );
  if (named.length === 0) {
    // Its Slots follow in the same transaction: until then, the appointment is validated as if it had none.
    return { named, appointments: [], schedules: await readOwnSchedules(medplum, appointment), isKnown: true };
  }
  const isKnown = ids.every((id) => named.some((slot) => slot.id === id));
  return { named, appointments: ofType('Appointment', holders), schedules, isKnown };
}
