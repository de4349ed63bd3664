import type { OperationOutcome } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import { isObject } from '../../core/fhir/resource.ts';
import { problem, problemOfStatus, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import type { MedplumResponse, UpstreamFailure } from './client.ts';

/** Whether a value looks like an OperationOutcome with issues. */
export function isOutcome(value: unknown): value is OperationOutcome {
  return isObject(value) && value.resourceType === 'OperationOutcome' && Array.isArray(value.issue);
}

/** The response when Medplum did not answer. */
export function failureResponse({ failure }: UpstreamFailure, config: BookingConfig): FhirResponse {
  const unavailable = 'The FHIR server behind the service cannot be reached: try again.';
  const timeout =
    'The FHIR server behind the service did not answer in time. A change may have been stored: read before you try again.';
  const broken =
    'The FHIR server behind the service gave an invalid response. A change may have been stored: read before you try again.';
  const tooLarge = 'The answer would be too large: ask for fewer resources at a time, with _count.';
  const answers: Readonly<Record<UpstreamFailure['failure'], () => FhirResponse>> = {
    unavailable: () => refusal([{ code: 'upstream-unavailable', diagnostics: unavailable }], config),
    timeout: () => refusal([{ code: 'upstream-timeout', diagnostics: timeout }], config),
    broken: () => refusal([{ code: 'upstream-unavailable', diagnostics: broken }], config),
    'too-large': () => problem('content-too-large', tooLarge),
  };
  return answers[failure]();
}

/** The issues of Medplum's OperationOutcome, as issues of the service. */
function nativeIssues(body: unknown): readonly Issue[] {
  const found = isOutcome(body) ? body.issue.filter(isObject) : [];
  const issues = found.map((issue): Issue => {
    const { details, diagnostics, expression } = issue;
    const text = isObject(details) && typeof details.text === 'string' ? details.text : diagnostics;
    const [element] = Array.isArray(expression) ? expression : [];
    return {
      code: 'malformed-request',
      diagnostics: typeof text === 'string' ? text : 'The FHIR server rejected the request.',
      ...(typeof element === 'string' && { expression: element }),
    };
  });
  return issues.length > 0
    ? issues
    : [{ code: 'malformed-request', diagnostics: 'The FHIR server rejected the request.' }];
}

/** Whether Medplum refuses a token; it answers 400 to a good one whose client or membership has since been removed. */
export function isRefusal({ status, body }: MedplumResponse): boolean {
  const [issue]: unknown[] = isObject(body) && Array.isArray(body.issue) ? body.issue : [];
  const details = isObject(issue) ? issue.details : undefined;
  return status === 401 || (status === 400 && isObject(details) && details.text === 'Authentication error');
}

/** The translation of an error status of Medplum. */
type Translation = (response: MedplumResponse, config: BookingConfig) => FhirResponse;

const invalidToken = { 'www-authenticate': 'Bearer error="invalid_token"' };
const malformed: Translation = ({ body }, config) => refusal(nativeIssues(body), config);

const translations: Readonly<Record<number, Translation>> = {
  400: malformed,
  401: () => problem('unauthorized', undefined, invalidToken),
  409: (_answer, config) =>
    refusal(
      [
        {
          code: 'booking-conflict',
          diagnostics: 'Another request changed the same resource at the same moment: try again.',
        },
      ],
      config,
    ),
  412: ({ body }, config) =>
    isOutcome(body) && body.id === 'multiple-matches'
      ? problem('multiple-matches')
      : refusal(
          [
            {
              code: 'version-conflict',
              diagnostics: 'The resource has a newer version: read it again.',
              expression: 'http.If-Match',
            },
          ],
          config,
        ),
  422: malformed,
  429: ({ headers }) => problem('too-many-requests', undefined, { 'retry-after': headers['retry-after'] ?? '60' }),
  504: (_answer, config) => failureResponse({ failure: 'timeout' }, config),
};

/**
 * The one place where an error of Medplum becomes an answer of the service: always with an outcome of the service's own,
 * which repeats only what Medplum says about a malformed request.
 *
 * @param response - with a status of 300 or above, or the failure to get one
 */
export function upstreamProblem(response: MedplumResponse | UpstreamFailure, config: BookingConfig): FhirResponse {
  if ('failure' in response) {
    return failureResponse(response, config);
  }
  const translation = translations[isRefusal(response) ? 401 : response.status];
  if (translation) {
    return translation(response, config);
  }
  if (response.status >= 500) {
    return failureResponse({ failure: 'unavailable' }, config);
  }
  return response.status >= 400 ? problem(problemOfStatus(response.status)) : problem('bad-gateway');
}

/** The body of an answer, if there is one. */
export function bodyOf(response: MedplumResponse | UpstreamFailure): unknown {
  return 'body' in response ? response.body : undefined;
}

/** Whether Medplum answered with success. */
export function isSuccess(response: MedplumResponse | UpstreamFailure): response is MedplumResponse {
  return 'status' in response && response.status >= 200 && response.status < 300;
}
