import type { Appointment, Bundle, BundleEntry } from '@medplum/fhirtypes';
import { isResource } from '../../fhir/resource.ts';

/** The appointment to be changed, as far as the caller may see it. */
type PatchTarget =
  | { readonly kind: 'found'; readonly appointment: Appointment }
  /** Read by id, but not found by a search: it is deleted, or the searched database lags behind. */
  | { readonly kind: 'doubtful'; readonly appointment: Appointment }
  /** It never existed, or the caller may not see it. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'failed'; readonly status: number };

/**
 * The reads before an appointment is changed, as one batch. They must use the caller's own credentials: a caller cannot
 * change an appointment that it may not see. The search gives the current appointment, because Medplum's read by id
 * uses a cache that may be older. The read gives the reason if the search finds nothing.
 * @param id - of the appointment
 */
export function patchReads(id: string): Bundle {
  const urls = [`Appointment?_id=${encodeURIComponent(id)}`, `Appointment/${encodeURIComponent(id)}`];
  const entry = urls.map((url): BundleEntry => ({ request: { method: 'GET', url } }));
  return { resourceType: 'Bundle', type: 'batch', entry };
}

const statusOf = (entry: BundleEntry | undefined): number => Number.parseInt(entry?.response?.status ?? '500', 10);

/** Reads the response to `patchReads`. */
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
