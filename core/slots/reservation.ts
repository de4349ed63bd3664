import type { Extension, Identifier, Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant, timeOf } from '../fhir/instant.ts';
import { idIn } from '../fhir/reference.ts';
import { rowSearch } from '../rows/row.ts';
import { contains, type Interval, overlaps } from '../time/interval.ts';
import { newExternalSlot } from './guard.ts';
import { type Calendar, type CalendarSlot, isTaken, takesTimeOf } from './slot.ts';

/** The duration of a reservation, in milliseconds. Medplum asks all guards of one act and commits within it. */
export const RESERVED_FOR = 5_000;

/**
 * How long a reservation is kept after its end, in milliseconds. It counts only if its appointment was stored: if the job
 * that gives it its Slots is lost, a scheduled Bot makes up for it, once a minute.
 */
const FOLLOWED_WITHIN = 85_000;

/** The largest number of reservations in a row. If an import makes more, the oldest are probably stored. */
const MAX_RESERVATIONS = 100;

/** A write that Medplum asks a guard about. A Slot and the appointment that names it are one act. */
export interface Act {
  /** The resource that is about to be stored, `Slot/id` or `Appointment/id`. */
  readonly id: string;
  /** Reference to the author of the write. */
  readonly author: string;
  /** Ids of the Slots that the appointment names; for a Slot, its own id. */
  readonly slots: readonly string[];
}

/** Time that another client is about to occupy. It is stored in the publication row of its Schedule. */
export interface Reservation extends Interval, Act {
  /** Id of the bookable Slot whose lane loses the time; `undefined`: every lane does. */
  readonly laneSlotId: string | undefined;
  /** Whether it may overlap busy time on purpose. */
  readonly overbooks: boolean;
  /** The end of the reservation if the resource is not stored; milliseconds since 1970 UTC. */
  readonly until: number;
}

const uriOf = (config: PublicConfig): string => artefactUri(config, 'LocalReservation');

const isOverbooksMark = ({ url, valueBoolean }: Extension): boolean => url === 'overbooks' && valueBoolean === true;

/** Reads a reservation; `undefined` if time, end, resource or author is missing. */
function reservationIn({ extension = [] }: Extension): Reservation | undefined {
  const partsNamed = (name: string): string[] =>
    extension.flatMap(({ url, valueString }) => (url === name ? (valueString ?? []) : []));
  const time = timeOf(extension.find(({ url }) => url === 'time')?.valuePeriod);
  const until = parseInstant(extension.find(({ url }) => url === 'until')?.valueInstant);
  const [[id], [author], [laneSlotId]] = [partsNamed('act'), partsNamed('author'), partsNamed('lane')];
  return time && until !== undefined && id !== undefined && author !== undefined
    ? { ...time, until, id, author, laneSlotId, slots: partsNamed('slot'), overbooks: extension.some(isOverbooksMark) }
    : undefined;
}

function reservationExtension(
  { start, end, until, id, author, laneSlotId, slots, overbooks }: Reservation,
  config: PublicConfig,
): Extension {
  return {
    url: uriOf(config),
    extension: [
      { url: 'time', valuePeriod: { start: formatInstant(start), end: formatInstant(end) } },
      { url: 'until', valueInstant: formatInstant(until) },
      { url: 'act', valueString: id },
      { url: 'author', valueString: author },
      ...(laneSlotId === undefined ? [] : [{ url: 'lane', valueString: laneSlotId }]),
      ...(overbooks ? [{ url: 'overbooks', valueBoolean: true }] : []),
      ...slots.map((slot) => ({ url: 'slot', valueString: slot })),
    ],
  };
}

const appointmentOf = ({ id }: Act): string | undefined => /^Appointment\/(.+)$/.exec(id)?.[1];

/** Whether the act stores an appointment. */
export const isOfAppointment = (act: Act): boolean => appointmentOf(act) !== undefined;

/**
 * The reservations in a row, without those that nobody needs any more. One that has expired still says where a new Slot
 * lies: the guard of the appointment that names it may be asked late.
 */
export function reservationsIn(row: Task | undefined, now: number, config: PublicConfig): Reservation[] {
  const found = (row?.extension ?? []).flatMap((extension) =>
    extension.url === uriOf(config) ? (reservationIn(extension) ?? []) : [],
  );
  return found.filter(({ until }) => now < until + FOLLOWED_WITHIN);
}

/** A row with other reservations. Its identifiers name their resources, by which the guard of the same act finds it. */
export function withReservations(row: Task, reservations: readonly Reservation[], config: PublicConfig): Task {
  const { extension = [], identifier = [], ...rest } = row;
  const system = uriOf(config);
  const kept = reservations.slice(-MAX_RESERVATIONS);
  const others = extension.filter(({ url }) => url !== system);
  const names = [...new Set(kept.flatMap(({ id, slots }) => [id, ...slots.map((slot) => `Slot/${slot}`)]))];
  const named = [
    ...identifier.filter((one) => one.system !== system),
    ...names.map((value): Identifier => ({ system, value })),
  ];
  const extensions = [...others, ...kept.map((reservation) => reservationExtension(reservation, config))];
  return {
    ...rest,
    ...(extensions.length > 0 && { extension: extensions }),
    ...(named.length > 0 && { identifier: named }),
  };
}

/** The search for the rows with reservations of an act. */
export const reservationsOf = ({ id, slots }: Partial<Act>, config: PublicConfig): string => {
  const names = [...new Set([...(id === undefined ? [] : [id]), ...(slots ?? []).map((slot) => `Slot/${slot}`)])];
  const identifier = names.map((name) => `${uriOf(config)}|${name}`).join(',');
  return rowSearch(['publish'], { identifier, _include: 'Task:focus', '_include:iterate': 'Schedule:actor' }, config);
};

/** Whether two writes are one act: a Slot and the appointment that names it, by the same author. */
export function isSameAct(act: Act, other: Act): boolean {
  const isPair = isOfAppointment(act) !== isOfAppointment(other);
  return (
    act.id === other.id ||
    (isPair && act.author === other.author && act.slots.some((slot) => other.slots.includes(slot)))
  );
}

function isStored(reservation: Reservation, calendar: Calendar): boolean {
  const taken = reservation.slots.flatMap((id) => calendar.get(id) ?? []).filter((slot) => isTaken(slot));
  return taken.some((slot) => contains(slot, reservation));
}

/** Ids of the appointments to look up: an expired reservation still counts if its appointment was stored. */
export const lateAppointments = (reservations: readonly Reservation[], times: readonly Interval[], now: number) =>
  reservations
    .filter((reservation) => now >= reservation.until && times.some((time) => overlaps(reservation, time)))
    .flatMap((reservation) => appointmentOf(reservation) ?? []);

interface Reading {
  readonly calendar: Calendar;
  readonly now: number;
  /** The times of the open ones among `lateAppointments`, by id. `undefined`: none was looked up. */
  readonly openTimes?: ReadonlyMap<string, Interval> | undefined;
}

/** The time reserved and not taken yet, as Slots. An expired reservation counts only if `openTimes` has its time. */
export function reservedSlots(
  schedule: string,
  reservations: readonly Reservation[],
  { calendar, now, openTimes = new Map() }: Reading,
): CalendarSlot[] {
  /** Whether the stored appointment has the reserved time. After a refused move it still has the old time. */
  const isOfStored = (reservation: Reservation): boolean => {
    const time = openTimes.get(appointmentOf(reservation) ?? '');
    const parts = reservations.filter(({ id, until }) => id === reservation.id && until === reservation.until);
    const start = Math.min(...parts.map((part) => part.start));
    const end = Math.max(...parts.map((part) => part.end));
    return time !== undefined && contains({ start, end }, time);
  };
  const counts = (reservation: Reservation): boolean => now < reservation.until || isOfStored(reservation);
  return reservations
    .filter((reservation) => counts(reservation) && !isStored(reservation, calendar))
    .map(({ start, end, id, laneSlotId }) => {
      const laneSlot = laneSlotId === undefined ? undefined : calendar.get(laneSlotId);
      const external = newExternalSlot(schedule, { start, end }, { id, status: 'busy' });
      return laneSlot?.role === 'bookable' ? { ...laneSlot, start, end, id, status: 'busy', use: undefined } : external;
    });
}

/** The largest difference between the clocks of Bots and of the server, in milliseconds. */
const CLOCKS = 60_000;

/** The search for the rows that may have reservations: those that were written within the last minute or so. */
export const recentRows = (now: number, config: PublicConfig): string => {
  const since = formatInstant(now - RESERVED_FOR - CLOCKS);
  return rowSearch(
    ['publish'],
    { identifier: `${uriOf(config)}|`, _lastUpdated: `gt${since}`, _sort: '-_lastUpdated', _count: '1000' },
    config,
  );
};

/** The reserved time of some Schedules, by their publication rows. */
export const reservedIn = (rows: readonly Task[], reading: Reading, config: PublicConfig): CalendarSlot[] =>
  rows.flatMap((row) => {
    const schedule = idIn(row.focus, 'Schedule');
    return schedule === undefined ? [] : reservedSlots(schedule, reservationsIn(row, reading.now, config), reading);
  });

/** Whether a time is reserved in the lane of a Slot, or in every lane. */
export const isReserved = (slot: CalendarSlot, time: Interval, reserved: readonly CalendarSlot[]): boolean =>
  reserved.some((one) => overlaps(one, time) && takesTimeOf(one, slot));
