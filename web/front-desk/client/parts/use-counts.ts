import { useEffect, useState } from 'react';
import { artefactUri } from '../../../../core/config/config.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { type Query, readAll, resourcesIn, searchUrl } from '../fhir/client.ts';
import { config } from '../settings.ts';
import { useWatch } from './use-loaded.ts';

const onlyCount: Query = [
  ['_count', '0'],
  ['_total', 'accurate'],
];

const failing: Query = [
  ['_profile', artefactUri(config, 'LocalSubscriptionTermin')],
  ['status', 'error'],
];

/** What waits for somebody: requests, and portals that are no longer told of anything. */
export interface Counts {
  readonly requests: number;
  readonly notifications: number;
}

async function readCounts(): Promise<Counts | undefined> {
  const answer = await readAll([
    searchUrl('Appointment', [['status', 'pending'], ...onlyCount]),
    searchUrl('Subscription', [...failing, ...onlyCount]),
  ]);
  const [requests = 0, notifications = 0] = isRefusal(answer)
    ? []
    : resourcesIn(answer).map((one) => (isResource(one, 'Bundle') ? (one.total ?? 0) : 0));
  return isRefusal(answer) ? undefined : { requests, notifications };
}

/** How many wait, kept up to date. */
export function useCounts(): Counts {
  const [counts, setCounts] = useState<Counts>({ requests: 0, notifications: 0 });
  const show = async (seen: Counts | undefined): Promise<void> => {
    if (seen) {
      setCounts((before) =>
        before.requests === seen.requests && before.notifications === seen.notifications ? before : seen,
      );
    }
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once at first; then it is watched.
  useEffect(() => void readCounts().then(show), []);
  useWatch('counts', readCounts, show, 15_000);
  return counts;
}
