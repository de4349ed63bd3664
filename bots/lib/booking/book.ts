import type { MedplumClient } from '@medplum/core';
import type { Appointment, Bundle } from '@medplum/fhirtypes';
import { type BookingContext, type BookingPlan, planBooking } from '../../../core/booking/book/plan.ts';
import { bookingReads } from '../../../core/booking/book/reads.ts';
import type { BookRequest, ParsedRequest } from '../../../core/booking/book/request.ts';
import { bookingRejectionIssues } from '../../../core/booking/book/server-rejection.ts';
import { type ResourceSet, resourcesOfType } from '../../../core/booking/resource-set.ts';
import { readState } from '../../../core/booking/search.ts';
import { fragmentReads, readFragments } from '../../../core/booking/slots/fragments.ts';
import { unmarkedIn } from '../../../core/booking/slots/takings.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { timeLimits } from '../../../core/config/time-limits.ts';
import { bookingErrors } from '../../../core/fhir/errors.ts';
import type { Issue } from '../../../core/fhir/outcome.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { config } from '../config.ts';
import { type Attempts, retryOvertaken, sendBundle } from '../medplum.ts';
import { newId } from '../new-id.ts';
import { ReadError } from '../read.ts';
import { readOffered } from './offered.ts';

/** On whose behalf a booking is decided. */
export interface Requestor {
  /** Id of the requestor's profile. */
  readonly id: string;
  /** The credentials to read with; without them the Bot's own. */
  readonly authorization?: string | undefined;
  /** Narrows what was read down to what the requestor may see; needed where it is read with the Bot's credentials. */
  readonly narrow?: (state: ResourceSet) => ResourceSet;
}

/** What came of a booking. */
export type BookingResult =
  | { readonly kind: 'booked' | 'existing'; readonly appointment: Appointment }
  | { readonly kind: 'refused'; readonly issues: readonly Issue[] };

/** A decision, and what it was based on. */
export interface BookingDecision {
  readonly plan: BookingPlan;
  readonly state: ResourceSet;
}

const unavailable: Issue = {
  code: 'upstream-unavailable',
  diagnostics: 'The FHIR server could not be read. Nothing was booked; try again in a moment.',
};

/** The server has carried the transaction out, but its answer does not show the appointment. */
const unseen: Issue = {
  code: 'upstream-unavailable',
  diagnostics:
    'The FHIR server did not return the booked appointment: send the request again with the same Appointment.identifier.',
};

const contested: Issue = {
  code: 'booking-conflict',
  diagnostics: 'Other requests booked the same slots at the same moment. Nothing was booked; try again.',
};

/** The decision when something could not be read, whatever the reason. */
const undecided: BookingDecision = { plan: { kind: 'refuse', issues: [unavailable] }, state: new Map() };

/**
 * The same state, with the authors of its patients: Medplum names them on demand only, and they tell the duplicates that
 * simultaneous bookings have created from patients that a portal has submitted.
 */
async function withAuthors(medplum: MedplumClient, state: ResourceSet): Promise<ResourceSet> {
  const ids = resourcesOfType(state, 'Patient').flatMap(({ id }) => id ?? []);
  const query = new URLSearchParams({ _id: ids.join(','), _count: String(ids.length) });
  const patients = await medplum.searchResources('Patient', query, { cache: 'reload' });
  return new Map([...state, ...patients.map((patient) => [`Patient/${patient.id}`, patient] as const)]);
}

const isAmbiguous = (plan: BookingPlan): boolean =>
  plan.kind === 'refuse' && plan.issues.some(({ code }) => code === 'patient-ambiguous');

/** Those Slots that were once free; `undefined` if the server did not say. */
async function offeredAmong(medplum: MedplumClient, ids: readonly string[]): Promise<Set<string> | undefined> {
  try {
    return await readOffered(medplum, ids);
  } catch (error) {
    if (error instanceof ReadError) {
      return undefined;
    }
    throw error;
  }
}

/**
 * Reads what a booking depends on, and asks the rules.
 *
 * @param parsed - the request, which must have been readable
 */
export async function decideBooking(
  medplum: MedplumClient,
  parsed: ParsedRequest & { readonly request: BookRequest },
  { id, authorization, narrow = (state) => state }: Requestor,
): Promise<BookingDecision> {
  const now = Date.now();
  const reads = bookingReads(parsed.request, id, config);
  const isAnything = (reads.entry ?? []).length > 0;
  const read = isAnything
    ? await sendBundle(medplum, reads, { authorization })
    : ({ kind: 'done', bundle: reads } as const);
  const found = read.kind === 'done' ? readState(read.bundle) : undefined;
  if (!found || 'status' in found) {
    return undecided;
  }
  const seen = narrow(found.state);
  const { interval } = parsed.request;
  const unmarked = interval ? unmarkedIn(found.state, interval, config) : [];
  const offered = await offeredAmong(medplum, unmarked);
  if (!offered) {
    return undecided;
  }
  const context: BookingContext = { now, requestor: id, config, newId, offered };
  const first = planBooking(parsed, seen, context);
  const state = isAmbiguous(first) ? await withAuthors(medplum, seen) : seen;
  const plan = state === seen ? first : planBooking(parsed, state, context);
  if (plan.kind !== 'read-fragments') {
    return { plan, state };
  }
  const more = await sendBundle(medplum, fragmentReads(plan.origins, artefactUri(config, 'LocalSlotOrigin')));
  const fragments = more.kind === 'done' ? readFragments(more.bundle, plan.rewritten) : undefined;
  return fragments && 'slots' in fragments
    ? { plan: planBooking(parsed, state, context, fragments), state }
    : undecided;
}

/** Adds to the transaction of a booking what must be written together with it. */
export type Extend = (transaction: Bundle, newId: () => string) => Bundle;

/** What became of one attempt: the end of the booking, or that it must be decided anew. */
type Attempt = BookingResult | { readonly kind: 'again'; readonly issue: Issue };

/** After a lost answer only a request that can be told from another one can be decided anew without booking twice. */
function isRepeatable({ appointment }: BookRequest): boolean {
  return appointment.value.identifier?.some(({ value }) => value) ?? false;
}

const refused = (...issues: readonly Issue[]): BookingResult => ({ kind: 'refused', issues });

async function write(medplum: MedplumClient, request: BookRequest, transaction: Bundle): Promise<Attempt> {
  const written = await sendBundle(medplum, transaction);
  switch (written.kind) {
    case 'done': {
      const booked = written.bundle.entry?.[0]?.resource;
      return isResource(booked, 'Appointment') ? { kind: 'booked', appointment: booked } : refused(unseen);
    }
    case 'overtaken':
      return { kind: 'again', issue: contested };
    case 'invalid':
      return refused(...bookingRejectionIssues(written.outcome, request));
    case 'failed':
      return refused(written.issue);
    case 'lost':
      return isRepeatable(request) ? { kind: 'again', issue: written.issue } : refused(written.issue);
  }
}

/** A booking is decided anew as long as the gateway is still waiting. */
const attempts: Attempts = { most: config.maxAttempts, within: timeLimits(config).decide };

async function attempt(
  medplum: MedplumClient,
  parsed: ParsedRequest & { readonly request: BookRequest },
  requestor: Requestor,
  extend: Extend,
): Promise<Attempt> {
  const { plan } = await decideBooking(medplum, parsed, requestor);
  switch (plan.kind) {
    case 'existing':
      return plan;
    case 'write':
      return write(medplum, parsed.request, extend(plan.transaction, newId));
    case 'refuse':
      return refused(...plan.issues);
    case 'read-fragments':
      return refused(unavailable);
  }
}

/** Whether a refusal says something about the moment, not about the request. */
export function isTransient(issues: readonly Issue[]): boolean {
  return issues.some(({ code }) => code === 'booking-conflict' || bookingErrors[code].status >= 500);
}

/**
 * Decides about a booking and writes it; overtaken by another one, decides anew, `config.maxAttempts` times at most.
 * An answer that got lost is treated alike if the request has an identifier: what was booked is found by it. As long as
 * it is not found, nobody is told that nothing was booked.
 *
 * @param extend - adds to the transaction what must be written together with the booking
 */
export async function bookAppointment(
  medplum: MedplumClient,
  parsed: ParsedRequest,
  requestor: Requestor,
  extend: Extend = (transaction) => transaction,
): Promise<BookingResult> {
  const { request } = parsed;
  if (!request) {
    return refused(...parsed.issues);
  }
  let lost: Issue | undefined;
  const decide = async (): Promise<Attempt> => {
    const result = await attempt(medplum, { ...parsed, request }, requestor, extend);
    lost ??= result.kind === 'again' && result.issue !== contested ? result.issue : undefined;
    return result;
  };
  const last = await retryOvertaken(decide, ({ kind }) => kind === 'again', attempts);
  const result = last.kind === 'again' ? refused(last.issue) : last;
  return lost && result.kind === 'refused' && isTransient(result.issues) ? refused(lost) : result;
}
