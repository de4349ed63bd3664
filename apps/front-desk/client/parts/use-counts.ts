import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { isResource } from '../../../../core/fhir/resource.ts';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import { undeliveredQueries } from '../../messages/undelivered.ts';
import { type Query, readAll, resourcesIn, searchUrl } from '../fhir/client.ts';
import { config } from '../settings.ts';
import { useWatched } from './use-found.ts';

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

async function readCounts(): Promise<number[] | Refusal> {
  const answer = await readAll(urls);
  return isRefusal(answer)
    ? answer
    : resourcesIn(answer).map((one) => (isResource(one, 'Bundle') ? (one.total ?? 0) : 0));
}

/** The numbers of requests, failing Subscriptions and people to call, kept up to date. */
export function useCounts() {
  const { data } = useWatched('counts', readCounts, { pause: 15_000 });
  const [requests = 0, notifications = 0, ...calls] = data ?? [];
  return { requests, notifications, messages: calls.reduce((sum, one) => sum + one, 0) };
}
