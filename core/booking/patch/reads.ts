import type { Appointment, Bundle, BundleEntry } from '@medplum/fhirtypes';
import { isResource } from '../../fhir/resource.ts';

/** What a caller may see of an appointment that it wants to change. */
type PatchTarget =
  | { readonly kind: 'found'; readonly appointment: Appointment }
  /** Read, but not found by a search: deleted, unless the database that is searched lags behind. */
  | { readonly kind: 'doubtful'; readonly appointment: Appointment }
  /** It never existed, or is not the caller's. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'failed'; readonly status: number };

/**
 * What must be read before an appointment is changed, as one batch. It must be sent with the caller's own credentials: a
 * caller cannot change what it may not see. The appointment itself is searched for, because only a search asks the database:
 * what Medplum reads by id comes from its cache, which may be older. The read gives the reason if the search finds nothing.
 *
 * @param id - of the appointment
 */
export function patchReads(id: string): Bundle {
  const urls = [`Appointment?_id=${encodeURIComponent(id)}`, `Appointment/${encodeURIComponent(id)}`];
  const entry = urls.map((url): BundleEntry => ({ request: { method: 'GET', url } }));
  return { resourceType: 'Bundle', type: 'batch', entry };
}

const statusOf = (entry: BundleEntry | undefined): number => Number.parseInt(entry?.response?.status ?? '500', 10);

/** Reads the answer to `patchReads`. */
export function readPatchTarget(response: Bundle): PatchTarget {
  const [searched, read] = response.entry ?? [];
  const found = searched?.resource;
  if (statusOf(searched) !== 200 || !isResource(found, 'Bundle')) {
    return { kind: 'failed', status: statusOf(searched) };
  }
  const appointment = found.entry?.[0]?.resource;
  if (isResource(appointment, 'Appointment')) {
    return { kind: 'found', appointment };
  }
  const status = statusOf(read);
  if (status === 404 || status === 403) {
    return { kind: 'unknown' };
  }
  if (isResource(read?.resource, 'Appointment')) {
    return { kind: 'doubtful', appointment: read.resource };
  }
  return status === 410 ? { kind: 'deleted' } : { kind: 'failed', status };
}
