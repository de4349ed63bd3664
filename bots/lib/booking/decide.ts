import type { MedplumClient } from '@medplum/core';
import type { Reference } from '@medplum/fhirtypes';
import type { PersonalOffer } from '../../../core/booking/appointment/expiry.ts';
import {
  limitsReached,
  type RequestorLimit,
  requestorLimitReads,
} from '../../../core/booking/policy/requestor-limits.ts';
import type { BookRequest, ParsedRequest, Purpose } from '../../../core/booking/request/request.ts';
import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import type { ResourceSet } from '../../../core/rows/resource-set.ts';
import { type BookingPlan, followingReads, planBooking } from '../../../core/visits/plan.ts';
import { releaseRows } from '../../../core/waitlist/release.ts';
import { config } from '../config.ts';
import { isRateLimit, newId, RATE_LIMIT } from '../medplum.ts';
import { ReadError } from '../read.ts';
import { type Reader, readFollowing, readHolds, readNamed } from './reading.ts';

/** The requestor on whose behalf a booking is decided. */
export interface Requestor extends Reader {
  /** Reference to the profile, with `display` if Medplum has it. */
  readonly reference?: Reference | undefined;
  /** The limits to check; by default those of a synchronous booking. */
  readonly limits?: readonly RequestorLimit[];
}

/** A decision and the resources on which it is based. */
export interface BookingDecision {
  readonly plan: BookingPlan;
  readonly state: ResourceSet;
}

/** Options of `decideBooking`. */
export interface DecisionOptions {
  /** By default a booking. */
  readonly purpose?: Purpose | undefined;
  /** Whether this is a dry run, which writes nothing, not even the row of a quota. */
  readonly isDry?: boolean | undefined;
  /** The personal offer that is written, if it is one. */
  readonly offer?: PersonalOffer | undefined;
}

/** The issue of a failed read. */
export const unavailable: Issue = {
  code: 'upstream-unavailable',
  diagnostics: 'The FHIR server could not be read. Nothing was booked; try again in a moment.',
};

/**
 * Returns the issue for a failed read or for Medplum's rate limit.
 *
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

/** A request that could be parsed. */
export type ReadableRequest = ParsedRequest & { readonly request: BookRequest };

/**
 * Reads in two steps what a booking or a hold depends on, and decides. A failed read is a refusal, not an error.
 */
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
