import {
  allOk,
  DEFAULT_MAX_SEARCH_COUNT,
  forbidden,
  getStatus,
  gone,
  isGone,
  isUUID,
  normalizeOperationOutcome,
  notFound,
  OperationOutcomeError,
  parseReference,
} from '@medplum/core';
import type { Bundle, BundleEntry, OperationOutcome, Reference } from '@medplum/fhirtypes';
import { visible } from '../access/fields.ts';
import { assertResourceType, assertSupports, permission, readable } from '../access/permissions.ts';
import { rowOf, type StoredResource, type Write } from '../storage/change.ts';
import { type RepositoryContext, searchSource } from './context.ts';

function outcomeOf(version: Write): OperationOutcome {
  if (version.resource) {
    return allOk;
  }
  const text = `Deleted on ${new Date(version.lastUpdated)}`;
  return {
    resourceType: 'OperationOutcome',
    id: 'gone',
    issue: [{ severity: 'error', code: 'deleted', details: { text } }],
  };
}

function entryOf(version: Write, fullUrl: string, show: (resource: StoredResource) => StoredResource): BundleEntry {
  const { resource, type, id, versionId } = version;
  const outcome = outcomeOf(version);
  return {
    fullUrl,
    request: { method: 'GET', url: `${type}/${id}/_history/${versionId}` },
    response: { status: String(getStatus(outcome)), outcome },
    ...(resource && { resource: show(resource) }),
  };
}

/**
 * The history of a resource as Medplum returns it.
 *
 * @param versions - all versions, the newest first
 * @param page - `_count` (default 100, at most 1000) and `_offset`
 * @param show - removes the fields that are hidden from the caller
 * @see https://hl7.org/fhir/R4/http.html#history
 */
function historyBundle(
  versions: readonly Write[],
  page: { readonly limit?: number | undefined; readonly offset?: number | undefined },
  fullUrl: string,
  show: (resource: StoredResource) => StoredResource,
): Bundle {
  const limit = Math.min(Math.max(page.limit ?? 100, 0), DEFAULT_MAX_SEARCH_COUNT);
  const offset = Math.max(page.offset ?? 0, 0);
  return {
    resourceType: 'Bundle',
    type: 'history',
    entry: versions.slice(offset, offset + limit).map((version) => entryOf(version, fullUrl, show)),
    total: versions.length,
  };
}

/**
 * Reads the whole current version, with no field hidden.
 *
 * @throws OperationOutcomeError: 403 for a type that the caller may not read at all; 404 for a missing resource, one
 *   outside the caller's criteria, or an id that is not a UUID; 410 for a deleted one
 */
export function readStored(context: RepositoryContext, type: string, id: string): StoredResource {
  if (!isUUID(id)) {
    throw new OperationOutcomeError(notFound);
  }
  assertResourceType(type);
  assertSupports(context.caller, 'read', type);
  const cached = context.unit.cached(type, id)?.resource;
  if (cached && permission(context.caller, 'read', cached)) {
    return cached;
  }
  const version = context.unit.find(type, id);
  const isPlainlyReadable = version?.resource && permission(context.caller, 'read', version.resource);
  if (!version) {
    throw new OperationOutcomeError(notFound);
  }
  // Criteria cannot match the values of a deleted resource: it has none.
  const row = version.resource ?? rowOf(version, { project: context.caller.project?.id });
  if (!isPlainlyReadable && !readable(searchSource(context), context.caller, type, 'read')(row)) {
    throw new OperationOutcomeError(notFound);
  }
  if (!version.resource) {
    throw new OperationOutcomeError(gone);
  }
  return version.resource;
}

/**
 * Follows a reference. The error of a resource that cannot be read is returned as a value.
 *
 * @throws OperationOutcomeError (403) for a type that the caller may not read
 */
export function readReferenced(context: RepositoryContext, { reference }: Reference): StoredResource | Error {
  if (!reference?.match(/^[A-Z][a-zA-Z]+\//)) {
    return new OperationOutcomeError(notFound);
  }
  try {
    const [type, id] = parseReference({ reference });
    return visible(context.caller, readStored(context, type, id));
  } catch (error) {
    return error instanceof Error ? error : new OperationOutcomeError(normalizeOperationOutcome(error));
  }
}

/** Anyone who could read a resource can still read its history after its deletion. */
function assertInstance(context: RepositoryContext, type: string, id: string, interaction: 'history' | 'vread'): void {
  try {
    if (!permission(context.caller, interaction, readStored(context, type, id))) {
      throw new OperationOutcomeError(forbidden);
    }
  } catch (error) {
    if (!(error instanceof OperationOutcomeError) || !isGone(error.outcome)) {
      throw error;
    }
  }
}

/**
 * All versions of a resource, the newest first.
 *
 * @see https://hl7.org/fhir/R4/http.html#history
 */
export function readHistory(
  context: RepositoryContext,
  type: string,
  id: string,
  page: { readonly limit?: number | undefined; readonly offset?: number | undefined },
): Bundle {
  assertInstance(context, type, id, 'history');
  assertResourceType(type);
  const fullUrl = `${context.platform.baseUrl()}fhir/R4/${type}/${id}`;
  return historyBundle(context.unit.versions(type, id), page, fullUrl, (resource) => visible(context.caller, resource));
}

/**
 * One version of a resource.
 *
 * @throws OperationOutcomeError: 404 for an unknown version, 410 for the one that deleted the resource
 * @see https://hl7.org/fhir/R4/http.html#vread
 */
export function readVersion(context: RepositoryContext, type: string, id: string, versionId: string): StoredResource {
  if (!isUUID(id) || !isUUID(versionId)) {
    throw new OperationOutcomeError(notFound);
  }
  assertInstance(context, type, id, 'vread');
  assertResourceType(type);
  const version = context.unit.versions(type, id).find((candidate) => candidate.versionId === versionId);
  if (!version?.resource) {
    throw new OperationOutcomeError(version ? gone : notFound);
  }
  return visible(context.caller, version.resource);
}
