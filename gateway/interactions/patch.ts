import type { Parameters } from '@medplum/fhirtypes';
import { isResource } from '../../core/fhir/resource.ts';
import { callBot } from '../bots/call.ts';
import { refusedByBot } from '../bots/error-response.ts';
import { type Handler, withId } from '../handler.ts';
import { refusal } from '../http/errors.ts';
import { ifMatchVersion } from '../http/if-match.ts';
import { preferred, versionHeaders } from '../http/response.ts';
import { bodyOf } from '../medplum/errors.ts';

/** The input of the Bot `patch`. */
function patchInput(id: string, patch: unknown, ifMatch: string | undefined): Parameters {
  return {
    resourceType: 'Parameters',
    parameter: [
      { name: 'id', valueId: id },
      ...(ifMatch === undefined ? [] : [{ name: 'ifMatch', valueString: ifMatch }]),
      isResource(patch, 'Parameters')
        ? { name: 'patch', resource: patch }
        : { name: 'patch', valueString: JSON.stringify(patch) },
    ],
  };
}

/**
 * `PATCH /Appointment/{id}`: calls the Bot `patch`, which has all rules, with the caller's token.
 *
 * @see specification 4.5; https://hl7.org/fhir/R4/http.html#patch
 */
export const patchAppointment: Handler = withId(async (id, exchange, context) => {
  const ifMatch = ifMatchVersion(exchange.header('if-match'));
  if ('code' in ifMatch) {
    return refusal([ifMatch], context.config);
  }
  const response = await callBot('patch', patchInput(id, exchange.body, ifMatch.version), exchange, context);
  const resource = bodyOf(response);
  return isResource(resource, 'Appointment')
    ? preferred({ status: 200, headers: versionHeaders(resource), resource }, exchange.returnPreference)
    : refusedByBot(response, context, 'patch');
});
