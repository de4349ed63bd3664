import { allOk, DEFAULT_MAX_SEARCH_COUNT, getStatus } from '@medplum/core';
import type { Bundle, BundleEntry, OperationOutcome } from '@medplum/fhirtypes';
import type { StoredResource, Write } from '../storage/change.ts';

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
 * @param versions - all of them, the newest first
 * @param page - `_count` (default 100, at most 1000) and `_offset`
 * @param show - reduces a version to what the caller may see of it
 * @see https://hl7.org/fhir/R4/http.html#history
 */
export function historyBundle(
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
