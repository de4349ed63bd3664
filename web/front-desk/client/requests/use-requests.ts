import { isRefusal } from '../../fhir/refusal.ts';
import { type Requests, requestSearches, requestsIn } from '../../requests/waiting.ts';
import { readBundle, searchAll, searchUrl } from '../fhir/client.ts';
import { useLoaded, useWatch, type Watched } from '../parts/use-loaded.ts';
import { config } from '../settings.ts';

const ALL = ['_count', '1000'] as const;

/** How the requests stand: how many wait, and which was written last. */
async function look(): Promise<string | undefined> {
  const newest = [['_sort', '-_lastUpdated'] as const, ['_count', '1'] as const, ['_total', 'accurate'] as const];
  const bundle = await readBundle(searchUrl('Appointment', [['status', 'pending'], ...newest]));
  return isRefusal(bundle) ? undefined : `${bundle.total} ${bundle.entry?.[0]?.resource?.meta?.versionId}`;
}

/** What waits for an answer. New requests, and answers of others, appear by themselves. */
export function useRequests(): Watched<Requests> {
  const loaded = useLoaded('requests', async () => {
    const { appointments, tasks } = requestSearches(config);
    const found = await searchAll([
      searchUrl('Appointment', [...appointments, ALL]),
      searchUrl('Task', [...tasks, ALL]),
    ]);
    return isRefusal(found) ? found : requestsIn(found.flat(), config);
  });
  const isBehind = useWatch('requests', look, () => void loaded.reload());
  return { ...loaded, isBehind };
}
