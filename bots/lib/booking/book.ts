import type { MedplumClient } from '@medplum/core';
import type { Appointment, Bundle, Reference } from '@medplum/fhirtypes';
import type { BookingContext } from '../../../core/booking/book/context.ts';
import type { Knowledge } from '../../../core/booking/book/knowledge.ts';
import { type BookingPlan, planBooking } from '../../../core/booking/book/plan.ts';
import { bookingReads } from '../../../core/booking/book/reads.ts';
import type { BookRequest, ParsedRequest, Purpose } from '../../../core/booking/book/request/request.ts';
import { bookingRejectionIssues } from '../../../core/booking/book/server-rejection.ts';
import type { Role } from '../../../core/booking/caller-role.ts';
import { isCounted } from '../../../core/booking/policy/quota.ts';
import {
  type RequestorLimit,
  reachedLimits,
  requestorLimitReads,
} from '../../../core/booking/policy/requestor-limits.ts';
import { type ResourceSet, resourcesOfType } from '../../../core/booking/resource-set.ts';
import { readState } from '../../../core/booking/search.ts';
import { unmarkedIn } from '../../../core/booking/slots/takings.ts';
import { timeLimits } from '../../../core/config/time-limits.ts';
import { bookingErrors } from '../../../core/fhir/outcome/errors.ts';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { config } from '../config.ts';
import { type Attempts, retryOvertaken, sendBundle } from '../medplum.ts';
import { newId } from '../new-id.ts';
import { ReadError } from '../read.ts';
import { readOffered } from './offered.ts';
import { readMore } from './read-more.ts';

/** On whose behalf a booking is decided. */
export interface Requestor {
  /** Id of the requestor's profile. */
  readonly id: string;
  /** The same as a reference, with its name where Medplum tells it. */
  readonly reference?: Reference | undefined;
  /** The credentials to read with; without them the Bot's own. */
  readonly authorization?: string | undefined;
  /** Narrows what was read down to what the requestor may see; needed where it is read with the Bot's credentials. */
  readonly narrow?: (state: ResourceSet) => ResourceSet;
  /** The limits of the installation that are asked for; by default those of a booking while the caller waits. */
  readonly limits?: readonly RequestorLimit[];
  /** As whom the requestor acts, where Medplum cannot be asked with its credentials. */
  readonly role?: Role | undefined;
}

/** What came of a booking. */
export type BookingResult =
  | { readonly kind: 'booked' | 'existing'; readonly appointment: Appointment }
  | {
      readonly kind: 'refused';
      readonly issues: readonly Issue[];
      /** Others of the same requestor were faster, and a quota counts them all: to be tried again in turns. */
      readonly isOutOfTurn?: boolean;
    };

/** A decision and the state on which it is based. */
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
 * Adds the authors of the patients to the state. Medplum returns them only on demand; they distinguish duplicates from
 * simultaneous bookings from patients that a portal has submitted.
 */
async function withAuthors(medplum: MedplumClient, state: ResourceSet): Promise<ResourceSet> {
  const ids = resourcesOfType(state, 'Patient').flatMap(({ id }) => id ?? []);
  const query = new URLSearchParams({ _id: ids.join(','), _count: String(ids.length) });
  const patients = await medplum.searchResources('Patient', query, { cache: 'reload' });
  return new Map([...state, ...patients.map((patient) => [`Patient/${patient.id}`, patient] as const)]);
}

const isAmbiguous = (plan: BookingPlan): boolean =>
  plan.kind === 'refuse' && plan.issues.some(({ code }) => code === 'patient-ambiguous');

/** How often a decision may turn out to depend on more. */
const MOST_ROUNDS = 6;

/** Asks the rules, reads what they ask for, and asks them again. */
async function decideWith(
  medplum: MedplumClient,
  parsed: ReadableRequest,
  state: ResourceSet,
  context: BookingContext,
  { authorization, role }: Requestor,
): Promise<BookingPlan> {
  let known: Knowledge = { role };
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const plan = planBooking(parsed, state, context, known);
    if (plan.kind !== 'read') {
      return plan;
    }
    const { interval } = parsed.request;
    known = { ...known, ...(await readMore(medplum, plan.wanted, { authorization, now: context.now, interval })) };
  }
  return undecided.plan;
}

/** A request that could be read. */
export type ReadableRequest = ParsedRequest & { readonly request: BookRequest };

/**
 * Reads what a booking or a hold depends on, and asks the rules.
 *
 * @param parsed - the request, which must have been readable
 */
export async function decideBooking(
  medplum: MedplumClient,
  parsed: ReadableRequest,
  requestor: Requestor,
  purpose: Purpose = 'book',
): Promise<BookingDecision> {
  const { id, reference, authorization, limits = ['open', 'rate'], narrow = (state) => state } = requestor;
  const now = Date.now();
  const reads = bookingReads(parsed.request, id, config);
  const wanted = reads.entry ?? [];
  const entry = [...wanted, ...requestorLimitReads(limits, id, now, config)];
  const read =
    wanted.length > 0
      ? await sendBundle(medplum, { ...reads, entry }, { authorization })
      : ({ kind: 'done', bundle: reads } as const);
  const found = read.kind === 'done' ? readState(read.bundle) : undefined;
  if (!found || 'status' in found) {
    return undecided;
  }
  const seen = narrow(found.state);
  const { interval } = parsed.request;
  try {
    const offered = await readOffered(medplum, interval ? unmarkedIn(found.state, interval, config) : []);
    const answers = (read.kind === 'done' && read.bundle.entry?.slice(wanted.length)) || [];
    const reached = reachedLimits(limits, answers);
    const context: BookingContext = {
      now,
      requestor: id,
      requester: reference,
      config,
      newId,
      purpose,
      offered,
      reached,
    };
    const first = await decideWith(medplum, parsed, seen, context, requestor);
    if (!isAmbiguous(first)) {
      return { plan: first, state: seen };
    }
    const state = await withAuthors(medplum, seen);
    return { plan: await decideWith(medplum, parsed, state, context, requestor), state };
  } catch (error) {
    if (error instanceof ReadError) {
      return undecided;
    }
    throw error;
  }
}

/** Adds to the transaction of a booking what must be written together with it. */
export type Extend = (transaction: Bundle, newId: () => string) => Bundle;

/** How a booking is carried out. */
export interface BookingOptions {
  /** What the request is for; by default a booking. */
  readonly purpose?: Purpose;
  /** Adds to the transaction what must be written together with the booking. */
  readonly extend?: Extend;
  /** Whether the caller lets bookings of the same requestor take turns, so that trying again is left to it. */
  readonly isTurnOffered?: boolean;
}

/** The result of one attempt: the booking is finished, or must be decided again. */
type Attempt = BookingResult | { readonly kind: 'again'; readonly issue: Issue };

/** After a lost response, only a request with an identifier can be decided again without booking twice. */
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

/** A booking is decided again only while the gateway is still waiting. */
const attempts: Attempts = { most: config.maxAttempts, within: timeLimits(config).decide };

async function attempt(
  medplum: MedplumClient,
  parsed: ReadableRequest,
  requestor: Requestor,
  { purpose, extend = (transaction) => transaction, isTurnOffered = false }: BookingOptions,
): Promise<Attempt> {
  const { plan } = await decideBooking(medplum, parsed, requestor, purpose);
  switch (plan.kind) {
    case 'existing':
      return plan;
    case 'write': {
      const written = await write(medplum, parsed.request, extend(plan.transaction, newId));
      const isOvertaken = written.kind === 'again' && written.issue === contested;
      return isOvertaken && isTurnOffered && isCounted(plan.transaction, config)
        ? { kind: 'refused', issues: [contested], isOutOfTurn: true }
        : written;
    }
    case 'refuse':
      return refused(...plan.issues);
    case 'read':
      return refused(unavailable);
  }
}

/** Whether a refusal depends on the current state, not on the request itself. */
export function isTransient(issues: readonly Issue[]): boolean {
  return issues.some(({ code }) => code === 'booking-conflict' || bookingErrors[code].status >= 500);
}

/**
 * Decides about a booking and writes it. After a conflict with a concurrent booking it decides again, at most
 * `config.maxAttempts` times. The same applies to a lost response if the request has an identifier, by which an existing
 * booking is found. Until then it never answers that nothing was booked.
 *
 */
export async function bookAppointment(
  medplum: MedplumClient,
  parsed: ParsedRequest,
  requestor: Requestor,
  options: BookingOptions = {},
): Promise<BookingResult> {
  const { request } = parsed;
  if (!request) {
    return refused(...parsed.issues);
  }
  let lost: Issue | undefined;
  const decide = async (): Promise<Attempt> => {
    const result = await attempt(medplum, { ...parsed, request }, requestor, options);
    lost ??= result.kind === 'again' && result.issue !== contested ? result.issue : undefined;
    return result;
  };
  const last = await retryOvertaken(decide, ({ kind }) => kind === 'again', attempts);
  const result = last.kind === 'again' ? refused(last.issue) : last;
  return lost && result.kind === 'refused' && isTransient(result.issues) ? refused(lost) : result;
}
