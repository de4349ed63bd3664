import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, Reference, Resource } from '@medplum/fhirtypes';
import type { Offer } from '../../../core/booking/appointment/expiry.ts';
import { type BookingContext, type Knowledge, learned } from '../../../core/booking/booking/knowledge.ts';
import { type BookingPlan, planBooking } from '../../../core/booking/booking/plan.ts';
import {
  bookingReads,
  furtherReads,
  isMisled,
  missingSlotReads,
  servicesLedTo,
} from '../../../core/booking/booking/reads.ts';
import type { Role } from '../../../core/booking/policy/caller-role.ts';
import { holdQuota, quotaKey } from '../../../core/booking/policy/quota.ts';
import {
  limitsReached,
  type RequestorLimit,
  requestorLimitReads,
} from '../../../core/booking/policy/requestor-limits.ts';
import { type BookRequest, eachOf, type ParsedRequest, type Purpose } from '../../../core/booking/request/request.ts';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { type ResourceSet, resourceSet, resourcesOfType } from '../../../core/rows/resource-set.ts';
import { readsById, searchByIds } from '../../../core/rows/search.ts';
import { lateAppointments, reservationsIn } from '../../../core/slots/reservation.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { refillRows } from '../../../core/waitlist/refill.ts';
import { readOpenTimes } from '../calendar/guard.ts';
import { config } from '../config.ts';
import { isRateLimit, newId, RATE_LIMIT } from '../medplum.ts';
import { ReadError, readAnswers, readInBatch, readRest, readStateAs, stateIn } from '../read.ts';
import { readMore } from './read-more.ts';

/** On whose behalf a booking is decided. */
export interface Requestor {
  /** Id of the requestor's profile. */
  readonly id: string;
  /** The profile as a reference, with its name if Medplum gives it. */
  readonly reference?: Reference | undefined;
  /** The credentials to read with; by default the Bot's own. */
  readonly authorization?: string | undefined;
  /** Narrows what was read down to what the requestor may see; needed where it is read with the Bot's credentials. */
  readonly narrow?: (state: ResourceSet) => ResourceSet;
  /** The limits of the installation that are checked; by default those of a booking while the caller waits. */
  readonly limits?: readonly RequestorLimit[];
  /** The role in which the requestor acts, if Medplum cannot be asked with its credentials. */
  readonly role?: Role | undefined;
}

/** A decision and the state on which it is based. */
export interface BookingDecision {
  readonly plan: BookingPlan;
  readonly state: ResourceSet;
}

/** How a booking is decided. */
export interface DecisionOptions {
  /** What the request is for; by default a booking. */
  readonly purpose?: Purpose | undefined;
  /** Whether this is a dry run: then nothing is written while deciding, not even the row of a quota. */
  readonly isDry?: boolean | undefined;
  /** What the service offers with it, if it does. */
  readonly offer?: Offer | undefined;
}

/** Something could not be read. */
export const unavailable: Issue = {
  code: 'upstream-unavailable',
  diagnostics: 'The FHIR server could not be read. Nothing was booked; try again in a moment.',
};

/**
 * What is said where something could not be read, or Medplum takes nothing more for now.
 *
 * @throws the error, if it is another one: nobody knows what was written
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

/** The decision when something could not be read. */
const undecided = (issue = unavailable): BookingDecision => ({
  plan: { kind: 'refuse', issues: [issue] },
  state: new Map(),
});

/** How often the rules are asked while a decision turns out to depend on more. */
const MOST_ROUNDS = 8;

/** Asks the rules, reads what they ask for, and asks them again. */
async function decideWith(
  medplum: MedplumClient,
  parsed: ReadableRequest,
  state: ResourceSet,
  context: BookingContext,
  atFirst: Knowledge,
  { authorization }: Requestor,
  isDry: boolean,
): Promise<BookingPlan> {
  let known = atFirst;
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const plan = planBooking(parsed, state, context, known);
    if (plan.kind !== 'read') {
      return plan;
    }
    const intervals = eachOf(parsed.request).flatMap(({ interval }) => interval ?? []);
    const reading = { authorization, now: context.now, intervals, isDry };
    known = learned(known, await readMore(medplum, plan.wanted, reading));
  }
  return undecided().plan;
}

/** A request that could be read. */
export type ReadableRequest = ParsedRequest & { readonly request: BookRequest };

/**
 * The holds of a requestor, read while the rest is read. Where nothing keeps count of them yet, that is left to whoever
 * asks: it creates the row.
 */
async function readHolds(medplum: MedplumClient, requestor: string, now: number): Promise<Knowledge> {
  const quota = holdQuota({ requestor, now, config });
  const reading = { now, intervals: [], isDry: true };
  const { usage } = await readMore(medplum, { usage: [quota] }, reading).catch((): Knowledge => ({}));
  return usage?.get(quotaKey(quota))?.row ? { usage } : {};
}

/** Whether a search is for the rows with reservations: no caller needs to see them. */
const isForRows = ({ request }: BundleEntry): boolean => request?.url.startsWith('Task?') ?? false;

/** The Slots that some searches find, as the clinic sees them, and then the rows with their reservations. */
async function readSlots(medplum: MedplumClient, searches: readonly BundleEntry[]): Promise<ResourceSet> {
  const slots = searches.filter(({ request }) => request?.url.startsWith('Slot?'));
  const urls = [...slots, ...searches.filter(isForRows)].flatMap(({ request }) => request?.url ?? []);
  return resourceSet(slots.length > 0 ? (await readInBatch(medplum, urls)).flat() : []);
}

/**
 * Slots are written back whole: with what the clinic notes at them, which the caller is not shown. Of two copies the earlier
 * one counts, with its version: what was read around it is as old.
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
  const earlier = (key: string, one: Resource): Resource => {
    const whole = known.get(key) ?? more.get(key) ?? one;
    return (whole.meta?.lastUpdated ?? '') <= (one.meta?.lastUpdated ?? '') ? whole : one;
  };
  return new Map([...[...shown].map(([key, one]) => [key, earlier(key, one)] as const), ...rows]);
}

/** The appointments that reservations in the way of a request announced a while ago. */
function lateIn(state: ResourceSet, request: BookRequest, now: number): string[] {
  const times = eachOf(request).flatMap(({ interval }) => (interval ? [withReach(interval)] : []));
  const reservations = resourcesOfType(state, 'Task').flatMap((row) => reservationsIn(row, now, config));
  return lateAppointments(reservations, times, now);
}

/** A time with whatever buffers its service may have. */
const withReach = ({ start, end }: Interval): Interval => ({ start: start - DAY, end: end + DAY });

/**
 * Reads what a booking or a hold depends on, and asks the rules.
 *
 * @param parsed - the request, which must have been readable
 */
export async function decideBooking(
  medplum: MedplumClient,
  parsed: ReadableRequest,
  requestor: Requestor,
  { purpose, isDry = false, offer }: DecisionOptions = {},
): Promise<BookingDecision> {
  const { id, reference, authorization, role, limits = ['open', 'rate'], narrow = (state) => state } = requestor;
  const now = Date.now();
  const { request } = parsed;
  const all = bookingReads(request, id, config).entry ?? [];
  const wanted = authorization === undefined ? all : all.filter((one) => !isForRows(one));
  const led = readsById('HealthcareService', request.leads?.services ?? []);
  const asked = wanted.length > 0 ? limits : [];
  const counts = requestorLimitReads(asked, id, now, config, eachOf(request).length);
  const holds = purpose === 'hold' && wanted.length > 0 ? readHolds(medplum, id, now) : undefined;
  try {
    const [answers, whole] = await Promise.all([
      readAnswers(medplum, [...wanted, ...led, ...counts], { authorization }),
      authorization === undefined ? undefined : readSlots(medplum, all),
    ]);
    const found = stateIn(answers.slice(0, wanted.length));
    const services = stateIn(answers.slice(wanted.length, wanted.length + led.length));
    const missing = await readStateAs(medplum, missingSlotReads(request, found), { authorization });
    const rest = await readRest(medplum, wanted, answers, { authorization });
    const read = new Map([...found, ...missing, ...resourceSet(rest)]);
    const offered = await readStateAs(medplum, furtherReads(request, read, config), { authorization });
    const shown = new Map([...offered, ...read]);
    const state = narrow(whole ? await withNotes(medplum, shown, whole, all) : shown);
    if (isMisled(request, state)) {
      const anew = { ...parsed, request: { ...request, leads: undefined } };
      return await decideBooking(medplum, anew, requestor, { purpose, isDry, offer });
    }
    const reached = limitsReached(asked, answers.slice(wanted.length + led.length));
    if (!reached) {
      return undecided();
    }
    const announced = await readOpenTimes(medplum, lateIn(state, request, now));
    const known = { role, services: servicesLedTo(request, state, services), announced, ...(await holds) };
    const context: BookingContext = {
      now,
      requestor: id,
      requester: reference,
      config,
      newId,
      purpose,
      reached,
      offer,
      onReleased: refillRows,
    };
    return { plan: await decideWith(medplum, parsed, state, context, known, requestor, isDry), state };
  } catch (error) {
    return undecided(unavailableFor(error));
  }
}
