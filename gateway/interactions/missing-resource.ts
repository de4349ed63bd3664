import { isDeletable } from '../../core/booking/appointment/deleted.ts';
import { callBot } from '../bots/call.ts';
import { refusedByBot } from '../bots/error-response.ts';
import type { GatewayContext } from '../context.ts';
import type { FhirRequest } from '../handler.ts';
import { problem } from '../http/errors.ts';
import type { FhirResponse } from '../http/response.ts';
import type { MedplumResponse, UpstreamFailure } from '../medplum/client.ts';
import { upstreamProblem } from '../medplum/errors.ts';
import type { ServedTypeName } from '../served-types.ts';
import { countRead } from './limiting-changes.ts';

/**
 * Returns the response to a read that Medplum has refused. If the missing resource belonged to the requestor and was
 * deleted, it is gone (410), not unknown (404). The Bot that knows counts as a read, which can be refused (429).
 *
 * @see https://hl7.org/fhir/R4/http.html#read
 */
export async function missingResource(
  type: ServedTypeName,
  id: string,
  refused: MedplumResponse | UpstreamFailure,
  exchange: FhirRequest,
  context: GatewayContext,
): Promise<FhirResponse> {
  const { caller } = exchange;
  const isUnknown = 'status' in refused && refused.status === 404;
  if (!isUnknown || !isDeletable(type) || caller?.role !== 'requestor') {
    return upstreamProblem(refused, context.config);
  }
  const tooManyReads = countRead(caller, context);
  if (tooManyReads) {
    return tooManyReads;
  }
  const parameter = [
    { name: 'type', valueCode: type },
    { name: 'id', valueId: id },
  ];
  const found = await callBot('find-deleted', { resourceType: 'Parameters', parameter }, exchange, context);
  const response = refusedByBot(found, context);
  return response.status === 410 ? response : problem('not-found');
}
