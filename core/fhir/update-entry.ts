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

/**
 * Entries in an order that all writers share: two transactions that change the same resources in different orders wait
 * for each other until the database ends one of them.
 */
export function inWriteOrder(entries: readonly BundleEntry[]): BundleEntry[] {
  const urlOf = ({ request }: BundleEntry): string => request?.url ?? '';
  return entries.toSorted((one, other) => (urlOf(one) < urlOf(other) ? -1 : urlOf(one) > urlOf(other) ? 1 : 0));
}
