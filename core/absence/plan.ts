import type { Appointment, CodeableConcept, Schedule, Slot } from '@medplum/fhirtypes';
import { isOpen } from '../booking/appointment/status.ts';
import { effectivePolicy, permittedStarts } from '../booking/policy/policy.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { timeOf } from '../fhir/instant.ts';
import { idIn, servesService } from '../fhir/reference.ts';
import { findChain } from '../slots/chain.ts';
import { type CalendarSlot, calendarOf, slotIdsOf } from '../slots/slot.ts';
import { granularityOf, neededBuffers, type ScheduleServices, withBuffers } from '../slots/terms.ts';
import { contains, type Interval, overlaps } from '../time/interval.ts';
import { DAY, localTimeOf } from '../time/time-zone.ts';
import { assign, type Choice, MAX_CHOICES, type Use } from './assign.ts';

/** The time after the last affected appointment that is searched, in milliseconds. */
export const LOOKED_AHEAD = 28 * DAY;

/** The shortest notice of a new time, in milliseconds, because its person must be notified. */
export const NOTICE = 2 * 3_600_000;

/** The cost of a change for a patient, in points. An appointment without a replacement costs more than any change. */
const points = { otherPerson: 300, otherTime: 400, perDay: 20, perHourOfDay: 5, none: 100_000 } as const;

/** The most points for the distance in time, so that it never outweighs the kind of change. */
const FARTHEST = 600;

/** The replacement of an appointment that cannot take place. */
export interface Proposal extends Interval {
  /** Id of the Schedule that replaces the absent one. */
  readonly schedule: string;
  /** Ids of the Slots, of all Schedules that the appointment needs. */
  readonly slots: readonly string[];
  /** Whether another whole visit replaces the one of this appointment. `schedule` is that of this step. */
  readonly isVisit?: boolean | undefined;
}

/** Time of a Schedule in which nothing takes place. */
export interface Absent extends Interval {
  readonly schedule: string;
}

interface Planning {
  /** The appointments that cannot take place, in the order of the plan. */
  readonly affected: readonly Appointment[];
  readonly taken: readonly Slot[];
  readonly absent: readonly Absent[];
  /** All Schedules concerned: absent ones, those of the affected appointments, and substitutes. */
  readonly schedules: readonly ScheduleServices[];
  /** Ids of the Schedules that may replace others. */
  readonly substitutes: readonly string[];
  readonly free: readonly Slot[];
  readonly others: readonly Appointment[];
  /** Whether an appointment fits its visit at a time in some Schedules; absent if none is a step. */
  readonly fits?: (appointment: Appointment, time: Interval, schedules: readonly Schedule[]) => boolean;
  /** Milliseconds since 1970 UTC. */
  readonly now: number;
}

/** References to the patients of an appointment. */
export const patientsOf = ({ participant }: Appointment): string[] =>
  participant.flatMap(({ actor }) => (idIn(actor, 'Patient') ? (actor?.reference ?? []) : []));

/** The cost of a replacement, in points. Both starts are local times, as if they were UTC. */
function costOf(from: number, to: number, isSamePerson: boolean): number {
  const person = isSamePerson ? 0 : points.otherPerson;
  if (from === to) {
    return 1 + person;
  }
  const hours = Math.abs((from % DAY) - (to % DAY)) / 3_600_000;
  const days = Math.abs(from - to) / DAY;
  const far = Math.min(FARTHEST, Math.round(days * points.perDay + hours * points.perHourOfDay));
  return 1 + person + points.otherTime + far;
}

interface Calendars {
  readonly planning: Planning;
  readonly config: PublicConfig;
  readonly byId: ReadonlyMap<string, ScheduleServices>;
  readonly free: ReadonlyMap<string, FreeSlots>;
  readonly taken: ReadonlyMap<string, CalendarSlot>;
  readonly localTime: (time: number) => number;
}

interface FreeSlots {
  readonly slots: readonly CalendarSlot[];
  /** The length of the longest one, in milliseconds. */
  readonly longest: number;
}

/** The Slots that overlap a time, by a binary search: they are ordered by start. */
function slotsAt({ slots, longest }: FreeSlots, time: Interval): CalendarSlot[] {
  let [low, high] = [0, slots.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    [low, high] = (slots[middle]?.start ?? 0) < time.start - longest ? [middle + 1, high] : [low, middle];
  }
  const found: CalendarSlot[] = [];
  for (let index = low; index < slots.length; index++) {
    const slot = slots[index];
    if (!slot || slot.start >= time.end) {
      break;
    }
    if (slot.end > time.start) {
      found.push(slot);
    }
  }
  return found;
}

function memoized(compute: (time: number) => number): (time: number) => number {
  const values = new Map<number, number>();
  return (time) => {
    const value = values.get(time) ?? compute(time);
    values.set(time, value);
    return value;
  };
}

export const isAbsentAt = (schedule: string, time: Interval, absent: readonly Absent[]): boolean =>
  absent.some((one) => one.schedule === schedule && overlaps(one, time));

/** Indexes the Slots of a plan: free ones outside of absences by Schedule, taken ones by id. */
function calendarsOf(planning: Planning, config: PublicConfig): Calendars {
  const offered = [...calendarOf(planning.free, config).values()]
    .filter((slot) => slot.status === 'free' && !isAbsentAt(slot.schedule, slot, planning.absent))
    .sort((slot, other) => slot.start - other.start);
  return {
    planning,
    config,
    byId: new Map(planning.schedules.map((calendar) => [calendar.schedule.id ?? '', calendar])),
    free: new Map(
      [...Map.groupBy(offered, ({ schedule }) => schedule)].map(([schedule, slots]) => [
        schedule,
        { slots, longest: Math.max(...slots.map(({ start, end }) => end - start)) },
      ]),
    ),
    taken: calendarOf(planning.taken, config),
    localTime: memoized((time) => localTimeOf(config.timeZone, time)),
  };
}

const typesOf = (slot: CalendarSlot, schedule: Schedule | undefined): readonly CodeableConcept[] =>
  slot.services ?? schedule?.serviceType ?? [];

/** The requirements of an appointment: service types, length and Schedules. */
interface Needed extends Interval {
  readonly appointment: Appointment;
  readonly types: readonly CodeableConcept[];
  /** The Schedules that are absent at its time; there is at least one. */
  readonly absent: readonly string[];
  /** Its other Schedules. */
  readonly present: readonly string[];
}

/** The requirements of an appointment; `undefined` without a time or if none of its Schedules is absent. */
function neededBy(appointment: Appointment, { taken, byId, planning }: Calendars): Needed | undefined {
  const time = timeOf(appointment);
  const heldSlots = slotIdsOf(appointment).flatMap((id) => taken.get(id) ?? []);
  const schedules = [...new Set(heldSlots.filter(({ role }) => role !== 'buffer').map(({ schedule }) => schedule))];
  const absent = schedules.filter((one) => time && isAbsentAt(one, time, planning.absent));
  const first = heldSlots.find(({ schedule }) => schedule === absent[0]);
  if (!time || !first) {
    return undefined;
  }
  const types = appointment.serviceType?.length
    ? appointment.serviceType
    : typesOf(first, byId.get(first.schedule)?.schedule);
  return { ...time, appointment, types, absent, present: schedules.filter((one) => !absent.includes(one)) };
}

/** Free Slots of a Schedule that cover a time and can be divided there; `undefined` if there are none. */
function coveringAt(
  schedule: string,
  time: Interval,
  needed: Needed,
  calendars: Calendars,
): CalendarSlot[] | undefined {
  const { byId, free, config } = calendars;
  const calendar = byId.get(schedule);
  const isOfAppointment = needed.absent.includes(schedule) || needed.present.includes(schedule);
  const suitable = slotsAt(free.get(schedule) ?? { slots: [], longest: 0 }, time).filter((slot) =>
    servesService(needed.types, typesOf(slot, calendar?.schedule), isOfAppointment),
  );
  const whole = suitable.filter((slot) => contains(slot, time)).toSorted((slot, other) => slot.end - other.end);
  const { shortest, step } = granularityOf(calendar?.schedule, calendar?.services ?? [], config);
  const isDivisible = (slot: CalendarSlot): boolean => {
    const isOnStep = (moment: number): boolean => moment === slot.end || (moment - slot.start) % step === 0;
    const isWhole = slot.start === time.start && slot.end === time.end;
    return isWhole || (time.end - time.start >= shortest && isOnStep(time.start) && isOnStep(time.end));
  };
  const divisible = whole.find(isDivisible);
  if (divisible) {
    return [divisible];
  }
  const chain = whole.length === 0 ? findChain(suitable, time) : undefined;
  const isExact = chain?.at(0)?.start === time.start && chain.at(-1)?.end === time.end;
  return isExact ? chain : undefined;
}

/** The starts to try: those of Slots, multiples of the length after them, and the original one. */
function startsIn(schedule: string, needed: Needed, { free, byId, config }: Calendars): Set<number> {
  const length = needed.end - needed.start;
  const calendar = byId.get(schedule);
  const { step } = granularityOf(calendar?.schedule, calendar?.services ?? [], config);
  const stride = Math.max(step, Math.ceil(length / step) * step);
  const starts = new Set<number>();
  for (const slot of free.get(schedule)?.slots ?? []) {
    starts.add(slot.start);
    for (let start = slot.start + stride; start + length <= slot.end; start += stride) {
      starts.add(start);
    }
    if (contains(slot, needed)) {
      starts.add(needed.start);
    }
  }
  return starts;
}

/** The use of a part of a Slot: time in its lane, with the buffers of the service. */
function useOf(slot: CalendarSlot, time: Interval, { types }: Needed, { byId, config }: Calendars): Use {
  const of = byId.get(slot.schedule);
  const part = { start: Math.max(slot.start, time.start), end: Math.min(slot.end, time.end) };
  const around = of ? withBuffers(part, neededBuffers(of, slot, types, config)) : part;
  // Bookable slots without a lane can be used at the same time.
  return slot.lane === undefined ? { of: slot.id, ...part } : { of: `${slot.schedule}|${slot.lane}`, ...around };
}

interface Option extends Choice, Proposal {}

/** The replacement at a start, in all Schedules; `undefined` if patients, Slots or visit do not allow it. */
function optionAt(
  schedule: string,
  start: number,
  cost: number,
  needed: Needed,
  calendars: Calendars,
  busy: readonly Interval[],
): Option | undefined {
  const { planning } = calendars;
  const time = { start, end: start + needed.end - needed.start };
  const [, ...alsoAbsent] = needed.absent;
  if (busy.some((interval) => overlaps(interval, time))) {
    return undefined;
  }
  const found: CalendarSlot[] = [...(coveringAt(schedule, time, needed, calendars) ?? [])];
  if (found.length === 0) {
    return undefined;
  }
  const used = new Set([schedule]);
  for (const other of [...needed.present, ...alsoAbsent]) {
    // Another absent Schedule needs a substitute at that time, or a time outside of its absence.
    const candidates = needed.present.includes(other) ? [other] : [other, ...planning.substitutes];
    const covering = candidates
      .filter((one) => !used.has(one))
      .map((one) => coveringAt(one, time, needed, calendars))
      .find((one) => one !== undefined);
    if (!covering) {
      return undefined;
    }
    used.add(covering[0]?.schedule ?? '');
    found.push(...covering);
  }
  const schedules = [...used].flatMap((id) => calendars.byId.get(id)?.schedule ?? []);
  if (planning.fits?.(needed.appointment, time, schedules) === false) {
    return undefined;
  }
  const people = patientsOf(needed.appointment).map((of): Use => ({ of, ...time }));
  return {
    ...time,
    key: `${found[0]?.id}@${start}`,
    cost,
    uses: [...found.map((slot) => useOf(slot, time, needed, calendars)), ...people],
    schedule,
    slots: found.map(({ id }) => id),
  };
}

/** The most choices of an appointment, beyond one for each of the others. */
const MORE_CHOICES = 50;

/** The possible replacements of an appointment, the least change first. */
function optionsFor(needed: Needed, calendars: Calendars, busy: readonly Interval[]): Option[] {
  const { planning, byId, config, localTime } = calendars;
  const { now } = planning;
  const targets = [...new Set([...needed.absent.slice(0, 1), ...planning.substitutes])];
  const possible = targets.flatMap((target) => {
    const calendar = byId.get(target);
    if (!calendar || calendar.schedule.active === false) {
      return [];
    }
    const bounds = permittedStarts(effectivePolicy(calendar.schedule, calendar.services, config), now);
    // An appointment at the same time needs no notice.
    const isPossible = (start: number): boolean =>
      start === needed.start
        ? start > now
        : bounds !== undefined && start >= Math.max(bounds.earliest, now + NOTICE) && start <= bounds.latest;
    const isSame = target === needed.absent[0];
    return [...startsIn(target, needed, calendars)]
      .filter(isPossible)
      .map((start) => ({ target, start, cost: costOf(localTime(needed.start), localTime(start), isSame) }));
  });
  const options: Option[] = [];
  const maxOptions = Math.min(MAX_CHOICES, planning.affected.length + MORE_CHOICES);
  for (const { target, start, cost } of possible.sort((one, other) => one.cost - other.cost)) {
    const option = optionAt(target, start, cost, needed, calendars, busy);
    if (option) {
      options.push(option);
    }
    if (options.length >= maxOptions) {
      break;
    }
  }
  return options;
}

/**
 * Plans the replacements of affected appointments with the least change in total. It respects service, policy, the
 * other Schedules of an appointment, and the other appointments of its patient. Free time is used once.
 * @returns a proposal for each affected appointment; `undefined` for those without a replacement
 */
export function planAbsence(planning: Planning, config: PublicConfig): (Proposal | undefined)[] {
  const calendars = calendarsOf(planning, config);
  const affected = new Set(planning.affected.map(({ id }) => id));
  const busy = new Map<string, Interval[]>();
  for (const other of planning.others.filter((appointment) => isOpen(appointment) && !affected.has(appointment.id))) {
    const time = timeOf(other);
    for (const patient of time ? patientsOf(other) : []) {
      busy.set(patient, [...(busy.get(patient) ?? []), ...(time ? [time] : [])]);
    }
  }
  const rows = planning.affected.map((appointment) => {
    const needed = neededBy(appointment, calendars);
    const busyOfPatients = patientsOf(appointment).flatMap((patient) => busy.get(patient) ?? []);
    return needed ? optionsFor(needed, calendars, busyOfPatients) : [];
  });
  return assign(rows, points.none).map(
    (option) => option && { schedule: option.schedule, slots: option.slots, start: option.start, end: option.end },
  );
}
