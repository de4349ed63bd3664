import { type Requests, requestSearches, requestsIn } from '../../requests/waiting.ts';
import { useFound, type Watched } from '../parts/use-found.ts';
import { config } from '../settings.ts';

/** What waits for an answer. New requests, and answers by others, appear by themselves. */
export const useRequests = (): Watched<Requests> =>
  useFound('requests', requestSearches(config), (found) => requestsIn(found, config));
