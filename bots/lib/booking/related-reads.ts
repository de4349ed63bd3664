import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Resource, Schedule, Slot, Task } from '@medplum/fhirtypes';
import { type Patients, patientIdsOf } from '../../../core/booking/appointment/change.ts';
import { takesTime } from '../../../core/booking/appointment/overbooking.ts';
import { unknownSurvivors } from '../../../core/booking/appointment/patient-change.ts';
import { holderSearch, merged, slotsAtReads, usesOf } from '../../../core/booking/appointment/reads.ts';
import { holdsSlots, statusQuery } from '../../../core/booking/appointment/status.ts';
import { keptSlots, lostSlot, type RelatedSlots, slotsLeft } from '../../../core/booking/appointment/synchronize.ts';
import { openTasksOf } from '../../../core/booking/jobs/confirmation-task.ts';
import { timeOf } from '../../../core/fhir/instant.ts';
import { idIn, serviceIdsOf } from '../../../core/fhir/reference.ts';
import { overbookingMark } from '../../../core/fhir/slot-marks.ts';
import { byId } from '../../../core/rows/resource-set.ts';
import { search } from '../../../core/rows/search.ts';
import { newTaking } from '../../../core/slots/guard.ts';
import { isOfAppointment, reservationsIn, reservationsOf } from '../../../core/slots/reservation.ts';
import { type CalendarSlot, calendarOf, isBooked, isHeld, slotIdsOf } from '../../../core/slots/slot.ts';
import { reachOf, type ScheduleServices, withServices } from '../../../core/slots/terms.ts';
import { config } from '../config.ts';
import { ofType, readAhead, readHistories, readInBatch, readWhole } from '../read.ts';

/** The slots and patients of an appointment, as far as they exist. */
export interface Related {
  readonly slots: readonly Slot[];
  readonly patients: Patients;
  /** The Schedules of its slots with their actors, as far as they were read together with the slots. */
  readonly calendars: readonly Resource[];
}

/** An appointment with its slots and patients, as they were read together. */
export interface RelatedAppointment extends Related {
  /** Absent if it was deleted. */
  readonly appointment: Appointment | undefined;
  /** Its open Tasks, such as the one of a request that waits for the clinic. */
  readonly tasks: readonly Task[];
}

const MOST = '_count=1000';

const WITH_CALENDARS = '&_include=Slot:schedule&_include:iterate=Schedule:actor';

const idSearch = (type: 'Patient' | 'Slot', ids: readonly string[]): string => `${type}?_id=${ids.join(',')}&${MOST}`;

/** The searches of `readRelatedAppointment`, to be read ahead. */
export function relatedSearches(id: string): string[] {
  const one = encodeURIComponent(id);
  return [
    `Appointment?_id=${one}`,
    `Slot?_has:Appointment:slot:_id=${one}&${MOST}${WITH_CALENDARS}`,
    `Patient?_has:Appointment:patient:_id=${one}&${MOST}`,
    openTasksOf([id], config),
  ];
}

/**
 * Reads an appointment with its slots, patients and Tasks in one batch, with the Bot's own rights.
 *
 * @param id - of the appointment, as the caller sent it
 * @throws ReadError when the server could not be read
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
 * What an appointment names and `known` lacks, read by id, with the Bot's own rights: slots and patients of another
 * version, those that a search does not follow (absolute references), and, without result, those that were deleted.
 *
 * @throws ReadError when the server could not be read
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

/**
 * Adds the patients into whom those of an appointment were merged.
 *
 * @throws ReadError when the server could not be read
 */
export async function readSurvivors(medplum: MedplumClient, known: Patients): Promise<Patients> {
  let patients = known;
  const asked = new Set(known.keys());
  for (;;) {
    const unknown = unknownSurvivors(patients).filter((id) => !asked.has(id));
    if (unknown.length === 0) {
      return patients;
    }
    const [found] = await readInBatch(medplum, [idSearch('Patient', unknown)]);
    patients = new Map([...patients, ...byId(ofType('Patient', found))]);
    for (const id of unknown) {
      asked.add(id);
    }
  }
}

/**
 * An appointment as it is stored, and the existing patients that its changed version names, in one batch.
 *
 * @throws ReadError when the server could not be read
 */
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
 * The searches for the Slots that an appointment names, with their calendars, for the appointments that hold them, and for
 * the reservations of those that the same act is about to store.
 */
const takenSearches = (slots: readonly string[]): string[] =>
  slots.length > 0
    ? [`${idSearch('Slot', slots)}${WITH_CALENDARS}`, holderSearch(slots), reservationsOf({ slots }, config)]
    : [];

/** The last versions of deleted slots, as `lostSlot` gives them; a slot that never existed has no history. */
async function lostOf(medplum: MedplumClient, ids: readonly string[]): Promise<Slot[]> {
  const histories = await readHistories(
    medplum,
    ids.map((id) => `Slot/${id}/_history`),
  );
  return histories.flatMap((history) => lostSlot(history) ?? []);
}

/** The ids of the slots that stay although the appointment gives its slots back. */
async function readKept(
  medplum: MedplumClient,
  appointment: Appointment,
  slots: readonly Slot[],
): Promise<Set<string>> {
  const taken = slots.filter(isBooked);
  const [history] = taken.length > 0 ? await readHistories(medplum, [historyOf(appointment)]) : [];
  return history ? keptSlots(taken, history, config) : new Set();
}

/** What was read of the slots of an appointment. */
export interface RelatedSlotsRead extends RelatedSlots {
  /** The appointment as it was once the slots had been read; absent if there is none by then. */
  readonly latest: Appointment | undefined;
  /** Other appointments that refer to its slots. */
  readonly others: readonly Appointment[];
}

/** How far around slots others are read before the buffers of their services are known, in milliseconds. */
const NEAR = 2 * 60 * 60_000;

/** The search for the services of some Schedules; none if they name none. */
function servicesUrl(schedules: readonly Schedule[]): string[] {
  const named = [...new Set(schedules.flatMap(serviceIdsOf))];
  return named.length > 0 ? [`HealthcareService?_id=${named.join(',')}&${MOST}`] : [];
}

const urlOf = ({ request }: BundleEntry): string => request?.url ?? '';

/** The latest versions of an appointment. */
export const versionsOf = ({ id }: Pick<Appointment, 'id'>): string => `Appointment/${id}/_history?_count=20`;

const historyOf = ({ id }: Appointment): string => `Appointment/${id}/_history`;

/**
 * Schedules with the services that they offer.
 *
 * @param known - what was read before: Schedules with their actors
 */
export async function readSchedules(
  medplum: MedplumClient,
  ids: readonly string[],
  known: readonly Resource[] = [],
): Promise<ScheduleServices[]> {
  const unknown = ids.filter((id) => !ofType('Schedule', known).some((one) => one.id === id));
  const [read = []] =
    unknown.length > 0
      ? await readInBatch(medplum, [`Schedule?_id=${unknown.join(',')}&_include=Schedule:actor&${MOST}`])
      : [];
  const found = [...known, ...read];
  const schedules = ofType('Schedule', found).filter(({ id = '' }) => ids.includes(id));
  const [more] = await readInBatch(medplum, servicesUrl(schedules));
  const services = [...ofType('HealthcareService', found), ...ofType('HealthcareService', more)];
  return schedules.map((schedule) => withServices(schedule, services));
}

const scheduleIdsOf = (slots: readonly Slot[]): string[] => [
  ...new Set(slots.flatMap(({ schedule }) => idIn(schedule, 'Schedule') ?? [])),
];

/**
 * The Schedules of some Slots, with their services.
 *
 * @param known - Schedules, with their actors, that have been read already
 * @throws ReadError when the server could not be read
 */
export const readSchedulesOf = (
  medplum: MedplumClient,
  slots: readonly Slot[],
  known: readonly Resource[] = [],
): Promise<ScheduleServices[]> => readSchedules(medplum, scheduleIdsOf(slots), known);

/**
 * Everything that the slots of an appointment depend on, with the Bot's own rights.
 *
 * @param related - those of its slots that exist (`completeRelated`)
 * @param mayHaveMoved - whether it may have left other slots: staff may have moved it in Medplum
 * @throws ReadError when the server could not be read
 */
export async function readRelatedSlots(
  medplum: MedplumClient,
  appointment: Appointment,
  related: Pick<Related, 'slots' | 'calendars'>,
  mayHaveMoved = false,
): Promise<RelatedSlotsRead> {
  const [history] = mayHaveMoved ? await readHistories(medplum, [versionsOf(appointment)]) : [];
  const versions = ofType(
    'Appointment',
    (history?.entry ?? []).flatMap(({ resource }) => resource ?? []),
  );
  const former = versions.flatMap(slotIdsOf).filter((id) => !slotIdsOf(appointment).includes(id));
  const [left] = former.length > 0 ? await readInBatch(medplum, [idSearch('Slot', [...new Set(former)])]) : [];
  const ids = [...slotIdsOf(appointment), ...new Set(former)];
  const used = [...related.slots, ...ofType('Slot', left)].filter(({ id }) => id !== undefined && ids.includes(id));
  const lost = await lostOf(
    medplum,
    ids.filter((id) => !used.some((slot) => slot.id === id)),
  );
  const concerned = [...used, ...lost];
  const time = takesTime(appointment) ? timeOf(appointment) : undefined;
  const unnamed =
    concerned.length === 0 && time ? (await readTaken(medplum, { ...appointment, slot: [] })).schedules : [];
  if (concerned.length + unnamed.length === 0) {
    return { slots: [], uses: new Map(), schedules: [], lost, latest: undefined, others: [] };
  }
  const calendar = [...calendarOf(concerned, config).values()];
  const references = ids.map((id) => `Slot/${id}`).join(',');
  const statuses = [statusQuery(holdsSlots), statusQuery((one) => !holdsSlots(one))];
  const searches = (schedules: readonly string[], reach: number): BundleEntry[] => {
    const own = time ? schedules.map((schedule) => ({ ...time, schedule })) : [];
    const times = [...calendar, ...own].map(({ schedule, start, end }) => ({
      schedule,
      start: start - reach,
      end: end + reach,
    }));
    return [
      ...slotsAtReads(merged(times)),
      search('Appointment', [['_id', appointment.id ?? '']]),
      ...(used.length > 0
        ? [
            search('Slot', [
              ['_id', used.map(({ id }) => id).join(',')],
              ['_count', '1000'],
            ]),
          ]
        : []),
      // Those that hold slots apart from those that do not, so that many of the latter cannot keep one of the former off.
      ...(ids.length > 0 ? statuses : []).map((status) =>
        search('Appointment', [
          ['slot', references],
          ['status', status],
          ['_count', '1000'],
        ]),
      ),
    ];
  };
  const services = servicesUrl(ofType('Schedule', related.calendars));
  const histories = used.some(isBooked) && !holdsSlots(appointment) ? [historyOf(appointment)] : [];
  const guess =
    services.length + histories.length > 0 && unnamed.length === 0 ? searches(scheduleIdsOf(concerned), NEAR) : [];
  const ahead = [...services, ...guess.map(urlOf), ...histories];
  const reader = guess.length > 0 ? await readAhead(medplum, ahead) : medplum;
  const schedules = unnamed.length > 0 ? unnamed : await readSchedulesOf(reader, concerned, related.calendars);
  const reach = Math.max(NEAR, 2 * reachOf(schedules, config));
  const found = await readWhole(
    reader,
    searches(
      schedules.map(({ schedule: { id = '' } }) => id),
      reach,
    ),
  );
  const slots = [...new Map(ofType('Slot', found).map((slot) => [slot.id, slot])).values()];
  const appointments = ofType('Appointment', found);
  const others = appointments.filter(({ id }) => id !== appointment.id);
  const uses = usesOf(others);
  const released = holdsSlots(appointment)
    ? []
    : slots.filter(({ id = '' }) => ids.includes(id) && !isHeld(uses.get(id)));
  return {
    slots,
    uses,
    schedules,
    lost,
    latest: appointments.find(({ id }) => id === appointment.id),
    others,
    unnamed: unnamed.flatMap(({ schedule }) => schedule.id ?? []),
    left: history ? slotsLeft(appointment, history, slots, config) : [],
    kept: await readKept(reader, appointment, released),
  };
}

/** What an appointment that is about to be stored takes its time from. */
interface TakenRead {
  /** The Slots that it names: those that exist, and those that the same act is about to store. */
  readonly named: readonly CalendarSlot[];
  /** The appointments on them. */
  readonly appointments: readonly Appointment[];
  readonly schedules: readonly ScheduleServices[];
  /** Whether all Slots that it names are known. */
  readonly isKnown: boolean;
}

/** The Slots that an act is about to store, as they are reserved. */
function reservedBy(rows: readonly Task[], author: string): CalendarSlot[] {
  return rows.flatMap((row) => {
    const schedule = idIn(row.focus, 'Schedule');
    const own = reservationsIn(row, Date.now(), config).filter((one) => one.author === author && !isOfAppointment(one));
    return schedule === undefined
      ? []
      : own.map(({ slots: [id = ''], overbooks, ...time }) =>
          newTaking(schedule, time, { id, status: 'busy', ...(overbooks && { extension: [overbookingMark(config)] }) }),
        );
  });
}

/** The Schedules of those who take part in an appointment, of each who has a single one. */
async function readOwnSchedules(medplum: MedplumClient, { participant }: Appointment): Promise<ScheduleServices[]> {
  const actors = participant.flatMap(({ actor }) =>
    actor?.reference && !idIn(actor, 'Patient') && !idIn(actor, 'RelatedPerson') ? actor.reference : [],
  );
  const searches = actors.map(
    (actor) => `Schedule?${new URLSearchParams({ actor, 'active:not': 'false', _count: '2' })}`,
  );
  const found = await readInBatch(medplum, searches);
  const single = found.flatMap((one) => (ofType('Schedule', one).length === 1 ? ofType('Schedule', one) : []));
  return readSchedules(medplum, [...new Set(single.flatMap(({ id }) => id ?? []))]);
}

/**
 * Reads the Slots that an appointment names with their Schedules or, without any, the one Schedule of its actor, if it has
 * just one.
 *
 * @throws ReadError when the server could not be read
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
    // Its Slots follow in the same transaction: until then it is judged as one that names none.
    return { named, appointments: [], schedules: await readOwnSchedules(medplum, appointment), isKnown: true };
  }
  const isKnown = ids.every((id) => named.some((slot) => slot.id === id));
  return { named, appointments: ofType('Appointment', holders), schedules, isKnown };
}
