import type { CallableBot } from '../../core/config/bots.ts';
import type { Issue } from '../../core/fhir/outcome/outcome.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest } from '../handler.ts';
import { problem, refusal } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import type { MedplumResponse, UpstreamFailure } from '../medplum/client.ts';
import { isSuccess, upstreamProblem } from '../medplum/errors.ts';

/** The statuses with which Medplum says that this caller may not execute the Bot. */
const notAllowed: readonly number[] = [403, 404];

/**
 * Calls a Bot of the service with the caller's own token.
 *
 * @param headers - for the Bot, besides those of the request
 */
export function callBot(
  name: CallableBot,
  input: unknown,
  { upstreamHeaders, caller }: FhirRequest,
  { bots }: GatewayContext,
  headers: Readonly<Record<string, string>> = {},
): Promise<MedplumResponse | UpstreamFailure> {
  return bots.run({ name, input, headers: { ...upstreamHeaders, ...headers }, caller });
}

const outcomeUnknown =
  'It may have been carried out: send it again with the same Appointment.identifier, or read first.';

/** The issues for a call without a response, before the advice. */
const sentences: Readonly<Record<UpstreamFailure['failure'], Issue>> = {
  unavailable: {
    code: 'upstream-unavailable',
    diagnostics: 'The FHIR server behind the service did not answer.',
  },
  timeout: {
    code: 'upstream-timeout',
    diagnostics: 'The FHIR server behind the service did not answer in time.',
  },
  broken: {
    code: 'upstream-unavailable',
    diagnostics: 'The FHIR server behind the service gave an invalid response.',
  },
  'too-large': {
    code: 'upstream-unavailable',
    diagnostics: 'The response of the FHIR server behind the service is too large.',
  },
};

/** The failure of a call whose result cannot be passed on; `undefined` if Medplum refused the call (4xx, not 400). */
function kindOfFailure(response: MedplumResponse | UpstreamFailure): keyof typeof sentences | undefined {
  if ('failure' in response) {
    return response.failure;
  }
  const { status } = response;
  if (status === 504) {
    return 'timeout';
  }
  return isSuccess(response) || status === 400 || status >= 500 ? 'broken' : undefined;
}

/** The response when a Bot returned nothing to pass on: the caller may not call it, it failed, or it did not answer. */
export function botProblem(response: MedplumResponse | UpstreamFailure, { config }: GatewayContext): FhirResponse {
  if ('status' in response && notAllowed.includes(response.status)) {
    return problem('forbidden');
  }
  const failure = kindOfFailure(response);
  if (!failure) {
    return upstreamProblem(response, config);
  }
  const { code, diagnostics } = sentences[failure];
  const advice = 'isUnsent' in response ? 'Nothing was changed: try again.' : outcomeUnknown;
  return refusal([{ code, diagnostics: `${diagnostics} ${advice}` }], config);
}
