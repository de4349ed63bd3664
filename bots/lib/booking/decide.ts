import type { MedplumClient } from '@medplum/core';
import type { Appointment, BundleEntry, Reference, Resource, Task } from '@medplum/fhirtypes';
import { hasEnded, type PersonalOffer } from '../../../core/booking/appointment/expiry.ts';
import {
  fragmentReads,
  fragmentsIn,
  merged,
  type ScheduleTime,
  slotsAtReads,
} from '../../../core/booking/appointment/reads.ts';
import type { BookingContext, Histories, Knowledge, Nearby } from '../../../core/booking/booking/apply-policy.ts';
import { schedulesIn } from '../../../core/booking/booking/booking-calendar.ts';
import type { Following } from '../../../core/booking/booking/following.ts';
import { slotsOfVersions } from '../../../core/booking/booking/idempotency.ts';
import { leadingReads, namedReads, withSlots } from '../../../core/booking/booking/reads.ts';
import { openTasksOf } from '../../../core/booking/jobs/confirmation-task.ts';
import type { Role } from '../../../core/booking/policy/caller-rights.ts';
import {
  countedReads,
  holdQuota,
  limitsReached,
  type Quota,
  quotaKey,
  quotaRow,
  quotaRowSearch,
  type RequestorLimit,
  requestorLimitReads,
  type Usage,
} from '../../../core/booking/policy/quota.ts';
import type { BookRequest, ParsedRequest, Purpose } from '../../../core/booking/request/request.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { timeOf } from '../../../core/fhir/instant.ts';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { byId, type ResourceSet, resourceSet, resourcesOfType } from '../../../core/rows/resource-set.ts';
import { creation, rowSearch } from '../../../core/rows/row.ts';
import { readsById, searchByIds, searchUrl } from '../../../core/rows/search.ts';
import { lateAppointments, reservationsIn } from '../../../core/slots/reservation.ts';
import { calendarOf, slotIdsOf } from '../../../core/slots/slot.ts';
import { reachOf } from '../../../core/slots/terms.ts';
import { contains, overlaps } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import {
  type BookingPlan,
  followingReads,
  patientsToRead,
  planBooking,
  type Reading,
  siblingReads,
  visitServices,
} from '../../../core/visits/plan.ts';
import { releaseRows } from '../../../core/waitlist/release.ts';
import { readRole } from '../caller.ts';
import { mapConcurrently } from '../concurrency.ts';
import { config } from '../config.ts';
import { isRateLimit, newId, RATE_LIMIT, sendTransaction } from '../medplum.ts';
import {
  ofType,
  ReadError,
  readByIds,
  readHistories,
  readInBatch,
  readInTransaction,
  readOpenTimes,
  readResponses,
  readRest,
  readStateAs,
  readSurvivors,
  readWhole,
  stateIn,
} from '../read.ts';

/** The requestor with whose rights a request is read. */
interface Reader {
  /** Id of the requestor's profile. */
  readonly id: string;
  /** The credentials to read with; by default the Bot's own. */
  readonly authorization?: string | undefined;
  /** Removes resources that the requestor may not see; needed where the Bot's credentials are used. */
  readonly narrow?: (state: ResourceSet) => ResourceSet;
  /** The role in which the requestor acts, if Medplum cannot be asked with its credentials. */
  readonly role?: Role | undefined;
}

const urlOf = ({ request }: BundleEntry): string => request?.url ?? '';

/** Whether a search is for the rows with reservations, which no caller needs to see. */
const isForRows = (entry: BundleEntry): boolean => urlOf(entry).startsWith('Task?');

const unique = (entries: readonly BundleEntry[]): BundleEntry[] => [
  ...new Map(entries.map((entry) => [urlOf(entry), entry])).values(),
];

/** Reads the Slots of the searches with the Bot's own rights, and then the rows with their reservations. */
async function readSlots(medplum: MedplumClient, searches: readonly BundleEntry[]): Promise<ResourceSet> {
  const slots = searches.filter((entry) => urlOf(entry).startsWith('Slot?'));
  const urls = [...slots, ...searches.filter(isForRows)].map(urlOf);
  return resourceSet(slots.length > 0 ? (await readInBatch(medplum, urls)).flat() : []);
}

/**
 * Slots are written back whole, including the clinic's notes, which the caller does not see. If a Slot was read twice,
 * the earlier copy wins with its version: the resources around it are as old.
 */
async function withNotes(
  medplum: MedplumClient,
  shown: ResourceSet,
  known: ResourceSet,
  searches: readonly BundleEntry[],
): Promise<ResourceSet> {
  const lacking = resourcesOfType(shown, 'Slot').flatMap(({ id = '' }) => (known.has(`Slot/${id}`) ? [] : id));
  const more = await readSlots(medplum, [...searchByIds('Slot', lacking), ...searches.filter(isForRows)]);
  const rows = [...known, ...more].filter(([, { resourceType }]) => resourceType === 'Task');
  const earlier = (key: string, resource: Resource): Resource => {
    const whole = known.get(key) ?? more.get(key) ?? resource;
    return (whole.meta?.lastUpdated ?? '') <= (resource.meta?.lastUpdated ?? '') ? whole : resource;
  };
  return new Map([...[...shown].map(([key, one]) => [key, earlier(key, one)] as const), ...rows]);
}

/** The references of the resources that a search by ids asks for; for any other search, its URL. */
function askedBy(entry: BundleEntry): string[] {
  const [type, query] = urlOf(entry).split('?');
  const ids = new URLSearchParams(query).get('_id');
  return ids === null ? [urlOf(entry)] : ids.split(',').map((id) => `${type}/${id}`);
}

/**
 * Reads the resources that a request references, directly or not, with the caller's rights. Slots are then replaced by
 * their complete copies, and reservations added, with the Bot's rights (`withNotes`).
 */
async function readState(
  medplum: MedplumClient,
  { appointments, leads }: BookRequest,
  { id, authorization, narrow = (state) => state }: Reader,
  counts: readonly BundleEntry[],
): Promise<{ readonly state: ResourceSet; readonly counted: readonly BundleEntry[] }> {
  const named = unique(appointments.flatMap((appointmentRequest) => namedReads(appointmentRequest, id, config, leads)));
  const led = readsById('HealthcareService', leads?.services ?? []);
  const shownOf = (entries: readonly BundleEntry[]) =>
    authorization === undefined ? entries : entries.filter((entry) => !isForRows(entry));
  const wanted = [...shownOf(named), ...led];
  const [responses, whole] = await Promise.all([
    readResponses(medplum, [...wanted, ...counts], { authorization }),
    authorization === undefined ? undefined : readSlots(medplum, named),
  ]);
  const rest = await readRest(medplum, wanted, responses, { authorization });
  let state = new Map([...stateIn(responses.slice(0, wanted.length)), ...resourceSet(rest)]);
  const searches = [...named];
  const asked = new Set(named.flatMap(askedBy));
  for (;;) {
    const more = unique([
      ...appointments.flatMap((appointmentRequest) => leadingReads(appointmentRequest, state, config, leads)),
      ...siblingReads(appointments, withSlots, state, config),
    ]).filter((entry) => askedBy(entry).some((reference) => !asked.has(reference)));
    if (more.length === 0) {
      break;
    }
    for (const reference of more.flatMap(askedBy)) {
      asked.add(reference);
    }
    searches.push(...more);
    const found = await readResponses(medplum, [...shownOf(more)], { authorization });
    const others = await readRest(medplum, shownOf(more), found, { authorization });
    state = new Map([...stateIn(found), ...resourceSet(others), ...state]);
  }
  const complete = whole ? await withNotes(medplum, state, whole, searches) : state;
  return { state: narrow(complete), counted: responses.slice(wanted.length) };
}

/** The late appointments of reservations near the request: a day of margin covers any buffer. */
function lateIn(state: ResourceSet, { appointments }: BookRequest, now: number): string[] {
  const times = appointments.flatMap(({ interval }) =>
    interval ? [{ start: interval.start - DAY, end: interval.end + DAY }] : [],
  );
  const reservations = resourcesOfType(state, 'Task').flatMap((row) => reservationsIn(row, now, config));
  return lateAppointments(reservations, times, now);
}

/**
 * The first read: all resources that a request references, directly or not. Merged patients, services of a visit and
 * reserved appointments are read with the Bot's own rights, because the caller may not see them.
 * @param counts - the searches for limits of the requestor; `counted` has their responses
 */
async function readNamed(
  medplum: MedplumClient,
  parsed: ParsedRequest & { readonly request: BookRequest },
  reader: Reader,
  counts: readonly BundleEntry[],
  context: BookingContext,
): Promise<{ readonly reading: Reading; readonly counted: readonly BundleEntry[] }> {
  const { request } = parsed;
  const { state, counted } = await readState(medplum, request, reader, counts);
  const { merged: mergedIds, ambiguous } = patientsToRead(parsed, { state, known: {} }, context);
  const services = visitServices(request.appointments, state, config);
  const [visits, patients, authored, openTimes] = await Promise.all([
    readStateAs(medplum, searchByIds('HealthcareService', services), {}),
    readByIds(medplum, 'Patient', mergedIds).then((found) => readSurvivors(medplum, byId(ofType('Patient', found)))),
    readByIds(medplum, 'Patient', ambiguous),
    readOpenTimes(medplum, lateIn(state, request, context.now)),
  ]);
  const known: Knowledge = { role: reader.role, openTimes, ...(mergedIds.length > 0 && { patients }) };
  return { reading: { state: new Map([...state, ...resourceSet(authored)]), visits, known }, counted };
}

interface FollowingContext {
  readonly reader: Reader;
  readonly request: BookRequest;
  readonly reading: Reading;
  readonly now: number;
  readonly isDry: boolean;
}

/** Margin around the slots of an expired hold within which other Slots matter, in milliseconds. */
const reachIn = ({ state }: Reading): number => reachOf(schedulesIn({ state }), config);

/** Reads the Slots around a booking with their appointments; also around each expired hold that it finds there. */
async function readNearby(
  medplum: MedplumClient,
  following: Pick<Following, 'rewritten' | 'origins' | 'times'>,
  { request, reading, now }: FollowingContext,
): Promise<Nearby | undefined> {
  let { origins, times } = following;
  if (origins.length + times.length === 0) {
    return undefined;
  }
  const intervals = request.appointments.flatMap(({ interval }) => interval ?? []);
  const isOver = (appointment: Appointment): boolean => {
    const time = timeOf(appointment);
    return (
      time !== undefined && hasEnded(appointment, now, config) && intervals.some((interval) => overlaps(time, interval))
    );
  };
  const [asked, read, reach] = [new Set<string>(), [] as ScheduleTime[], reachIn(reading)];
  const found: Resource[] = [];
  for (;;) {
    for (const origin of origins) {
      asked.add(origin);
    }
    read.push(...times);
    const focus = [...new Set(times.map(({ schedule }) => `Schedule/${schedule}`))].join(',');
    const rows = focus ? [{ request: { method: 'GET' as const, url: rowSearch(['publish'], { focus }, config) } }] : [];
    const fragments = origins.length > 0 ? fragmentReads(origins, artefactUri(config, 'LocalSlotOrigin')) : [];
    found.push(...(await readWhole(medplum, [...fragments, ...slotsAtReads(merged(times)), ...rows])));
    const { expired = [], ...known } = fragmentsIn(resourceSet(found), following.rewritten, isOver);
    const calendar = calendarOf(known.slots, config);
    const ids = expired.flatMap(slotIdsOf);
    origins = [...new Set(ids.map((id) => calendar.get(id)?.origin ?? id))].filter((id) => !asked.has(id));
    times = ids
      .flatMap((id) => calendar.get(id) ?? [])
      .map(({ schedule, start, end }) => ({ schedule, start: start - reach, end: end + reach }))
      .filter(
        (time) => !read.some((scheduleTime) => scheduleTime.schedule === time.schedule && contains(scheduleTime, time)),
      );
    if (origins.length + times.length === 0) {
      return { ...known, expired, rows: ofType('Task', found) };
    }
  }
}

/** Maximum number of versions that are read of an appointment, latest first. */
const VERSIONS = 100;

/** Reads the versions of appointments that the caller may read, and their Slots at the time of the booking. */
async function readHistoriesOf(
  medplum: MedplumClient,
  ids: readonly string[],
  { request }: FollowingContext,
): Promise<Histories> {
  const found = await readHistories(
    medplum,
    ids.map((id) => `Appointment/${id}/_history?_count=${VERSIONS}`),
  );
  const versions = found.map(({ entry = [] }) =>
    ofType(
      'Appointment',
      entry.flatMap(({ resource }) => resource ?? []),
    ).reverse(),
  );
  const intervals = request.appointments.flatMap(({ interval }) => interval ?? []);
  const slots = slotsOfVersions(versions.flat(), intervals);
  const then = await readInBatch(medplum, slots.length > 0 ? [`Slot?_id=${slots.join(',')}&_count=1000`] : []);
  return {
    versions: new Map(ids.map((id, index) => [id, versions[index] ?? []])),
    slots: ofType('Slot', then.flat()),
  };
}

/** Maximum number of searches for the row of a quota: another request may be creating it. */
const ATTEMPTS = 5;

/** Number of quotas that are counted at the same time: each participating patient has one. */
const QUOTA_CONCURRENCY = 4;

/**
 * Reads the row of a quota and the appointments that count for it in one transaction, so that no booking in between is
 * missed. Slots, Schedules and patients can be read later. A missing row is created by a conditional create, so that
 * concurrent requests create only one.
 */
async function readUsage(
  medplum: MedplumClient,
  quota: Quota,
  { isDry }: Pick<FollowingContext, 'isDry'>,
): Promise<readonly [string, Usage]> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [rows, ...lists] = await readInTransaction(medplum, [
      quotaRowSearch(quota, config),
      ...quota.queries.map((query) => searchUrl('Appointment', query)),
    ]);
    const found = lists.flat();
    const [row] = ofType('Task', rows);
    if (row || isDry) {
      const counted = countedReads(quota, ofType('Appointment', found)).map(urlOf);
      return [
        quotaKey(quota),
        { row, found: resourceSet([...found, ...(await readInBatch(medplum, counted)).flat()]) },
      ];
    }
    await sendTransaction(medplum, [creation(quotaRow(quota, config), quotaRowSearch(quota, config))]);
  }
  throw new ReadError('The row of a quota could not be created.');
}

/**
 * Reads the quota of a requestor's holds, in parallel with the first read. If its row does not exist yet, the second
 * read creates it.
 */
async function readHolds(medplum: MedplumClient, requestor: string, now: number): Promise<Knowledge['usage']> {
  const [key, usage] = await readUsage(medplum, holdQuota({ requestor, now, config }), { isDry: true });
  return new Map(usage.row ? [[key, usage]] : []);
}

async function readTasks(medplum: MedplumClient, ids: readonly string[]): Promise<Task[]> {
  const found = await readInBatch(medplum, ids.length > 0 ? [openTasksOf(ids, config)] : []);
  return ofType('Task', found.flat());
}

/**
 * The second read: all resources that follow from the first one, in parallel. It uses the Bot's own rights, because
 * appointments of other requestors count, too. None of these resources reach the caller.
 */
async function readFollowing(
  medplum: MedplumClient,
  all: readonly Following[],
  context: FollowingContext,
): Promise<Knowledge> {
  const ids = (name: 'ofOthers' | 'rewritten' | 'origins' | 'waiting' | 'repeated'): string[] => [
    ...new Set(all.flatMap((one) => one[name])),
  ];
  const around = {
    rewritten: ids('rewritten'),
    origins: ids('origins'),
    times: merged(all.flatMap(({ times }) => times)),
  };
  const { known } = context.reading;
  const quotas = new Map(all.flatMap((one) => one.quotas.map((quota) => [quotaKey(quota), quota])));
  const uncounted = [...quotas.values()].filter((quota) => !known.usage?.has(quotaKey(quota)));
  const asksForRole = all.some((one) => one.asksForRole);
  const [role, nearby, usage, tasks, histories] = await Promise.all([
    asksForRole ? readRole(medplum, context.reader.authorization, ids('ofOthers')) : known.role,
    readNearby(medplum, around, context),
    mapConcurrently(uncounted, QUOTA_CONCURRENCY, (quota) => readUsage(medplum, quota, context)),
    readTasks(medplum, ids('waiting')),
    readHistoriesOf(medplum, ids('repeated'), context),
  ]);
  return { ...known, role, nearby, usage: new Map([...(known.usage ?? []), ...usage]), tasks, histories };
}

export interface Requestor extends Reader {
  /** Reference to the profile, with `display` if Medplum has it. */
  readonly reference?: Reference | undefined;
  /** The limits to check; by default those of a synchronous booking. */
  readonly limits?: readonly RequestorLimit[];
}

export interface BookingDecision {
  readonly plan: BookingPlan;
  readonly state: ResourceSet;
}

export interface DecisionOptions {
  readonly purpose?: Purpose | undefined;
  /** Whether this is a dry run, which writes nothing, not even the row of a quota. */
  readonly isDry?: boolean | undefined;
  readonly offer?: PersonalOffer | undefined;
}

export const unavailable: Issue = {
  code: 'upstream-unavailable',
  diagnostics: 'The FHIR server could not be read. Nothing was booked; try again in a moment.',
};

/**
 * Returns the issue for a failed read or for Medplum's rate limit.
 * @throws any other error: it is unknown what was written
 */
export function unavailableFor(error: unknown): Issue {
  if (isRateLimit(error)) {
    return { ...unavailable, diagnostics: RATE_LIMIT };
  }
  if (error instanceof ReadError) {
    return unavailable;
  }
  throw error;
}

const undecided = (issue = unavailable): BookingDecision => ({
  plan: { kind: 'refuse', issues: [issue] },
  state: new Map(),
});

export type ReadableRequest = ParsedRequest & { readonly request: BookRequest };

/** Reads in two steps what a booking or a hold depends on, and decides. A failed read is a refusal, not an error. */
export async function decideBooking(
  medplum: MedplumClient,
  parsed: ReadableRequest,
  requestor: Requestor,
  { purpose, isDry = false, offer }: DecisionOptions = {},
): Promise<BookingDecision> {
  const { id, reference, limits = ['open', 'rate'] } = requestor;
  const now = Date.now();
  const { request } = parsed;
  const { length } = request.appointments;
  const base = { now, requestor: id, requester: reference, config, newId, purpose, offer, onReleased: releaseRows };
  const counts = requestorLimitReads(limits, id, now, config, length);
  try {
    const [{ reading: named, counted }, usage] = await Promise.all([
      readNamed(medplum, parsed, requestor, counts, base),
      purpose === 'hold' ? readHolds(medplum, id, now).catch(() => undefined) : undefined,
    ]);
    const reached = limitsReached(limits, counted);
    if (!reached) {
      return undecided();
    }
    const context = { ...base, reached };
    const reading = { ...named, known: { ...named.known, usage } };
    const following = followingReads(parsed, reading, context);
    const known = await readFollowing(medplum, following, { reader: requestor, request, reading, now, isDry });
    return { plan: planBooking(parsed, { ...reading, known }, context), state: named.state };
  } catch (error) {
    return undecided(unavailableFor(error));
  }
}
