import type { Slot } from '@medplum/fhirtypes';
import { formatInstant, parseInstant } from '../../../core/fhir/instant.ts';
import { type BookingService, isRefusal, nextPage, type Refusal, resourcesIn } from '../fhir/client.ts';
import { type BookableSchedule, type BookableService, isServed, payersIn } from './services.ts';

/** A bookable time; milliseconds since 1970 UTC. */
export interface FreeTime {
  readonly slot: string;
  readonly schedule: BookableSchedule;
  readonly start: number;
  readonly end: number;
}

/** The bookable times of a span. `isComplete` is false if there are more than the portal reads. */
interface FreeTimes {
  readonly times: readonly FreeTime[];
  readonly isComplete: boolean;
}

/** Slots on a page of the search, and maximum of pages. */
const PAGE = 1000;
const PAGES = 4;

/** Maximum of Schedules in one search: their references must fit into a URL. */
const MAX_SCHEDULES = 200;

const MINUTE = 60_000;

const MAX_PARTS = 200;

/** Whether a Slot names the service and the visitor's payer kind. A Slot that names none serves all. */
function isOf({ serviceType, extension }: Slot, { coding, payer }: BookableService): boolean {
  if (!isServed(payersIn(extension, payer?.url), payer)) {
    return false;
  }
  const codings = (Array.isArray(serviceType) ? serviceType : []).flatMap((concept) => concept?.coding ?? []);
  return codings.length === 0 || codings.some(({ system, code }) => system === coding?.system && code === coding?.code);
}

/** Divides a Slot into the times of appointments. An invalid Slot has none. */
export function timesOf(slot: Slot, schedule: BookableSchedule): FreeTime[] {
  const [start, end] = [parseInstant(slot.start), parseInstant(slot.end)];
  if (slot.id === undefined || start === undefined || end === undefined || start >= end) {
    return [];
  }
  const length = Math.min(end - start, schedule.minutes === undefined ? end - start : schedule.minutes * MINUTE);
  const count = Math.min(Math.floor((end - start) / length), MAX_PARTS);
  return Array.from({ length: count }, (_, index) => ({
    slot: `Slot/${slot.id}`,
    schedule,
    start: start + index * length,
    end: start + (index + 1) * length,
  }));
}

/** Divides a Slot of a service into times; empty if the Slot is not of the service. */
export function timesIn(slot: Slot, service: BookableService): FreeTime[] {
  const schedule = service.schedules.find(({ reference }) => reference === slot.schedule?.reference);
  return schedule && isOf(slot, service) ? timesOf(slot, schedule) : [];
}

/** The refusal of a time that is not bookable; it equals the one of a time that another person has booked. */
const notOffered: Refusal = { refused: true, status: 409, problems: [{ code: 'slot-not-free', alternatives: [] }] };

/** Whether a time is one of the appointments in a Slot: in steps from its start, or at its end. */
function fits(slot: Slot, service: BookableService, { start, end }: Pick<FreeTime, 'start' | 'end'>): boolean {
  const schedule = service.schedules.find(({ reference }) => reference === slot.schedule?.reference);
  const [from, to] = [parseInstant(slot.start), parseInstant(slot.end)];
  if (!schedule || !isOf(slot, service) || from === undefined || to === undefined) {
    return false;
  }
  const [first] = timesOf(slot, schedule);
  // A time that the service proposes instead has the duration of the lost one, even in another Schedule.
  const lengths = [first && first.end - first.start, ...service.schedules.map(({ minutes = 0 }) => minutes * MINUTE)];
  const length = end - start;
  return from <= start && end <= to && lengths.includes(length) && ((start - from) % length === 0 || end === to);
}

/** Validates a time from a browser. A missing or busy Slot is left to the service, which proposes other times. */
export async function refusalOf(
  client: BookingService,
  service: BookableService,
  time: Pick<FreeTime, 'slot' | 'start' | 'end'>,
): Promise<Refusal | undefined> {
  const slot = await client.read('Slot', time.slot.slice('Slot/'.length));
  if (isRefusal(slot)) {
    return slot.status === 404 || slot.status === 410 ? undefined : slot;
  }
  return slot.status !== 'free' || fits(slot, service, time) ? undefined : notOffered;
}

/**
 * Reads the free Slots of Schedules and divides them into times.
 *
 * @param from - milliseconds since 1970 UTC
 * @param to - milliseconds since 1970 UTC, not included
 * @param most - number of Slots that are enough
 */
export async function readTimes(
  client: BookingService,
  service: BookableService,
  schedules: readonly BookableSchedule[],
  [from, to]: readonly [number, number],
  most = PAGE * PAGES,
): Promise<FreeTimes | Refusal> {
  const named = schedules.slice(0, MAX_SCHEDULES);
  const bySchedule = new Map(named.map((schedule) => [schedule.reference, schedule]));
  const first = await client.search('Slot', {
    schedule: [...bySchedule.keys()].join(','),
    status: 'free',
    start: [`ge${formatInstant(from)}`, `lt${formatInstant(to)}`],
    _sort: 'start',
    _total: 'none',
    _count: String(Math.min(most, PAGE)),
  });
  const slots: Slot[] = [];
  let page = first;
  for (let count = 1; ; count += 1) {
    if (isRefusal(page)) {
      return page;
    }
    slots.push(...resourcesIn(page, 'Slot'));
    const next = nextPage(page);
    if (next === undefined || count * PAGE >= most) {
      const times = slots
        .filter((slot) => isOf(slot, service))
        .flatMap((slot) => {
          const schedule = bySchedule.get(slot.schedule?.reference ?? '');
          return schedule ? timesOf(slot, schedule) : [];
        });
      return {
        times: times.toSorted((a, b) => a.start - b.start),
        isComplete: next === undefined && named.length === schedules.length,
      };
    }
    page = await client.follow(next);
  }
}
