import { randomUUID } from 'node:crypto';
import type { MedplumClient } from '@medplum/core';
import type { Appointment, Bundle } from '@medplum/fhirtypes';
import { pieceReads, readPieces } from '../booking/pieces.ts';
import { type BookingContext, type BookingPlan, planBooking } from '../booking/plan.ts';
import { bookingReads, readState } from '../booking/reads.ts';
import { refusedByServer } from '../booking/refusal.ts';
import type { BookRequest, ParsedRequest } from '../booking/request.ts';
import type { BookingState } from '../booking/state.ts';
import { artefactUri } from '../config/config.ts';
import type { Issue } from '../fhir/outcome.ts';
import { isResource } from '../fhir/resource.ts';
import { config } from './config.ts';
import { exchange, pause } from './exchange.ts';

/** On whose behalf a booking is decided. */
export interface Requestor {
  /** Id of the requestor's profile. */
  readonly id: string;
  /** The credentials to read with; without them the Bot's own. */
  readonly authorization?: string | undefined;
  /** Narrows what was read down to what the requestor may see; needed where it is read with the Bot's credentials. */
  readonly narrow?: (state: BookingState) => BookingState;
}

/** What came of a booking. */
export type BookingResult =
  | { readonly kind: 'booked' | 'existing'; readonly appointment: Appointment }
  | { readonly kind: 'refused'; readonly issues: readonly Issue[] };

/** A decision, and what it was based on. */
export interface Decided {
  readonly plan: BookingPlan;
  readonly state: BookingState;
}

const unavailable: Issue = {
  code: 'upstream-unavailable',
  diagnostics: 'The FHIR server could not be read. Nothing was booked; try again in a moment.',
};

const contested: Issue = {
  code: 'booking-conflict',
  diagnostics: 'Others were booking the same slots at the same moment. Nothing was booked; try again.',
};

const newId = (): string => `urn:uuid:${randomUUID()}`;

const refuse = (issue: Issue): Decided => ({ plan: { kind: 'refuse', issues: [issue] }, state: new Map() });

/**
 * Reads what a booking depends on, and asks the rules.
 *
 * @param parsed - the request, which must have been readable
 */
export async function decide(
  medplum: MedplumClient,
  parsed: ParsedRequest & { readonly request: BookRequest },
  { id, authorization, narrow = (state) => state }: Requestor,
): Promise<Decided> {
  const context: BookingContext = { now: Date.now(), requestor: id, config, newId };
  const read = await exchange(medplum, bookingReads(parsed.request, id, config), authorization);
  const found = read.kind === 'done' ? readState(read.bundle) : read;
  if (!('state' in found)) {
    return refuse('issue' in found ? found.issue : unavailable);
  }
  const state = narrow(found.state);
  const plan = planBooking(parsed, state, context);
  if (plan.kind !== 'read-pieces') {
    return { plan, state };
  }
  const more = await exchange(medplum, pieceReads(plan.origins, artefactUri(config, 'LocalSlotOrigin')));
  const pieces = more.kind === 'done' ? readPieces(more.bundle, parsed.request.appointment.value.id) : more;
  return 'slots' in pieces
    ? { plan: planBooking(parsed, state, context, pieces), state }
    : refuse('issue' in pieces ? pieces.issue : unavailable);
}

/**
 * Decides about a booking and writes it; overtaken by another one, decides anew, `config.maxAttempts` times at most.
 *
 * @param extend - adds to the transaction what must be written together with the booking
 */
export async function carryOut(
  medplum: MedplumClient,
  parsed: ParsedRequest,
  requestor: Requestor,
  extend: (transaction: Bundle, newId: () => string) => Bundle = (transaction) => transaction,
): Promise<BookingResult> {
  const { request } = parsed;
  if (!request) {
    return { kind: 'refused', issues: parsed.issues };
  }
  for (let attempt = 1; attempt <= config.maxAttempts; attempt++) {
    const { plan } = await decide(medplum, { ...parsed, request }, requestor);
    if (plan.kind === 'existing') {
      return plan;
    }
    if (plan.kind !== 'write') {
      return { kind: 'refused', issues: plan.kind === 'refuse' ? plan.issues : [unavailable] };
    }
    const written = await exchange(medplum, extend(plan.transaction, newId));
    const booked = written.kind === 'done' ? written.bundle.entry?.[0]?.resource : undefined;
    if (isResource(booked, 'Appointment')) {
      return { kind: 'booked', appointment: booked };
    }
    if (written.kind !== 'overtaken') {
      const issues = written.kind === 'invalid' ? refusedByServer(written.outcome, request) : [unavailable];
      return { kind: 'refused', issues: written.kind === 'failed' ? [written.issue] : issues };
    }
    await pause(attempt);
  }
  return { kind: 'refused', issues: [contested] };
}
