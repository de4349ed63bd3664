import type { OperationOutcome } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { artefactUri } from '../../core/fhir/artefacts.ts';
import { type BookingErrorCode, bookingErrors } from '../../core/fhir/outcome/errors.ts';
import { type Interaction, type Issue, statusOf } from '../../core/fhir/outcome/outcome.ts';
import type { GatewayContext } from '../context.ts';
import { type HttpProblemName, problem } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import type { MedplumResponse, UpstreamFailure } from '../medplum/client.ts';
import { isOutcome } from '../medplum/errors.ts';
import { botProblem } from './call.ts';

/** The bookings of a portal are counted over the last minute: after this many seconds it may have room again. */
const RATE_SECONDS = '10';

/** The code of the service in an issue, if it has one. */
function codeOf(issue: OperationOutcome['issue'][number], system: string): BookingErrorCode | undefined {
  const coding = issue?.details?.coding?.find((candidate) => candidate.system === system);
  return (Object.keys(bookingErrors) as BookingErrorCode[]).find((code) => code === coding?.code);
}

/** The codes of an outcome's issues; none unless every issue was written by the service itself. */
function serviceIssues(outcome: OperationOutcome, config: BookingConfig): readonly Pick<Issue, 'code'>[] {
  const system = artefactUri(config, 'LocalBookingError');
  const issues = outcome.issue.flatMap((issue) => {
    const code = codeOf(issue, system);
    return code ? [{ code }] : [];
  });
  return issues.length === outcome.issue.length ? issues : [];
}

/**
 * The answer to a request that a Bot has refused: the status is that of the gravest issue.
 *
 * @param interaction - what was asked for, where the status depends on it
 * @returns `undefined` if it is not an OperationOutcome of the service
 */
export function ownRefusal(
  body: unknown,
  config: BookingConfig,
  interaction: Interaction = 'book',
): FhirResponse | undefined {
  if (!isOutcome(body)) {
    return undefined;
  }
  const { resourceType, id, issue } = body;
  const issues = serviceIssues(body, config);
  if (issues.length === 0) {
    return undefined;
  }
  const status = statusOf(issues, interaction);
  const headers = status === 429 && { headers: { 'retry-after': RATE_SECONDS } };
  return { status, ...headers, resource: { resourceType, id, issue } };
}

/** The HTTP problems that a Bot can report, by issue type. */
const problemOf: ReadonlyMap<string | undefined, HttpProblemName> = new Map([
  ['not-found', 'not-found'],
  ['deleted', 'gone'],
  ['forbidden', 'forbidden'],
] as const);

/** The response when a Bot reports something missing or forbidden; `undefined` for Medplum's own 403 and 404. */
function missingResponse(body: unknown): FhirResponse | undefined {
  const issue = isOutcome(body) ? body.issue[0] : undefined;
  // Medplum's own issues have no diagnostics.
  const name = issue?.diagnostics ? problemOf.get(issue.code) : undefined;
  return name && problem(name, issue?.diagnostics);
}

/**
 * The answer when a Bot did not return what was asked for: it refused the request, found nothing for the caller, or
 * failed. What the Bot says counts, not the status that Medplum turns it into.
 *
 * @param interaction - what was asked for, where the status depends on it
 */
export function refusedByBot(
  response: MedplumResponse | UpstreamFailure,
  context: GatewayContext,
  interaction?: Interaction,
): FhirResponse {
  const body = 'failure' in response ? undefined : response.body;
  return ownRefusal(body, context.config, interaction) ?? missingResponse(body) ?? botProblem(response, context);
}
