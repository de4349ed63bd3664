import { useRef, useState } from 'react';
import { isRefusal, type Refusal } from '../../fhir/refusal.ts';
import {
  type Delivery,
  deliveriesIn,
  deliverySearches,
  type PortalDeliveries,
} from '../../notifications/deliveries.ts';
import { deliver, readBundle, searchAll, searchUrl } from '../fhir/client.ts';
import { namesOf } from '../fhir/names.ts';
import { useAnnounce } from '../parts/announce.tsx';
import { useLoaded, useWatch, type Watched } from '../parts/use-loaded.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

const ALL = ['_count', '1000'] as const;

/** The deliveries of all portals, with the portals' names by their ids. */
export interface Deliveries {
  readonly portals: readonly PortalDeliveries[];
  readonly names: ReadonlyMap<string, string>;
}

async function load(): Promise<Deliveries | Refusal> {
  const { subscriptions, outboxes } = deliverySearches(config);
  const found = await searchAll([
    searchUrl('Subscription', [...subscriptions, ALL]),
    searchUrl('Task', [...outboxes, ALL]),
  ]);
  if (isRefusal(found)) {
    return found;
  }
  const portals = deliveriesIn(found.flat(), Date.now(), config);
  return { portals, names: await namesOf(portals.map(({ owner }) => owner)) };
}

/** How the deliveries stand: how many there are, and which was written last. */
async function look(): Promise<string | undefined> {
  const newest = [['_sort', '-_lastUpdated'] as const, ['_count', '1'] as const, ['_total', 'accurate'] as const];
  const { subscriptions, outboxes } = deliverySearches(config);
  const seen = await Promise.all(
    [searchUrl('Subscription', [...subscriptions, ...newest]), searchUrl('Task', [...outboxes, ...newest])].map(
      async (url) => {
        const bundle = await readBundle(url);
        return isRefusal(bundle) ? undefined : `${bundle.total} ${bundle.entry?.[0]?.resource?.meta?.versionId}`;
      },
    ),
  );
  return seen.includes(undefined) ? undefined : seen.join();
}

/** What portals have been told, and what waits. What the service does meanwhile appears by itself. */
export function useDeliveries(): Watched<Deliveries> {
  const loaded = useLoaded('deliveries', load);
  const isBehind = useWatch('deliveries', look, () => void loaded.reload());
  return { ...loaded, isBehind };
}

/**
 * Asks the service to send again. While it is asked, it is not asked once more; the service starts one delivery however often it
 * is. A refusal is forgotten when the delivery stands otherwise than when it was asked.
 */
export function useDeliver({ id, action, state, attempts, delivered }: Delivery, onAsked: () => Promise<void>) {
  const announce = useAnnounce();
  const { notifications: words } = useTexts();
  const now = [state, action, attempts, delivered].join();
  const [refused, setRefused] = useState<{ readonly refusal: Refusal; readonly asOf: string }>();
  const [isBusy, setBusy] = useState(false);
  const isAsking = useRef(false);
  const ask = async (): Promise<boolean> => {
    if (isAsking.current || !action) {
      return false;
    }
    isAsking.current = true;
    setBusy(true);
    const answer = await deliver(id);
    setRefused(isRefusal(answer) ? { refusal: answer, asOf: now } : undefined);
    if (!isRefusal(answer)) {
      announce(words.done[action]);
      await onAsked();
    }
    isAsking.current = false;
    setBusy(false);
    return !isRefusal(answer);
  };
  const refusal = refused?.asOf === now ? refused.refusal : undefined;
  return { ask, refusal, isBusy, forget: () => setRefused(undefined) };
}
