import type { Appointment, Bundle, BundleEntry } from '@medplum/fhirtypes';
import { isResource } from '../fhir/resource.ts';

/** What a caller may see of an appointment that it wants to change. */
export type PatchTarget =
  | { readonly kind: 'found'; readonly appointment: Appointment }
  /** Never there, or not the caller's. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'failed'; readonly status: number };

/**
 * What must be read before an appointment is changed, as one batch. It is to be sent with the caller's own credentials:
 * what the caller may not see it cannot change.
 *
 * @param id - of the appointment
 */
export function patchReads(id: string): Bundle {
  const entry: BundleEntry[] = [{ request: { method: 'GET', url: `Appointment/${id}` } }];
  return { resourceType: 'Bundle', type: 'batch', entry };
}

/** Reads the answer to `patchReads`. */
export function readPatchTarget(response: Bundle): PatchTarget {
  const read = response.entry?.[0];
  const status = Number.parseInt(read?.response?.status ?? '500', 10);
  if (isResource(read?.resource, 'Appointment')) {
    return { kind: 'found', appointment: read.resource };
  }
  if (status === 404 || status === 403) {
    return { kind: 'unknown' };
  }
  return status === 410 ? { kind: 'deleted' } : { kind: 'failed', status };
}

/** What tells a requestor that its appointment was deleted, to be sent with the Bot's own credentials. */
export function historyReads(id: string): Bundle {
  const entry: BundleEntry[] = [{ request: { method: 'GET', url: `Appointment/${id}/_history` } }];
  return { resourceType: 'Bundle', type: 'batch', entry };
}

/**
 * Reads the answer to `historyReads`. Medplum hides a deleted resource from whoever finds it by its tags; to its owner
 * it is gone all the same, not unknown.
 *
 * @returns the last version of an appointment that was deleted, or `undefined`
 */
export function readDeleted(response: Bundle): Appointment | undefined {
  const history = response.entry?.[0]?.resource;
  const [newest, ...older] = isResource(history, 'Bundle') ? (history.entry ?? []) : [];
  const isDeleted = newest !== undefined && newest.resource === undefined;
  const last = older.find(({ resource }) => resource !== undefined)?.resource;
  return isDeleted && isResource(last, 'Appointment') ? last : undefined;
}
