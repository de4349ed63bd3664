import type { Slot } from '@medplum/fhirtypes';
import { formatInstant, parseInstant } from '../../../core/fhir/instant.ts';
import { type BookingService, isRefusal, nextPage, type Refusal, resourcesIn } from '../fhir/client.ts';
import { type BookableSchedule, type BookableService, isServed, payersIn } from './services.ts';

/** A time that can be booked; milliseconds since 1970 UTC. */
export interface FreeTime {
  readonly slot: string;
  readonly schedule: BookableSchedule;
  readonly start: number;
  readonly end: number;
}

/** The free times of a span, and whether there are more than the portal reads. */
interface FreeTimes {
  readonly times: readonly FreeTime[];
  readonly isComplete: boolean;
}

/** How many Slots a page holds, and how many pages are read. */
const PAGE = 1000;
const PAGES = 4;

/** How many calendars are looked at together: their names have to fit into an address. */
const MAX_SCHEDULES = 200;

const MINUTE = 60_000;

/** The most appointments that one long Slot is shown as. */
const MAX_PARTS = 200;

/** Whether a Slot belongs to a service, and serves the visitor: it names that service and payer kind, or none. */
function isOf({ serviceType, extension }: Slot, { coding, payer }: BookableService): boolean {
  if (!isServed(payersIn(extension, payer?.url), payer)) {
    return false;
  }
  const codings = (Array.isArray(serviceType) ? serviceType : []).flatMap((concept) => concept?.coding ?? []);
  return codings.length === 0 || codings.some(({ system, code }) => system === coding?.system && code === coding?.code);
}

/** The appointments that a Slot has room for. A Slot without an end, or with one before its start, has none. */
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

/** The appointments of a service that a Slot has room for; none if it is not the service's. */
export function timesIn(slot: Slot, service: BookableService): FreeTime[] {
  const schedule = service.schedules.find(({ reference }) => reference === slot.schedule?.reference);
  return schedule && isOf(slot, service) ? timesOf(slot, schedule) : [];
}

/** What stands for a time that the clinic does not offer: as if another had been faster. */
const notOffered: Refusal = { refused: true, status: 409, problems: [{ code: 'slot-not-free', alternatives: [] }] };

/** Whether a time lies in a Slot as the appointments of a service do: in steps from its start, or at its end. */
function fits(slot: Slot, service: BookableService, { start, end }: Pick<FreeTime, 'start' | 'end'>): boolean {
  const schedule = service.schedules.find(({ reference }) => reference === slot.schedule?.reference);
  const [from, to] = [parseInstant(slot.start), parseInstant(slot.end)];
  if (!schedule || !isOf(slot, service) || from === undefined || to === undefined) {
    return false;
  }
  const [first] = timesOf(slot, schedule);
  // A time that the service itself proposes is as long as the one that was lost, in whichever calendar.
  const lengths = [first && first.end - first.start, ...service.schedules.map(({ minutes = 0 }) => minutes * MINUTE)];
  const length = end - start;
  return from <= start && end <= to && lengths.includes(length) && ((start - from) % length === 0 || end === to);
}

/**
 * Why a time that a browser names cannot be booked: only what is offered can, and nobody can make it longer. A Slot that is
 * gone or taken is for the service to judge, which names other times.
 */
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
 * The free times of a service.
 *
 * @param schedules - those to look at; at least one
 * @param from - milliseconds since 1970 UTC
 * @param to - milliseconds since 1970 UTC, not included
 * @param most - how many Slots are enough
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
