import type { Extension, OperationOutcome } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../artefacts.ts';
import { formatInstant } from '../instant.ts';
import { type BookingError, type BookingErrorCode, bookingErrors } from './errors.ts';

/** A time that can be booked instead of one that was refused, in milliseconds since 1970 UTC. */
export interface Alternative {
  /** Ids of the Slots to book it in; none if it is a whole visit. */
  readonly slots: readonly string[];
  readonly start: number;
  readonly end: number;
  /** Of a whole visit the appointments in the order of time, by the names of their steps. */
  readonly steps?: readonly (Alternative & { readonly name: string })[];
}

/** A problem found in a request: what kind, where, and a sentence that a portal's developer can act on. */
export interface Issue {
  readonly code: BookingErrorCode;
  /** What was sent and what is allowed, as a whole sentence. */
  readonly diagnostics: string;
  /** FHIRPath of the element at fault; absent when no single element is. */
  readonly expression?: string;
  /** What the caller could book instead, the nearest first. */
  readonly alternatives?: readonly Alternative[];
}

/** Whether an element is the same as another one, or contains it; both are FHIRPaths. */
export const containsPath = (outer: string, inner: string): boolean =>
  inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);

/** The issues that are not consequences of something that could not be read, which has an issue of its own. */
export function withoutDependentIssues(issues: readonly Issue[], unreadable: readonly string[] = []): readonly Issue[] {
  return issues.filter(({ expression: path = '' }) =>
    unreadable.every((element) => !containsPath(element, path) && !containsPath(path, element)),
  );
}

/** The issues about elements that others do not mention. */
export function besides(issues: readonly Issue[], others: readonly Issue[]): readonly Issue[] {
  const said = new Set(others.map(({ expression }) => expression));
  return issues.filter(({ expression }) => !said.has(expression));
}

/** The issues, each once: several appointments of one request have the same patient, for instance. */
export const uniqueIssues = (issues: readonly Issue[]): Issue[] => [
  ...new Map(
    issues.map((issue) => [JSON.stringify([issue.code, issue.expression, issue.diagnostics]), issue]),
  ).values(),
];

/** The HTTP statuses of errors, the gravest first: a malformed request hides a broken rule, which hides a conflict. */
const gravity: readonly BookingError['status'][] = [400, 422, 412, 409, 429, 504, 503];

/** The ids by which Medplum turns an OperationOutcome of a Bot into an HTTP status (`getStatus` in @medplum/core). */
const outcomeIds: Readonly<Record<BookingError['status'], string>> = {
  400: 'bad-request',
  409: 'conflict',
  412: 'precondition-failed',
  422: 'business-rule',
  429: 'too-many-requests',
  503: 'service-unavailable',
  504: 'server-timeout',
};

/** What a request does, where the status of an error depends on it. */
export type Interaction = 'book' | 'patch';

/**
 * The HTTP status of an answer that reports these issues: that of the gravest.
 *
 * @param issues - at least one
 */
export function statusOf(
  issues: readonly Pick<Issue, 'code'>[],
  interaction: Interaction = 'book',
): BookingError['status'] {
  const errors = issues.map(({ code }): BookingError => bookingErrors[code]);
  const found = new Set(
    errors.map(({ status, statusInPatch }) => (interaction === 'patch' && statusInPatch ? statusInPatch : status)),
  );
  return gravity.find((status) => found.has(status)) ?? 400;
}

/** The most issues in one outcome. */
export const MAX_ISSUES = 50;

/** The issues that are reported; if there are too many, the first ones, and then how many more there are. */
function reported(issues: readonly Issue[], interaction: Interaction): readonly Issue[] {
  if (issues.length <= MAX_ISSUES) {
    return issues;
  }
  const shown = issues.slice(0, MAX_ISSUES - 1);
  const gravest = issues.find((issue) => statusOf([issue], interaction) === statusOf(issues, interaction));
  const diagnostics = `There are ${issues.length - shown.length} more problems; solve these first.`;
  return [...shown, { code: gravest?.code ?? 'malformed-request', diagnostics }];
}

const partsOf = ({ slots, start, end, steps = [] }: Alternative): Extension[] => [
  ...steps.map((step) => ({
    url: 'step',
    extension: [{ url: 'name', valueString: step.name }, ...partsOf(step)],
  })),
  ...slots.map((id) => ({ url: 'slot', valueReference: { reference: `Slot/${id}` } })),
  { url: 'start', valueInstant: formatInstant(start) },
  { url: 'end', valueInstant: formatInstant(end) },
];

/** A time that can be booked instead, as the extension LocalAlternative of an issue. */
const alternativeExtension = (alternative: Alternative, config: PublicConfig): Extension => ({
  url: artefactUri(config, 'LocalAlternative'),
  extension: partsOf(alternative),
});

/**
 * The one place where issues become an OperationOutcome. Its `id` carries the HTTP status through Medplum's
 * `Bot/$execute`; each issue carries its code from the CodeSystem LocalBookingError. If there are more than fifty issues,
 * the last one says how many were left out.
 *
 * @param issues - at least one
 * @param config - the installation, for the address of the CodeSystem
 * @see specification section 7; https://hl7.org/fhir/R4/operationoutcome.html
 */
export function toOperationOutcome(
  issues: readonly Issue[],
  config: PublicConfig,
  interaction: Interaction = 'book',
): OperationOutcome {
  const system = artefactUri(config, 'LocalBookingError');
  return {
    resourceType: 'OperationOutcome',
    id: outcomeIds[statusOf(issues, interaction)],
    issue: reported(issues, interaction).map(({ code, diagnostics, expression, alternatives = [] }) => ({
      ...(alternatives.length > 0 && {
        extension: alternatives.map((alternative) => alternativeExtension(alternative, config)),
      }),
      severity: 'error',
      code: bookingErrors[code].type,
      details: { coding: [{ system, code, display: bookingErrors[code].display }], text: bookingErrors[code].display },
      diagnostics,
      ...(expression && { expression: [expression] }),
    })),
  };
}

/** The most characters of what was sent that a sentence repeats. */
const MAX_LENGTH = 100;

/**
 * What was sent, as a sentence repeats it: in quotes, and only its beginning.
 *
 * @param sent - any JSON; an object may have members called `toString` or `valueOf`
 */
export function quoted(sent: unknown): string {
  const text = typeof sent === 'string' ? sent : (JSON.stringify(sent) ?? 'nothing');
  return `'${text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text}'`;
}

/**
 * Turns the OperationOutcome by which the server rejected a resource as invalid FHIR into issues of the service.
 *
 * @param outcome - the server's response; its expressions begin with the type of the resource at fault
 * @param code - the code of every issue
 * @param rejected - what the server rejected, for issues in which it gives no reason: `request`
 * @param pathOf - the path of the element in the request; by default the server's own expression
 * @returns one issue for each issue of the server
 */
export function serverRejectionIssues(
  outcome: OperationOutcome,
  code: BookingErrorCode,
  rejected: string,
  pathOf = (expression: string): string => expression,
): Issue[] {
  return outcome.issue.map(({ expression, details, diagnostics }) => ({
    code,
    diagnostics: details?.text ?? diagnostics ?? `The server rejected the ${rejected} as invalid.`,
    ...(expression?.[0] && { expression: pathOf(expression[0]) }),
  }));
}

/**
 * What PostgreSQL says when it ends one of two transactions that wait for each other, or about the statements that follow
 * in it; and Medplum about a patch whose version has changed.
 */
const overtaken = /^(deadlock detected|current transaction is aborted|Test failed: )/;

/** Whether a transaction can be tried again that Medplum (5.1) answers with 400, like an invalid resource. */
export function saysOvertaken({ issue = [] }: OperationOutcome): boolean {
  return issue.some(({ details }) => overtaken.test(details?.text ?? ''));
}
