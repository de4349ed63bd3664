import type { MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, BundleEntry, Slot } from '@medplum/fhirtypes';
import { merged, slotsAtReads, usesOf } from '../../../core/booking/appointment/reads.ts';
import { holdsSlots, statusQuery } from '../../../core/booking/appointment/status.ts';
import {
  keptSlots,
  lostSlot,
  type RelatedSlots,
  slotsLeft,
  takesTime,
} from '../../../core/booking/appointment/synchronize.ts';
import { timeOf } from '../../../core/fhir/instant.ts';
import { search, searchByIds, serviceReads } from '../../../core/rows/search.ts';
import { calendarOf, isBooked, isHeld, slotIdsOf } from '../../../core/slots/slot.ts';
import { reachOf } from '../../../core/slots/terms.ts';
import { config } from '../config.ts';
import { ofType, readByIds, readHistories, readWhole } from '../read.ts';
import { type Related, readSchedules, readTaken, scheduleIdsOf } from './related-reads.ts';

export interface AppointmentSlots extends RelatedSlots {
  /** The appointment, read together with the slots; absent if it no longer exists. */
  readonly latest: Appointment | undefined;
  readonly others: readonly Appointment[];
}

/** Margin around slots that is read before the buffers of their services are known, in milliseconds. */
const NEAR = 2 * 60 * 60_000;

/** The URL of the latest 20 versions of an appointment. */
export const versionsUrl = ({ id }: Pick<Appointment, 'id'>): string => `Appointment/${id}/_history?_count=20`;

/** Reads the latest versions of an appointment, newest first: they show its former slots. */
export async function readVersions(medplum: MedplumClient, appointment: Appointment): Promise<Bundle | undefined> {
  const [history] = await readHistories(medplum, [versionsUrl(appointment)]);
  return history;
}

/** Ids of the slots that only earlier versions of an appointment reference. */
function formerSlots(appointment: Appointment, history: Bundle | undefined): string[] {
  const versions = (history?.entry ?? []).flatMap(({ resource }) => resource ?? []);
  const named = slotIdsOf(appointment);
  return [...new Set(ofType('Appointment', versions).flatMap(slotIdsOf))].filter((id) => !named.includes(id));
}

/** The last versions of deleted slots (`lostSlot`); a slot that never existed has no history. */
async function readLost(medplum: MedplumClient, ids: readonly string[]): Promise<Slot[]> {
  const histories = await readHistories(
    medplum,
    ids.map((id) => `Slot/${id}/_history`),
  );
  return histories.flatMap((history) => lostSlot(history) ?? []);
}

/** The ids of the slots that stay busy although the appointment releases its slots (`keptSlots`). */
async function readKept(
  medplum: MedplumClient,
  { id }: Appointment,
  slots: readonly Slot[],
): Promise<ReadonlySet<string>> {
  const taken = slots.filter(isBooked);
  const [history] = taken.length > 0 ? await readHistories(medplum, [`Appointment/${id}/_history`]) : [];
  return history ? keptSlots(taken, history, config) : new Set();
}

/** The searches for the appointment itself, its existing slots (`used`), and all appointments on the slots `ids`. */
function holderReads({ id }: Appointment, ids: readonly string[], used: readonly Slot[]): BundleEntry[] {
  // Two searches, so that many cancelled appointments cannot push an open one off the page.
  const statuses = [statusQuery(holdsSlots), statusQuery((one) => !holdsSlots(one))];
  const references = ids.map((one) => `Slot/${one}`).join(',');
  return [
    ...searchByIds('Appointment', [id]),
    ...searchByIds(
      'Slot',
      used.map((slot) => slot.id),
    ),
    ...(ids.length > 0 ? statuses : []).map((status) =>
      search('Appointment', [
        ['slot', references],
        ['status', status],
        ['_count', '1000'],
      ]),
    ),
  ];
}

/**
 * Reads the slots of an appointment and everything that they depend on, with the Bot's own rights.
 * @param related - its existing slots (`completeRelated`)
 * @param history - its latest versions, if staff may have moved it in Medplum: their slots are read, too
 */
export async function readAppointmentSlots(
  medplum: MedplumClient,
  appointment: Appointment,
  related: Pick<Related, 'slots' | 'calendars'>,
  history?: Bundle,
): Promise<AppointmentSlots> {
  const former = formerSlots(appointment, history);
  const ids = [...slotIdsOf(appointment), ...former];
  const left = ofType('Slot', await readByIds(medplum, 'Slot', former));
  const used = [...related.slots, ...left].filter(({ id }) => id !== undefined && ids.includes(id));
  const lost = await readLost(
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
  const schedulesOf = [...scheduleIdsOf(concerned), ...unnamed.flatMap(({ schedule }) => schedule.id ?? [])];
  const own = time ? schedulesOf.map((schedule) => ({ ...time, schedule })) : [];
  const within = (reach: number): BundleEntry[] => [
    ...slotsAtReads(
      merged(
        [...calendarOf(concerned, config).values(), ...own].map(({ schedule, start, end }) => ({
          schedule,
          start: start - reach,
          end: end + reach,
        })),
      ),
    ),
    ...holderReads(appointment, ids, used),
  ];
  const services = serviceReads(ofType('Schedule', related.calendars));
  const near = await readWhole(medplum, [...within(NEAR), ...services]);
  const schedules =
    unnamed.length > 0 ? unnamed : await readSchedules(medplum, schedulesOf, [...related.calendars, ...near]);
  const reach = 2 * reachOf(schedules, config);
  const found = reach > NEAR ? await readWhole(medplum, within(reach)) : near;
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
    kept: await readKept(medplum, appointment, released),
  };
}
