import { performance } from 'node:perf_hooks';
import process from 'node:process';
import { setImmediate } from 'node:timers';
import type { MedplumClient } from '@medplum/core';
import type { BundleEntry } from '@medplum/fhirtypes';
import { idIn } from '../../../core/fhir/reference.ts';
import { resourcesOfType } from '../../../core/rows/resource-set.ts';
import { recentRows, reservationsIn } from '../../../core/slots/reservation.ts';
import { type CalendarSlot, calendarSlot } from '../../../core/slots/slot.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { daysOf } from '../../../core/time/local-day.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import {
  type Bookable,
  bookableSchedules,
  FIRST_PAGE,
  type Frame,
  namedServiceReads,
  openStep,
  PAGE,
  poolOf,
  poolReads,
  scheduleReadsFor,
  slotPage,
} from '../../../core/visits/openings.ts';
import { type OpenStep, type Proposal, searchVisits } from '../../../core/visits/search.ts';
import {
  bestSeries,
  type FoundVisit,
  type SeriesProposal,
  seriesStarting,
  seriesWindows,
} from '../../../core/visits/series.ts';
import { type Pool, plainStep, type Series, type Visit, type VisitStep } from '../../../core/visits/visit.ts';
import type { Requestor } from '../booking/decide.ts';
import { config } from '../config.ts';
import { readResponses, readStateAs, stateIn } from '../read.ts';

/** Processor time of all computations of one request, and the length of a slice; milliseconds. */
const MAX_MS = 300;
const SLICE_MS = 10;

/** The time of the processor that the computations of one request share. */
interface ProcessorTime {
  /** Whether a computation should let others go first: it yields then. */
  readonly isDue: () => boolean;
  /** Carries a computation out, a slice at a time; `undefined` if the time was over first. */
  readonly compute: <T>(computation: Generator<undefined, T>) => Promise<T | undefined>;
}

export function processorTime(): ProcessorTime {
  let begun = 0;
  let spent = 0;
  // Processor time: on a busy machine a slice takes longer, but costs the same.
  const processor = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  };
  return {
    isDue: () => performance.now() - begun >= SLICE_MS,
    compute: async (computation) => {
      while (spent < MAX_MS) {
        const before = processor();
        begun = performance.now();
        const { done, value } = computation.next();
        spent += processor() - before;
        if (done) {
          return value;
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      return undefined;
    },
  };
}

const MAX_SLOTS = 40_000;

/** How many days of starts are looked at for a series. */
const MAX_DAYS = 28;

export interface Wish {
  readonly caller: Requestor;
  readonly visit: Visit;
  readonly count: number;
  readonly frame: Frame;
  /** Until when more may be read; milliseconds since 1970 UTC. */
  readonly deadline: number;
  /** The processor time, shared by all searches of a request. */
  readonly time: ProcessorTime;
  /** Ids of the Schedules that may fill roles; by default all that the caller may see. */
  readonly among?: readonly string[] | undefined;
  /** A filter for visits; by default all are wanted. */
  readonly isWanted?: (proposal: Proposal) => boolean;
  /** Which free Slots may be taken; by default all. */
  readonly mayTake?: ((slot: CalendarSlot) => boolean) | undefined;
}

interface Finding extends Wish {
  readonly medplum: MedplumClient;
  readonly bookable: ReadonlyMap<string, Bookable>;
}

/** The free Slots of Schedules, as far as they were read. */
class FreeSlots {
  readonly #mayTake: (slot: CalendarSlot) => boolean;
  readonly ids: readonly string[];
  readonly slots = new Map<string, CalendarSlot[]>();
  readonly byId = new Map<string, CalendarSlot>();
  /** The time until which candidate times have been read. */
  until = Number.NEGATIVE_INFINITY;

  constructor(ids: readonly string[], { mayTake = () => true }: Pick<Wish, 'mayTake'> = {}) {
    this.ids = ids;
    this.#mayTake = mayTake;
  }

  /** Adds the Slots of a response; returns how many it has, known ones included. */
  add({ resource }: BundleEntry): number {
    const found = resource?.resourceType === 'Bundle' ? (resource.entry ?? []) : [];
    for (const { resource: slot } of found) {
      const known =
        slot?.resourceType === 'Slot' && !this.byId.has(slot.id ?? '') ? calendarSlot(slot, config) : undefined;
      if (known) {
        this.byId.set(known.id, known);
        const own = this.slots.get(known.schedule) ?? [];
        own.push(...[known].filter(this.#mayTake));
        this.slots.set(known.schedule, own);
      }
    }
    return found.length;
  }

  /** Sorts by time: windows may overlap, and the first page of a window has Slots that began before it. */
  sort(): void {
    for (const own of this.slots.values()) {
      own.sort((slot, other) => slot.start - other.start || slot.end - other.end || (slot.id < other.id ? -1 : 1));
    }
  }
}

/**
 * Reads the next page of Slots of each set, or the page from a time on if that is later.
 * @returns whether more may be read: not at MAX_SLOTS, after the deadline, or if one instant has more Slots than a page
 */
async function readOn(all: readonly FreeSlots[], from: number, finding: Finding): Promise<boolean> {
  const { medplum, caller, frame, deadline } = finding;
  const { period } = frame;
  const reading = all.filter(({ until }) => until < period.end);
  const pages = reading.map(({ until }) => (until === Number.NEGATIVE_INFINITY ? FIRST_PAGE : PAGE));
  const entries = reading.map(({ ids, until }, index) =>
    from > until
      ? slotPage(ids, { start: from, end: period.end }, undefined, pages[index])
      : slotPage(ids, period, until, pages[index]),
  );
  const answers = await readResponses(medplum, entries, caller);
  stateIn(answers);
  for (const [index, set] of reading.entries()) {
    const answer = answers[index];
    const count = answer ? set.add(answer) : 0;
    set.sort();
    const last = [...set.byId.values()].reduce((latest, { start }) => Math.max(latest, start), set.until);
    const until = count < (pages[index] ?? PAGE) ? Number.POSITIVE_INFINITY : last;
    if (until <= set.until) {
      return false;
    }
    set.until = until;
  }
  const total = all.reduce((sum, { byId }) => sum + byId.size, 0);
  return total < MAX_SLOTS && Date.now() < deadline;
}

/** The visits that were found, with what they are made of, and whether there may be more that were not looked for. */
interface FoundVisits {
  readonly visits: readonly FoundVisit[];
  readonly bookable: ReadonlyMap<string, Bookable>;
  readonly slotOf: (id: string) => CalendarSlot | undefined;
  readonly isCutShort: boolean;
}

const slotIn =
  (all: readonly FreeSlots[]) =>
  (id: string): CalendarSlot | undefined =>
    all.map(({ byId }) => byId.get(id)).find((slot) => slot !== undefined);

/** The Schedules that can fill a role of a step. */
const schedulesFor = ({ pools }: VisitStep, { bookable, frame }: Finding): string[] =>
  [...new Set(pools.flatMap((pool) => poolOf(pool, bookable, frame).map(({ schedule }) => schedule.id)))].toSorted();

/** Finds visits by their earliest start, reading further Slots as the search needs them. */
async function findSteps(finding: Finding): Promise<Omit<FoundVisits, 'bookable'>> {
  const { visit, count, frame, bookable, time, isWanted = () => true } = finding;
  const { steps } = visit;
  const shared = new Map<string, FreeSlots>();
  const freeSlots = steps.map((step) => {
    const ids = schedulesFor(step, finding);
    const known = shared.get(ids.join()) ?? new FreeSlots(ids, finding);
    shared.set(ids.join(), known);
    return known;
  });
  const all = [...shared.values()];
  const found: Proposal[] = [];
  let mayRead = await readOn(all, frame.period.start, finding);
  const open: OpenStep[] = [];
  const openAgain = async (wanted: readonly FreeSlots[]): Promise<boolean> => {
    for (const [index, step] of steps.entries()) {
      const own = freeSlots[index];
      const known = own && wanted.includes(own) ? openStep(step, bookable, own, frame, time.isDue) : undefined;
      const opened = known ? await time.compute(known) : open[index];
      if (!opened) {
        return false;
      }
      open[index] = opened;
    }
    return true;
  };
  let isCutShort = !(await openAgain(all));
  const least = open.reduce((sum, { shortest, isOptional }) => sum + (isOptional ? 0 : shortest), 0);
  let search = searchVisits(open, time.isDue);
  for (let from = frame.period.start; from + least <= frame.period.end && found.length < count && !isCutShort; ) {
    const next = await time.compute(search(from));
    if (next?.kind === 'end') {
      break;
    }
    if (next?.kind === 'proposal') {
      found.push(...[next.proposal].filter(isWanted));
      from = (next.proposal[0]?.start ?? from) + 1;
    } else if (!next || !mayRead) {
      isCutShort = true;
    } else {
      const wanted = [...new Set(next.steps.flatMap((index) => freeSlots[index] ?? []))];
      mayRead = await readOn(wanted, next.from, finding);
      isCutShort = !(await openAgain(wanted));
      search = searchVisits([...open], time.isDue);
    }
  }
  return { visits: found.map((proposal) => ({ proposal })), slotOf: slotIn(all), isCutShort };
}

/** Reads the free Slots of Schedules in windows; `false` if some could not be read within the limits. */
async function readWindows(freeSlots: FreeSlots, windows: readonly Interval[], finding: Finding): Promise<boolean> {
  const { medplum, caller, deadline } = finding;
  let open = windows.map((time): { time: Interval; from?: number } => ({ time }));
  while (open.length > 0 && freeSlots.byId.size < MAX_SLOTS && Date.now() < deadline) {
    const answers = await readResponses(
      medplum,
      open.map(({ time, from }) => slotPage(freeSlots.ids, time, from)),
      caller,
    );
    stateIn(answers);
    open = open.flatMap(({ time, from }, index) => {
      const answer = answers[index];
      const last = answer && freeSlots.add(answer) === PAGE ? lastStart(answer) : undefined;
      return last === undefined || last === from ? [] : [{ time, from: last }];
    });
  }
  freeSlots.sort();
  return open.length === 0;
}

function lastStart({ resource }: BundleEntry): number | undefined {
  const last = resource?.resourceType === 'Bundle' ? resource.entry?.at(-1)?.resource : undefined;
  return last?.resourceType === 'Slot' ? Date.parse(last.start) : undefined;
}

/** Finds the best series that begin in the period: complete ones first, then those that lack fewest appointments. */
async function findSeries(series: Series, finding: Finding): Promise<Omit<FoundVisits, 'bookable'>> {
  const { count, frame, bookable, visit, time, isWanted = () => true } = finding;
  const step: VisitStep = { ...plainStep(visit.service), name: '1' };
  const freeSlots = new FreeSlots(schedulesFor(step, finding), finding);
  const found: SeriesProposal[] = [];
  let days = 0;
  let isWhole = true;
  // Whatever starts later is over after the period; where the period is shorter, a part of the series is found.
  const length = (series.count - 1) * series.every * DAY - series.tolerance;
  const starts = { start: frame.period.start, end: Math.max(frame.period.start + DAY, frame.period.end - length) };
  for (const day of daysOf(starts, config.timeZone)) {
    const complete = found.filter(({ missing }) => missing === 0).length;
    if (complete >= count) {
      break;
    }
    if (days >= MAX_DAYS || !isWhole) {
      isWhole = false;
      break;
    }
    days++;
    const windows = seriesWindows(day, series, config.timeZone).flatMap(({ start, end }) => {
      const within = { start: Math.max(start, frame.period.start), end: Math.min(end, frame.period.end) };
      return within.start < within.end ? [within] : [];
    });
    isWhole = await readWindows(freeSlots, windows, finding);
    const known = { slots: freeSlots.slots, until: Number.POSITIVE_INFINITY };
    const open = await time.compute(openStep(step, bookable, known, frame, time.isDue));
    const starting =
      open && (await time.compute(seriesStarting(open.openings, day, series, config.timeZone, time.isDue)));
    if (!starting) {
      isWhole = false;
      break;
    }
    found.push(...starting.filter(({ proposal }) => isWanted(proposal)));
  }
  return { visits: bestSeries(found, count), slotOf: slotIn([freeSlots]), isCutShort: !isWhole };
}

/** The Schedules of the pools in which the caller can book, with their reservations; unreadable ones are missing. */
async function readBookable(pools: readonly Pool[], frame: Frame, medplum: MedplumClient, caller: Requestor) {
  const named = await readStateAs(medplum, poolReads(pools), caller);
  const inPools = new Set(pools.flatMap((pool) => (pool.kind === 'service' ? [pool.service] : [])));
  const ofPools = resourcesOfType(named, 'HealthcareService').filter(({ id = '' }) => inPools.has(id));
  const offering = await readStateAs(medplum, scheduleReadsFor(ofPools), caller);
  const schedules = resourcesOfType(new Map([...named, ...offering]), 'Schedule');
  const known = new Set(ofPools.map(({ id = '' }) => id));
  const rows = { request: { method: 'GET' as const, url: recentRows(frame.now, config) } };
  const others = await readStateAs(medplum, [...namedServiceReads(schedules, known), rows], caller);
  const services = [...ofPools, ...resourcesOfType(others, 'HealthcareService')];
  const reservations = Map.groupBy(resourcesOfType(others, 'Task'), ({ focus }) => idIn(focus, 'Schedule') ?? '');
  const bookable = bookableSchedules(schedules, services, frame);
  return new Map(
    [...bookable].map(([id, one]): [string, Bookable] => [
      id,
      {
        ...one,
        reservations: (reservations.get(id) ?? []).flatMap((row) => reservationsIn(row, frame.now, config)),
      },
    ]),
  );
}

/**
 * Finds visits that a caller can book now. Everything is read with the caller's rights: an invisible Schedule fills no
 * role.
 * @returns the visits, or `nobody`: the required steps that no Schedule can fill
 */
export async function findVisits(
  medplum: MedplumClient,
  wish: Wish,
): Promise<FoundVisits | { readonly nobody: readonly VisitStep[] }> {
  const { visit, frame, caller, among } = wish;
  const wanted = visit.series ? [{ ...plainStep(visit.service), name: 'the series' }] : visit.steps;
  const pools = wanted.flatMap((step) => step.pools);
  const all = await readBookable(pools, frame, medplum, caller);
  const bookable = new Map([...all].filter(([id]) => !among || among.includes(id)));
  const nobody = wanted.filter(
    (step) => !step.isOptional && step.pools.some((pool) => poolOf(pool, bookable, frame).length === 0),
  );
  if (nobody.length > 0) {
    return { nobody };
  }
  const finding: Finding = { ...wish, medplum, bookable };
  return { ...(await (visit.series ? findSeries(visit.series, finding) : findSteps(finding))), bookable };
}
