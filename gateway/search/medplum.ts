import type { Bundle } from '@medplum/fhirtypes';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest } from '../handler.ts';
import { problem } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import { isSuccess, upstreamProblem } from '../medplum/errors.ts';
import { isBundle } from '../medplum/public-resources.ts';
import type { DefinitionType, ServedTypeName } from '../served-types.ts';

/**
 * Searches Medplum with the caller's rights.
 *
 * @param method - the client's method: values that it sent in the body stay out of the URL
 * @returns Medplum's searchset, or the response to send instead
 */
export async function searchMedplum(
  type: ServedTypeName | DefinitionType,
  query: string,
  method: 'GET' | 'POST',
  { upstreamHeaders: headers }: FhirRequest,
  { upstream, config }: GatewayContext,
): Promise<Bundle | FhirResponse> {
  const form = { ...headers, 'content-type': 'application/x-www-form-urlencoded' };
  const found = await upstream.call(
    method === 'POST'
      ? { method, path: `fhir/R4/${type}/_search`, body: query, headers: form }
      : { method, path: `fhir/R4/${type}`, query, headers },
  );
  if (!isSuccess(found)) {
    return upstreamProblem(found, config);
  }
  return isBundle(found.body) ? found.body : problem('bad-gateway');
}
