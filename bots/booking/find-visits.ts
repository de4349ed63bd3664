import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, BundleEntry, HealthcareService, OperationOutcome } from '@medplum/fhirtypes';
import { resourcesOfType } from '../../core/booking/resource-set.ts';
import { readsById } from '../../core/booking/search.ts';
import { type Issue, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import { type CalendarSlot, calendarSlot } from '../../core/slots/slot.ts';
import type { Interval } from '../../core/time/interval.ts';
import { DAY, instantOf, localTimeOf } from '../../core/time/time-zone.ts';
import { type Bookable, bookableSchedules, type Frame, openStep, poolOf } from '../../core/visits/openings.ts';
import { findAnswer, type Proposing, proposalBundle } from '../../core/visits/proposal.ts';
import { FIRST_PAGE, namedServiceReads, offeringReads, PAGE, poolReads, slotPage } from '../../core/visits/reads.ts';
import { type FindRequest, parseFind } from '../../core/visits/request.ts';
import { type Proposal, searchVisits } from '../../core/visits/search.ts';
import { bestSeries, type SeriesProposal, seriesStarting, seriesWindows } from '../../core/visits/series.ts';
import { type Pool, plainStep, readVisit, type Series, type Visit, type VisitStep } from '../../core/visits/visit.ts';
import { type Requestor, unavailable } from '../lib/booking/decide.ts';
import { readRole } from '../lib/booking/read-more.ts';
import { callerOf } from '../lib/caller.ts';
import { config } from '../lib/config.ts';
import { newId } from '../lib/new-id.ts';
import { ReadError, readAnswers, readStateAs, stateIn } from '../lib/read.ts';

/** How many free Slots are read for one request. */
const MOST_SLOTS = 40_000;

/** How many days of starts are looked at for a series. */
const MOST_DAYS = 28;

const ADVICE =
  'Ask for a shorter period, for hours of the day (earliest, latest), or name who or what you wish for (actor).';

const tooCostly: Issue = {
  code: 'too-costly',
  diagnostics: `No visit was found before the search became too long. ${ADVICE}`,
  expression: 'Parameters',
};

/** What a search works with. */
interface Finding {
  readonly medplum: MedplumClient;
  readonly caller: Requestor;
  readonly request: FindRequest;
  readonly visit: Visit;
  readonly isPlain: boolean;
  readonly bookable: ReadonlyMap<string, Bookable>;
  readonly frame: Frame;
  /** Until when more may be read; milliseconds since 1970 UTC. */
  readonly deadline: number;
}

/** The free Slots of some Schedules, as far as they were read. */
class Offers {
  readonly ids: readonly string[];
  readonly slots = new Map<string, CalendarSlot[]>();
  readonly byId = new Map<string, CalendarSlot>();
  /** Those that start before are known. */
  until = Number.NEGATIVE_INFINITY;

  constructor(ids: readonly string[]) {
    this.ids = ids;
  }

  add({ resource }: BundleEntry): number {
    const found = resource?.resourceType === 'Bundle' ? (resource.entry ?? []) : [];
    for (const { resource: slot } of found) {
      const known =
        slot?.resourceType === 'Slot' && !this.byId.has(slot.id ?? '') ? calendarSlot(slot, config) : undefined;
      if (known) {
        this.byId.set(known.id, known);
        const own = this.slots.get(known.schedule) ?? [];
        own.push(known);
        this.slots.set(known.schedule, own);
      }
    }
    return found.length;
  }

  /** Pages come by start; windows may overlap, and the first page of one has what began before it. */
  sort(): void {
    for (const own of this.slots.values()) {
      own.sort((one, other) => one.start - other.start || one.end - other.end || (one.id < other.id ? -1 : 1));
    }
  }
}

/**
 * Reads the next page of some offers, or pages from a time on, those before which are of no use.
 *
 * @returns false if nothing more can be read
 */
async function readOn(all: readonly Offers[], from: number, finding: Finding): Promise<boolean> {
  const { medplum, caller, frame, deadline } = finding;
  const { period } = frame;
  const reading = all.filter(({ until }) => until < period.end);
  const pages = reading.map(({ until }) => (until === Number.NEGATIVE_INFINITY ? FIRST_PAGE : PAGE));
  const entries = reading.map(({ ids, until }, index) =>
    from > until
      ? slotPage(ids, { start: from, end: period.end }, undefined, pages[index])
      : slotPage(ids, period, until, pages[index]),
  );
  const answers = await readAnswers(medplum, entries, caller);
  stateIn(answers);
  for (const [index, one] of reading.entries()) {
    const answer = answers[index];
    const count = answer ? one.add(answer) : 0;
    one.sort();
    const last = Math.max(...[...one.byId.values()].map(({ start }) => start));
    const until = count < (pages[index] ?? PAGE) ? Number.POSITIVE_INFINITY : last;
    if (until <= one.until) {
      return false;
    }
    one.until = until;
  }
  const total = all.reduce((sum, { byId }) => sum + byId.size, 0);
  return total < MOST_SLOTS && Date.now() < deadline;
}

/** The visits that were found, and whether there may be more that were not looked for. */
interface FoundVisits {
  readonly visits: readonly Bundle<Appointment>[];
  readonly isCutShort: boolean;
}

const proposingOf = ({ visit, isPlain, bookable, request }: Finding, all: readonly Offers[]): Proposing => ({
  visit,
  isPlain,
  bookable,
  slotOf: (id) => all.map(({ byId }) => byId.get(id)).find((slot) => slot !== undefined),
  patient: request.patient,
  payerKind: request.payerKind,
  newId,
  config,
});

/** The Schedules that can fill a role of a step. */
const schedulesFor = ({ pools }: VisitStep, { bookable, frame }: Finding): string[] =>
  [...new Set(pools.flatMap((pool) => poolOf(pool, bookable, frame).map(({ schedule }) => schedule.id)))].toSorted();

async function findSteps(steps: readonly VisitStep[], finding: Finding): Promise<FoundVisits> {
  const { request, frame, bookable } = finding;
  const shared = new Map<string, Offers>();
  const offers = steps.map((step) => {
    const ids = schedulesFor(step, finding);
    const known = shared.get(ids.join()) ?? new Offers(ids);
    shared.set(ids.join(), known);
    return known;
  });
  const all = [...shared.values()];
  const found: Proposal[] = [];
  let mayRead = await readOn(all, frame.period.start, finding);
  const open = steps.map((step, index) => openStep(step, bookable, offers[index] ?? new Offers([]), frame));
  let search = searchVisits(open);
  let isCutShort = false;
  for (let from = frame.period.start; found.length < request.count && !isCutShort; ) {
    const next = search(from);
    if (next.kind === 'end') {
      break;
    }
    if (next.kind === 'proposal') {
      found.push(next.proposal);
      from = (next.proposal[0]?.start ?? from) + 1;
    } else if (next.kind === 'too-costly' || !mayRead) {
      isCutShort = true;
    } else {
      const wanted = [...new Set(next.steps.flatMap((index) => offers[index] ?? []))];
      mayRead = await readOn(wanted, next.from, finding);
      for (const [index, step] of steps.entries()) {
        const own = offers[index];
        if (own && wanted.includes(own)) {
          open[index] = openStep(step, bookable, own, frame);
        }
      }
      search = searchVisits([...open]);
    }
  }
  const proposing = proposingOf(finding, all);
  return { visits: found.map((one) => proposalBundle(one, proposing)), isCutShort };
}

/** The days of a period by the clocks of the clinic. */
function* daysIn({ start, end }: Interval): Generator<Interval> {
  const { timeZone } = config;
  for (let from = start; from < end; ) {
    const midnight = Math.floor(localTimeOf(timeZone, from) / DAY) * DAY + DAY;
    const to = Math.min(end, instantOf(timeZone, midnight));
    yield { start: from, end: to };
    from = to;
  }
}

/** Reads the free Slots of some Schedules in windows of time. */
async function readWindows(offers: Offers, windows: readonly Interval[], finding: Finding): Promise<boolean> {
  const { medplum, caller, deadline } = finding;
  let open = windows.map((time): { time: Interval; from?: number } => ({ time }));
  while (open.length > 0 && offers.byId.size < MOST_SLOTS && Date.now() < deadline) {
    const answers = await readAnswers(
      medplum,
      open.map(({ time, from }) => slotPage(offers.ids, time, from)),
      caller,
    );
    stateIn(answers);
    open = open.flatMap(({ time, from }, index) => {
      const answer = answers[index];
      const last = answer && offers.add(answer) === PAGE ? lastStart(answer) : undefined;
      return last === undefined || last === from ? [] : [{ time, from: last }];
    });
  }
  offers.sort();
  return open.length === 0;
}

function lastStart({ resource }: BundleEntry): number | undefined {
  const last = resource?.resourceType === 'Bundle' ? resource.entry?.at(-1)?.resource : undefined;
  return last?.resourceType === 'Slot' ? Date.parse(last.start) : undefined;
}

async function findSeries(series: Series, finding: Finding): Promise<FoundVisits> {
  const { request, frame, bookable, visit } = finding;
  const step: VisitStep = { ...plainStep(visit.service), name: '1' };
  const offers = new Offers(schedulesFor(step, finding));
  const found: SeriesProposal[] = [];
  let days = 0;
  let isWhole = true;
  // Whatever starts later is over after the period; where the period is shorter, a part of the series is found.
  const length = (series.count - 1) * series.every * DAY - series.tolerance;
  const starts = { start: frame.period.start, end: Math.max(frame.period.start + DAY, frame.period.end - length) };
  for (const day of daysIn(starts)) {
    const complete = found.filter(({ missing }) => missing === 0).length;
    if (complete >= request.count) {
      break;
    }
    if (days >= MOST_DAYS || !isWhole) {
      isWhole = false;
      break;
    }
    days++;
    const windows = seriesWindows(day, series, config.timeZone).flatMap(({ start, end }) => {
      const within = { start: Math.max(start, frame.period.start), end: Math.min(end, frame.period.end) };
      return within.start < within.end ? [within] : [];
    });
    isWhole = await readWindows(offers, windows, finding);
    const { openings } = openStep(step, bookable, { slots: offers.slots, until: Number.POSITIVE_INFINITY }, frame);
    found.push(...seriesStarting(openings, day, series, config.timeZone));
  }
  const proposing = proposingOf(finding, [offers]);
  const best = bestSeries(found, request.count);
  const visits = best.map(({ proposal, insteadOf }) => proposalBundle(proposal, { ...proposing, insteadOf }));
  return { visits, isCutShort: !isWhole };
}

/** What the visit of a service is, or why it cannot be looked for. */
function visitOf(service: HealthcareService & { id: string }, { without }: FindRequest): Visit | Issue[] {
  const { visit, issues } = readVisit(service, config);
  if (issues.length > 0) {
    const diagnostics = 'The steps of this service cannot be used; the clinic must correct them.';
    return [{ code: 'visit-invalid', diagnostics, expression: 'Parameters' }];
  }
  const steps = visit?.steps ?? [];
  const needed = without.filter((name) => !steps.some((step) => step.name === name && step.isOptional));
  return needed.length === 0
    ? (visit ?? { service: service.id, steps: [plainStep(service.id)], series: undefined, isByStep: false })
    : needed.map((name) => {
        const diagnostics = `The visit has no optional step ${name.slice(0, 80)}.`;
        return { code: 'visit-mismatch', diagnostics, expression: "Parameters.parameter.where(name = 'without')" };
      });
}

/** The Schedules in which this caller can book, of all that the pools name: what it may not read is not there. */
async function readBookable(pools: readonly Pool[], frame: Frame, medplum: MedplumClient, caller: Requestor) {
  const named = await readStateAs(medplum, poolReads(pools), caller);
  const inPools = new Set(pools.flatMap((pool) => (pool.kind === 'service' ? [pool.service] : [])));
  const ofPools = resourcesOfType(named, 'HealthcareService').filter(({ id = '' }) => inPools.has(id));
  const offering = await readStateAs(medplum, offeringReads(ofPools), caller);
  const schedules = resourcesOfType(new Map([...named, ...offering]), 'Schedule');
  const known = new Set(ofPools.map(({ id = '' }) => id));
  const others = await readStateAs(medplum, namedServiceReads(schedules, known), caller);
  return bookableSchedules(schedules, [...ofPools, ...resourcesOfType(others, 'HealthcareService')], frame);
}

/** How long visits are looked for, as a share of the time that Medplum may take to answer. */
const SHARE = 0.4;

async function find(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Bundle | Issue[]> {
  const caller = callerOf(event);
  const now = Date.now();
  const { request, issues } = parseFind(event.input, now, config);
  if (!request) {
    return [...issues];
  }
  const [role, read] = await Promise.all([
    caller.role ?? readRole(medplum, caller.authorization),
    readStateAs(medplum, readsById('HealthcareService', [request.service]), caller),
  ]);
  const [service] = resourcesOfType(read, 'HealthcareService');
  if (!service) {
    const diagnostics = `There is no HealthcareService/${request.service}.`;
    return [{ code: 'service-not-found', diagnostics, expression: "Parameters.parameter.where(name = 'service')" }];
  }
  const stored = { ...service, id: request.service };
  const visit = visitOf(stored, request);
  if (Array.isArray(visit)) {
    return visit;
  }
  const { period, hours, actors, payerKind } = request;
  const frame: Frame = { period, hours, actors, payerKind, role, now, config };
  const steps = visit.steps.filter(({ name }) => !request.without.includes(name));
  const wanted = visit.series ? [{ ...plainStep(visit.service), name: 'the series' }] : steps;
  const pools = wanted.flatMap((step) => step.pools);
  const bookable = await readBookable(pools, frame, medplum, caller);
  const nobody = wanted.filter(
    (step) => !step.isOptional && step.pools.some((pool) => poolOf(pool, bookable, frame).length === 0),
  );
  if (nobody.length > 0) {
    return nobody.map(({ name }) => {
      const diagnostics = `There is nobody with whom you can book ${name || 'this service'}: ask the clinic.`;
      return { code: 'schedule-not-found', diagnostics, expression: "Parameters.parameter.where(name = 'service')" };
    });
  }
  const deadline = now + config.timeout * 1_000 * SHARE;
  const isPlain = !readVisit(stored, config).visit;
  const finding: Finding = { medplum, caller, request, visit, isPlain, bookable, frame, deadline };
  const { visits, isCutShort } = await (visit.series ? findSeries(visit.series, finding) : findSteps(steps, finding));
  return isCutShort && visits.length === 0 ? [tooCostly] : findAnswer(visits, isCutShort ? ADVICE : undefined, config);
}

/**
 * Carries out `$find`: proposes visits that this caller can book now. Everything is read with the caller's rights: what it
 * may not see neither fills a role nor shows in an error.
 *
 * @param event - input: Parameters; headers: those of the request, for the caller's credentials
 * @returns a Bundle of proposals, each a Bundle of appointments, or an OperationOutcome whose id stands for the HTTP status
 */
export async function handler(medplum: MedplumClient, event: BotEvent<unknown>): Promise<Bundle | OperationOutcome> {
  try {
    const found = await find(medplum, event);
    return Array.isArray(found) ? toOperationOutcome(found, config) : found;
  } catch (error) {
    if (error instanceof ReadError) {
      return toOperationOutcome(
        [{ ...unavailable, diagnostics: 'The FHIR server could not be read; try again in a moment.' }],
        config,
      );
    }
    throw error;
  }
}
