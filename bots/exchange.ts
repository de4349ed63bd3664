import { setTimeout } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Bundle, OperationOutcome } from '@medplum/fhirtypes';
import type { Issue } from '../fhir/outcome.ts';
import { isResource } from '../fhir/resource.ts';

/** What the server answered to a batch or transaction. */
export type BundleAnswer =
  | { readonly kind: 'done'; readonly bundle: Bundle }
  /** Another transaction was faster with one of the versions that this one relies on: nothing was written. */
  | { readonly kind: 'overtaken' }
  /** The server found a resource not to be valid: nothing was written. */
  | { readonly kind: 'invalid'; readonly outcome: OperationOutcome }
  | { readonly kind: 'failed'; readonly issue: Issue };

function failed(code: 'upstream-unavailable' | 'upstream-timeout', status: number): BundleAnswer {
  const diagnostics = `The FHIR server answered with status ${status}. Try again in a moment.`;
  return { kind: 'failed', issue: { code, diagnostics } };
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
  return failed(status === 504 ? 'upstream-timeout' : 'upstream-unavailable', status);
}

/**
 * Sends a batch or a transaction to the server that runs this Bot, once: a transaction is never repeated unseen.
 *
 * @param authorization - credentials to send it with; by default the Bot's own
 * @see https://hl7.org/fhir/R4/http.html#transaction
 */
export async function exchange(
  medplum: MedplumClient,
  bundle: Bundle,
  authorization = `Bearer ${medplum.getAccessToken()}`,
): Promise<BundleAnswer> {
  const response = await fetch(medplum.fhirUrl().toString(), {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/fhir+json', accept: 'application/fhir+json' },
    body: JSON.stringify(bundle),
  });
  const body: unknown = await response.json();
  return classify(response.status, body);
}

/**
 * Waits before deciding anew, longer with every attempt and never twice as long as others who wait: those who were
 * overtaken together shall not meet again.
 *
 * @param attempt - 1 after the first attempt
 */
export async function pause(attempt: number): Promise<void> {
  await setTimeout(Math.random() * 15 * attempt);
}
