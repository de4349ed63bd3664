import { randomUUID } from 'node:crypto';
import type { BotEvent, MedplumClient } from '@medplum/core';
import type { Appointment, OperationOutcome } from '@medplum/fhirtypes';
import { pieceReads, readPieces } from '../booking/pieces.ts';
import { type BookingContext, type BookingPlan, planBooking } from '../booking/plan.ts';
import { bookingReads, readState } from '../booking/reads.ts';
import { refusedByServer } from '../booking/refusal.ts';
import { type BookRequest, type ParsedRequest, parseBookRequest } from '../booking/request.ts';
import { asExisting } from '../booking/retry.ts';
import { artefactUri } from '../config/config.ts';
import { type Issue, toOperationOutcome } from '../fhir/outcome.ts';
import { isResource } from '../fhir/resource.ts';
import { config } from './config.ts';
import { exchange, pause } from './exchange.ts';

const unavailable: Issue = {
  code: 'upstream-unavailable',
  diagnostics: 'The FHIR server could not be read. Nothing was booked; try again in a moment.',
};

const contested: Issue = {
  code: 'booking-conflict',
  diagnostics: 'Others were booking the same slots at the same moment. Nothing was booked; try again.',
};

const refuse = (...issues: readonly Issue[]): BookingPlan => ({ kind: 'refuse', issues });

async function decide(
  medplum: MedplumClient,
  parsed: ParsedRequest,
  request: BookRequest,
  context: BookingContext,
  authorization: string | undefined,
): Promise<BookingPlan> {
  const read = await exchange(medplum, bookingReads(request, context.requestor, config), authorization);
  const found = read.kind === 'done' ? readState(read.bundle) : read;
  if (!('state' in found)) {
    return refuse('issue' in found ? found.issue : unavailable);
  }
  const plan = planBooking(parsed, found.state, context);
  if (plan.kind !== 'read-pieces') {
    return plan;
  }
  const more = await exchange(medplum, pieceReads(plan.origins, artefactUri(config, 'LocalSlotOrigin')));
  const pieces = more.kind === 'done' ? readPieces(more.bundle, request.appointment.value.id) : more;
  return 'slots' in pieces
    ? planBooking(parsed, found.state, context, pieces)
    : refuse('issue' in pieces ? pieces.issue : unavailable);
}

/**
 * Carries out `$book`: reads with the caller's own rights what the decision depends on, asks the rules, and writes with
 * the Bot's. Overtaken by another booking, it reads and decides again, `config.maxAttempts` times at most.
 *
 * @param event - input: the body of `$book`; headers: those of the request, for the caller's credentials
 * @returns the Appointment, `booked` or `pending`, or an OperationOutcome whose id stands for the HTTP status
 * @see specification 4.4
 */
export async function handler(
  medplum: MedplumClient,
  event: BotEvent<unknown>,
): Promise<Appointment | OperationOutcome> {
  const answer = (...issues: readonly Issue[]): OperationOutcome => toOperationOutcome(issues, config);
  const parsed = parseBookRequest(event.input, config);
  const { request } = parsed;
  if (!request) {
    return answer(...parsed.issues);
  }
  const requestor = event.requester?.reference?.split('/')[1] ?? '';
  const authorization = event.headers?.authorization?.toString();
  for (let attempt = 1; attempt <= config.maxAttempts; attempt++) {
    const context: BookingContext = { now: Date.now(), requestor, config, newId: () => `urn:uuid:${randomUUID()}` };
    const plan = await decide(medplum, parsed, request, context, authorization);
    if (plan.kind === 'existing') {
      return asExisting(plan.appointment, config);
    }
    if (plan.kind !== 'write') {
      return answer(...(plan.kind === 'refuse' ? plan.issues : [unavailable]));
    }
    const written = await exchange(medplum, plan.transaction);
    if (written.kind === 'done') {
      const booked = written.bundle.entry?.[0]?.resource;
      return isResource(booked, 'Appointment') ? booked : answer(unavailable);
    }
    if (written.kind !== 'overtaken') {
      return answer(...(written.kind === 'invalid' ? refusedByServer(written.outcome, request) : [written.issue]));
    }
    await pause(attempt);
  }
  return answer(contested);
}
