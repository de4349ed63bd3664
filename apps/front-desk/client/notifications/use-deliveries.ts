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

interface Deliveries {
  readonly portals: readonly PortalDeliveries[];
  readonly names: ReadonlyMap<string, string>;
}

/** The deliveries to all portals, with the names of the portals; kept up to date. */
export const useDeliveries = (): Watched<Deliveries> =>
  useFound('deliveries', deliverySearches(config), async (found) => {
    const portals = deliveriesIn(found, Date.now(), config);
    return { portals, names: await namesOf(portals.map(({ owner }) => owner)) };
  });

/** Requests another delivery; the service starts only one. A refusal is forgotten when the state changes. */
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
