import type { Extension, OperationOutcome } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../artefacts.ts';
import { formatInstant } from '../instant.ts';
import { type BookingError, type BookingErrorCode, bookingErrors } from './errors.ts';

/** A time that can be booked instead of the requested one, in milliseconds since 1970 UTC. */
export interface Alternative {
  /** Ids of the Slots to book; empty for a visit. */
  readonly slots: readonly string[];
  readonly start: number;
  readonly end: number;
  /** The appointments of a visit, in order of time, by the names of their steps. */
  readonly steps?: readonly (Alternative & { readonly name: string })[];
}

/** A problem of a request: its kind, its element, and a sentence for the portal's developer. */
export interface Issue {
  readonly code: BookingErrorCode;
  /** The value that was sent and the possible ones, as a whole sentence. */
  readonly diagnostics: string;
  /** FHIRPath of the faulty element; absent if there is no single one. */
  readonly expression?: string;
  /** Times that the caller could book instead, the nearest first. */
  readonly alternatives?: readonly Alternative[];
}

/** Whether an element equals another one or contains it; both are FHIRPaths. */
export const containsPath = (outer: string, inner: string): boolean =>
  inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);

/** The issues that do not result from an unreadable element. Such an element has its own issue. */
export function withoutDependentIssues(issues: readonly Issue[], unreadable: readonly string[] = []): readonly Issue[] {
  return issues.filter(({ expression: path = '' }) =>
    unreadable.every((element) => !containsPath(element, path) && !containsPath(path, element)),
  );
}

/** The issues about elements that `others` do not mention. */
export function besides(issues: readonly Issue[], others: readonly Issue[]): readonly Issue[] {
  const said = new Set(others.map(({ expression }) => expression));
  return issues.filter(({ expression }) => !said.has(expression));
}

/** The issues, each once. Several appointments of one request have the same patient, for example. */
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

/** The kind of a request, if the status of an error depends on it. */
export type Interaction = 'book' | 'patch';

/** The HTTP status of a response with these issues (at least one): that of the gravest. */
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

export const MAX_ISSUES = 50;

/** The issues to report. If there are too many, the last one says how many were left out. */
function reported(issues: readonly Issue[], interaction: Interaction): readonly Issue[] {
  if (issues.length <= MAX_ISSUES) {
    return issues;
  }
  const shown = issues.slice(0, MAX_ISSUES - 1);
  const gravest = issues.find((issue) => statusOf([issue], interaction) === statusOf(issues, interaction));
  const diagnostics = `There are ${issues.length - shown.length} more problems; solve these first.`;
  return [...shown, { code: gravest?.code ?? 'malformed-request', diagnostics }];
}

/** The parts of an alternative in an extension: one `step` each for a visit, then slots, start and end. */
const partsOf = ({ slots, start, end, steps = [] }: Alternative): Extension[] => [
  ...steps.map((step) => ({
    url: 'step',
    extension: [{ url: 'name', valueString: step.name }, ...partsOf(step)],
  })),
  ...slots.map((id) => ({ url: 'slot', valueReference: { reference: `Slot/${id}` } })),
  { url: 'start', valueInstant: formatInstant(start) },
  { url: 'end', valueInstant: formatInstant(end) },
];

const alternativeExtension = (alternative: Alternative, config: PublicConfig): Extension => ({
  url: artefactUri(config, 'LocalAlternative'),
  extension: partsOf(alternative),
});

/**
 * Converts issues (at least one) to an OperationOutcome; nothing else does. Its `id` carries the HTTP status through
 * Medplum's `Bot/$execute`. Each issue has its code from the CodeSystem LocalBookingError. With more than fifty issues,
 * the last one says how many were left out.
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

/** The largest length of a client's text in a sentence. */
const MAX_LENGTH = 100;

/** A client's value in quotes, shortened. An object may have members called `toString` or `valueOf`. */
export function quoted(sent: unknown): string {
  const text = typeof sent === 'string' ? sent : (JSON.stringify(sent) ?? 'nothing');
  return `'${text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text}'`;
}

/**
 * Converts the OperationOutcome of a server that rejected a resource as invalid FHIR, issue by issue.
 * @param outcome - its expressions begin with the type of the faulty resource
 * @param rejected - the name of the resource for issues without a reason: `request`
 * @param pathOf - the path of an element in the request; by default the server's expression
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
 * PostgreSQL's texts for deadlocks and the statements after them, and Medplum's text for a patch of another version.
 */
const overtaken = /^(deadlock detected|current transaction is aborted|Test failed: )/;

/** Whether a transaction can be repeated although Medplum (5.1) responds with 400, as to an invalid resource. */
export function saysOvertaken({ issue = [] }: OperationOutcome): boolean {
  return issue.some(({ details }) => overtaken.test(details?.text ?? ''));
}
