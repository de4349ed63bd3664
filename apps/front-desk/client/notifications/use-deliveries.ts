import {
  type Delivery,
  deliveriesIn,
  deliverySearches,
  type PortalDeliveries,
} from '../../notifications/deliveries.ts';
import { deliver } from '../fhir/client.ts';
import { namesOf } from '../fhir/names.ts';
import { useFound, type Watched } from '../parts/use-found.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

/** The deliveries of all portals, with the portals' names by their ids. */
interface Deliveries {
  readonly portals: readonly PortalDeliveries[];
  readonly names: ReadonlyMap<string, string>;
}

/** What portals have been told, and what waits. What the service does meanwhile appears by itself. */
export const useDeliveries = (): Watched<Deliveries> =>
  useFound('deliveries', deliverySearches(config), async (found) => {
    const portals = deliveriesIn(found, Date.now(), config);
    return { portals, names: await namesOf(portals.map(({ owner }) => owner)) };
  });

/**
 * Asks the service to send again. A request under way is not repeated; the service starts only one delivery however often it
 * is asked. A refusal is forgotten when the state of the delivery is no longer the one at the time of asking.
 */
export function useDeliver({ id, action, state, attempts, delivered }: Delivery, onAsked: () => Promise<void>) {
  const { notifications: words } = useTexts();
  const { submit, ...rest } = useSubmit([state, action, attempts, delivered].join());
  const ask = async (): Promise<boolean> => {
    const answer = action && (await submit(() => deliver(id), words.done[action]));
    if (answer) {
      await onAsked();
    }
    return answer !== undefined;
  };
  return { ask, ...rest };
}
