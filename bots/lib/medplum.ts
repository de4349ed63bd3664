import { clearTimeout, setTimeout } from 'node:timers';
import type { MedplumClient } from '@medplum/core';
import type { Bundle, OperationOutcome } from '@medplum/fhirtypes';
import { timeLimits } from '../../core/config/time-limits.ts';
import type { Issue } from '../../core/fhir/outcome.ts';
import { isResource } from '../../core/fhir/resource.ts';
import { config } from './config.ts';

/** What the server answered to a batch or transaction. */
export type BundleAnswer =
  | { readonly kind: 'done'; readonly bundle: Bundle }
  /** Another transaction was faster with one of the versions that this one relies on: nothing was written. */
  | { readonly kind: 'overtaken' }
  /** The server found a resource not to be valid: nothing was written. */
  | { readonly kind: 'invalid'; readonly outcome: OperationOutcome }
  /** The server refused it, or was never reached: nothing was written. */
  | { readonly kind: 'failed'; readonly issue: Issue }
  /** No answer, or none that says what was done: a transaction may have been carried out. */
  | { readonly kind: 'lost'; readonly issue: Issue };

/** How long the server may take for one answer: a read and a write fit into the time that the gateway waits. */
const LIMIT = timeLimits(config).exchange;

function failed(status: number): BundleAnswer {
  const diagnostics = `The FHIR server answered with status ${status}. Nothing was written; try again in a moment.`;
  return { kind: 'failed', issue: { code: 'upstream-unavailable', diagnostics } };
}

function lost(code: 'upstream-unavailable' | 'upstream-timeout', what: string): BundleAnswer {
  const diagnostics = `${what} It may have been written all the same: send it again with the same Appointment.identifier, and what was booked already is answered.`;
  return { kind: 'lost', issue: { code, diagnostics } };
}

function classify(status: number, body: unknown): BundleAnswer {
  if (status === 200 && isResource(body, 'Bundle')) {
    return { kind: 'done', bundle: body };
  }
  if (status === 409 || status === 412) {
    return { kind: 'overtaken' };
  }
  if (status === 400 && isResource(body, 'OperationOutcome')) {
    return { kind: 'invalid', outcome: body };
  }
  if (status === 504) {
    return lost('upstream-timeout', 'The FHIR server did not answer in time.');
  }
  const isRefusal = status >= 400 && status < 500;
  return isRefusal ? failed(status) : lost('upstream-unavailable', `The FHIR server answered with status ${status}.`);
}

/** Errors of a connection that was never made: what should have been sent has not arrived. */
const notConnected = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH/;

function unanswered(error: unknown): BundleAnswer {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return notConnected.test(String(cause))
    ? { kind: 'failed', issue: { code: 'upstream-unavailable', diagnostics: 'The FHIR server cannot be reached.' } }
    : lost('upstream-unavailable', 'The FHIR server gave no usable answer.');
}

/** Between a Bot and its server, packing and unpacking an answer takes longer than sending it as it is. */
const headers = {
  'content-type': 'application/fhir+json',
  accept: 'application/fhir+json',
  'accept-encoding': 'identity',
} as const;

async function send(url: string, authorization: string, bundle: Bundle): Promise<BundleAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { ...headers, authorization },
    body: JSON.stringify(bundle),
  });
  const body: unknown = await response.json();
  return classify(response.status, body);
}

/**
 * Sends a batch or a transaction to the server that runs this Bot, once: a transaction is never repeated unseen.
 * It never throws, and gives up after two fifths of `BookingConfig.timeout`.
 *
 * @param authorization - credentials to send it with; by default the Bot's own
 * @see https://hl7.org/fhir/R4/http.html#transaction
 */
export async function sendBundle(
  medplum: MedplumClient,
  bundle: Bundle,
  authorization = `Bearer ${medplum.getAccessToken()}`,
): Promise<BundleAnswer> {
  const tooLate = lost('upstream-timeout', 'The FHIR server did not answer in time.');
  const late = Promise.withResolvers<BundleAnswer>();
  const timer = setTimeout(() => late.resolve(tooLate), LIMIT);
  const answer = send(medplum.fhirUrl().toString(), authorization, bundle).catch(unanswered);
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer));
}

/** The longest pause, in milliseconds: an attempt that ran into its limit says nothing about how busy the server is. */
const LONGEST_PAUSE = 2_000;

/**
 * Waits before deciding anew, up to as long as the attempt took that was overtaken: those who were overtaken together
 * do not meet again, the busier the server the longer they leave it alone, and nobody waits longer for having waited.
 *
 * @param attempt - length of the attempt, in milliseconds
 */
export async function backOff(attempt: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(attempt, LONGEST_PAUSE)));
}
