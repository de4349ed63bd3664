import type { Resource, Schedule } from '@medplum/fhirtypes';
import { checkConsistency } from '../../../core/consistency/check.ts';
import { readStored, type Source } from '../../../scripts/consistency/read.ts';
import { medplum, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

/** Administrators are shown who has written a resource. */
const headers = { 'x-medplum': 'extended' };

async function resourcesAt(path: string): Promise<Resource[]> {
  const bundle = resourceIn('Bundle', await medplum('admin', 'GET', path, { headers }));
  if (bundle.link?.some(({ relation }) => relation === 'next')) {
    throw new Error(`More than one page: ${path}`);
  }
  return (bundle.entry ?? []).flatMap(({ resource }) => resource ?? []);
}

const source: Source = {
  search: (type, query) => resourcesAt(`/${type}?${new URLSearchParams({ ...query, _count: '1000' })}`),
  versions: (id) => resourcesAt(`/Appointment/${id}/_history`),
};

/** What does not agree on some schedules, each as `rule: Type/id: sentence`. */
export async function inconsistencies(...schedules: readonly Schedule[]): Promise<string[]> {
  const state = await readStored(
    source,
    config,
    schedules.map(({ id }) => `Schedule/${id}`),
  );
  return checkConsistency(state, { now: Date.now(), config }).map(
    ({ rule, resource, diagnostics }) => `${rule}: ${resource}: ${diagnostics}`,
  );
}
