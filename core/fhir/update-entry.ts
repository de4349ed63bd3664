import type { BundleEntry, Resource } from '@medplum/fhirtypes';

/**
 * A transaction entry that changes a stored resource, if it still has the version that was read.
 *
 * @param stored - as it was read
 * @param changed - as it is to be stored; its `id` is that of the stored one in any case
 * @see https://hl7.org/fhir/R4/http.html#concurrency
 */
export function updateEntry<T extends Resource>(stored: T, changed: T): BundleEntry {
  const { resourceType, id, meta } = stored;
  return {
    request: { method: 'PUT', url: `${resourceType}/${id}`, ifMatch: `W/"${meta?.versionId}"` },
    resource: changed,
  };
}
