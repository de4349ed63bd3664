import type { OperationOutcome, OperationOutcomeIssue } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { type Issue, statusOf, toOperationOutcome } from '../../core/fhir/outcome/outcome.ts';
import type { FhirResponse } from './response.ts';

/** A refusal of the HTTP interface itself: no business error, so it has no code in LocalBookingError. */
interface HttpProblem {
  readonly status: number;
  readonly type: OperationOutcomeIssue['code'];
  readonly text: string;
}

/** Every refusal of the HTTP interface. Business errors are in `core/fhir/outcome/errors.ts`. */
export const httpProblems = {
  'bad-request': { status: 400, type: 'structure', text: 'The request is not valid HTTP.' },
  unauthorized: { status: 401, type: 'login', text: 'Send a valid bearer token in the Authorization header.' },
  forbidden: { status: 403, type: 'forbidden', text: 'The caller is not allowed to do this.' },
  'not-found': { status: 404, type: 'not-found', text: 'There is no such resource, or the caller may not see it.' },
  'method-not-allowed': { status: 405, type: 'not-supported', text: 'The method is not supported here.' },
  'not-acceptable': { status: 406, type: 'not-supported', text: 'None of the accepted formats is supported.' },
  'request-timeout': { status: 408, type: 'timeout', text: 'The request took too long to arrive.' },
  gone: { status: 410, type: 'deleted', text: 'The resource was deleted.' },
  'multiple-matches': { status: 412, type: 'multiple-matches', text: 'The condition matches several resources.' },
  'content-too-large': { status: 413, type: 'too-long', text: 'The body is larger than the service accepts.' },
  'unsupported-media-type': { status: 415, type: 'not-supported', text: 'The Content-Type is not supported.' },
  'expectation-failed': {
    status: 417,
    type: 'not-supported',
    text: 'The only supported value of Expect is 100-continue.',
  },
  'too-many-requests': { status: 429, type: 'throttled', text: 'Too many requests: try again later.' },
  'headers-too-large': { status: 431, type: 'too-long', text: 'The address or the headers are too long.' },
  'internal-error': {
    status: 500,
    type: 'exception',
    text: 'An internal error occurred; the server log has the details.',
  },
  'bad-gateway': { status: 502, type: 'transient', text: 'The FHIR server gave an invalid response.' },
  'shutting-down': { status: 503, type: 'transient', text: 'The service is shutting down: try again elsewhere.' },
} as const satisfies Record<string, HttpProblem>;

/** Name of a refusal of the HTTP interface. */
export type HttpProblemName = keyof typeof httpProblems;

const byStatus = new Map<number, HttpProblemName>(
  (Object.keys(httpProblems) as HttpProblemName[]).map((name) => [httpProblems[name].status, name] as const).reverse(),
);

/** The refusal that an HTTP status stands for. */
export function problemOfStatus(status: number): HttpProblemName {
  return byStatus.get(status) ?? (status >= 500 ? 'internal-error' : 'bad-request');
}

/**
 * Makes the OperationOutcome of a refusal.
 *
 * @param diagnostics - what was sent and what is allowed; default: the refusal's own text
 */
export function outcomeOf(name: HttpProblemName, diagnostics?: string): OperationOutcome {
  const { type, text } = httpProblems[name];
  const issue = { severity: 'error', code: type, details: { text }, diagnostics: diagnostics ?? text } as const;
  return { resourceType: 'OperationOutcome', issue: [issue] };
}

/**
 * The answer that refuses a request.
 *
 * @param diagnostics - what was sent and what is allowed; default: the refusal's own text
 */
export function problem(
  name: HttpProblemName,
  diagnostics?: string,
  headers: Readonly<Record<string, string>> = {},
): FhirResponse {
  const always: Readonly<Record<string, string>> = name === 'unauthorized' ? { 'www-authenticate': 'Bearer' } : {};
  return {
    status: httpProblems[name].status,
    headers: { ...always, ...headers },
    resource: outcomeOf(name, diagnostics),
  };
}

/**
 * The answer that reports business issues: the status is that of the gravest.
 *
 * @param issues - at least one
 */
export function refusal(issues: readonly Issue[], config: BookingConfig): FhirResponse {
  const status = statusOf(issues);
  const headers: Readonly<Record<string, string>> = status === 503 ? { 'retry-after': '5' } : {};
  return { status, headers, resource: toOperationOutcome(issues, config) };
}
