import { useEffect, useState } from 'react';
import { artefactUri } from '../../../../core/config/config.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { undeliveredQueries } from '../../messages/undelivered.ts';
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

const urls = [
  searchUrl('Appointment', [['status', 'pending'], ...onlyCount]),
  searchUrl('Subscription', [...failing, ...onlyCount]),
  ...undeliveredQueries(config).map((query) => searchUrl('Task', [...query, ...onlyCount])),
];

async function readCounts(): Promise<number[] | undefined> {
  const answer = await readAll(urls);
  return isRefusal(answer)
    ? undefined
    : resourcesIn(answer).map((one) => (isResource(one, 'Bundle') ? (one.total ?? 0) : 0));
}

/**
 * How many wait for somebody, kept up to date: requests, portals that are no longer told of anything, and people to
 * call.
 */
export function useCounts() {
  const [counts, setCounts] = useState<readonly number[]>([]);
  const show = async (seen: readonly number[] | undefined): Promise<void> =>
    seen && setCounts((before) => (before.join() === seen.join() ? before : seen));
  // biome-ignore lint/correctness/useExhaustiveDependencies: once at first; then it is watched.
  useEffect(() => void readCounts().then(show), []);
  useWatch('counts', readCounts, show, 15_000);
  const [requests = 0, notifications = 0, ...calls] = counts;
  return { requests, notifications, messages: calls.reduce((sum, one) => sum + one, 0) };
}
