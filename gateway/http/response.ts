import type { Resource } from '@medplum/fhirtypes';
import type { FastifyReply } from 'fastify';
import { isObject } from '../../core/fhir/resource.ts';
import type { Addresses } from '../medplum/address-rewriting.ts';
import type { Negotiated } from './content-negotiation.ts';
import { json } from './formats.ts';
import type { ReturnPreference } from './prefer.ts';

/** An answer before it is written: status, headers in lower case, and the resource, if there is one. */
export interface FhirResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly resource?: Resource;
  /** How many bytes were read for it, where several requests share it. */
  readonly bytes?: number;
}

/** Whether a value looks like a FHIR resource. */
export function isAnyResource(value: unknown): value is Resource {
  return isObject(value) && typeof value.resourceType === 'string';
}

/**
 * `ETag` and `Last-Modified` of a resource.
 *
 * @see https://hl7.org/fhir/R4/http.html#versioning
 */
export function versionHeaders({ meta }: Resource): Record<string, string> {
  const time = Date.parse(meta?.lastUpdated ?? '');
  return {
    ...(meta?.versionId && { etag: `W/"${meta.versionId}"` }),
    ...(Number.isFinite(time) && { 'last-modified': new Date(time).toUTCString() }),
  };
}

/** The response to a write; with 201 it has a `Location`. */
export const written = (status: number, resource: Resource, baseUrl: string): FhirResponse => ({
  status,
  headers: {
    ...(status === 201 && { location: `${baseUrl}/${resource.resourceType}/${resource.id}` }),
    ...versionHeaders(resource),
  },
  resource,
});

/**
 * The response to a write, with as much of the resource as the client prefers; a status of 300 or above stays unchanged.
 *
 * @param preference - from `Prefer: return=…`; default: the resource
 * @see https://hl7.org/fhir/R4/http.html#ops
 */
export function preferred(response: FhirResponse, preference: ReturnPreference | undefined): FhirResponse {
  if (preference === undefined || response.status >= 300) {
    return response;
  }
  const { status } = response;
  const headers = { ...response.headers, 'preference-applied': `return=${preference}` };
  if (preference === 'minimal') {
    return { status, headers };
  }
  return preference === 'representation'
    ? { ...response, headers }
    : { status, headers, resource: writtenOutcome(status, response.resource) };
}

/** The content of a response with `return=OperationOutcome`: the references of the written resources. */
function writtenOutcome(status: number, resource: Resource | undefined): Resource {
  const done = status === 201 ? 'created' : status === 202 ? 'accepted' : 'stored';
  const entries =
    resource?.resourceType === 'Bundle' ? (resource.entry ?? []).map((entry) => entry.resource) : [resource];
  const names = entries.map((entry) => `${entry?.resourceType}/${entry?.id}`).join(', ');
  const diagnostics = `${names} ${entries.length > 1 ? 'were' : 'was'} ${done}.`;
  return {
    resourceType: 'OperationOutcome',
    issue: [{ severity: 'information', code: 'informational', diagnostics }],
  };
}

/** How a client wants its answer written. */
export interface Representation extends Negotiated {
  readonly pretty: boolean;
}

/** The default representation. */
export const defaultRepresentation: Representation = { format: json, mediaType: json.mediaTypes[0], pretty: false };

/**
 * Writes an answer. Every FHIR answer of the service goes through here.
 *
 * @param addresses - of the service, which replace Medplum's
 */
export function send(
  reply: FastifyReply,
  response: FhirResponse,
  { format, mediaType, pretty }: Representation,
  addresses: Pick<Addresses, 'rewriteResource'>,
): FastifyReply {
  reply.code(response.status).headers({ 'cache-control': 'no-store', ...response.headers });
  if (!response.resource) {
    return reply.send();
  }
  reply.header('content-type', `${mediaType}; charset=utf-8`);
  return reply.send(format.serialize(addresses.rewriteResource(response.resource), pretty));
}
