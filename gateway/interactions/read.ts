import type { Resource } from '@medplum/fhirtypes';
import { type FhirRequest, type Handler, withId } from '../handler.ts';
import { problem } from '../http/errors.ts';
import { type FhirResponse, versionHeaders } from '../http/response.ts';
import { isSuccess } from '../medplum/errors.ts';
import { publicResource } from '../medplum/public-resources.ts';
import type { ServedTypeName } from '../served-types.ts';
import { missingResource } from './missing-resource.ts';

/** Whether an `If-None-Match` names the current version; weak tags and strong ones are the same here (RFC 9110, 13.1.2). */
function matchesEtag(ifNoneMatch: string | undefined, etag: string | undefined): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^"/, 'W/"'));
  return etag !== undefined && (tags.includes(etag) || tags.includes('*'));
}

/** A resource as it is now, or 304 if the client already has it. */
export function current(resource: Resource, { header }: FhirRequest): FhirResponse {
  const headers = versionHeaders(resource);
  return matchesEtag(header('if-none-match'), headers.etag)
    ? { status: 304, headers }
    : { status: 200, headers, resource };
}

/**
 * `GET /{type}/{id}`: the current version of a resource, as far as the caller may see it; 304 if the client already has
 * it.
 *
 * @see https://hl7.org/fhir/R4/http.html#read
 */
export const read = (type: ServedTypeName): Handler =>
  withId(async (id, exchange, context) => {
    const path = `fhir/R4/${type}/${id}`;
    const found = await context.upstream.call({ method: 'GET', path, headers: exchange.upstreamHeaders });
    if (!isSuccess(found)) {
      return missingResource(type, id, found, exchange, context);
    }
    const resource = publicResource(found.body, type, context.config);
    if (!resource) {
      return problem('bad-gateway');
    }
    return current(resource, exchange);
  });
