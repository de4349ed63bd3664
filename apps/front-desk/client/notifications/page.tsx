import { Loading } from '../parts/loading.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { DeliveryCard } from './delivery-card.tsx';
import { useDeliveries } from './use-deliveries.ts';

/** The notifications by portal; failed deliveries come first. */
export function NotificationsPage() {
  const { notifications: words } = useTexts();
  const deliveries = useDeliveries();
  const { value, reload } = deliveries;
  const all = value?.portals.flatMap((portal) => portal.deliveries) ?? [];
  const count = (wanted: string): number => all.filter(({ state }) => state === wanted).length;
  return (
    <>
      <h1>{words.title}</h1>
      <p className="help">{words.help}</p>
      <Loading of={[deliveries]} />
      {value && <p role="status">{all.length === 0 ? words.none : words.summary(count('failed'), count('waiting'))}</p>}
      {value?.portals.map(({ owner, deliveries: own }) => (
        <section key={owner} aria-labelledby={`portal-${owner}`}>
          <h2 id={`portal-${owner}`}>{value.names.get(owner) || [words.unnamed, owner].filter(Boolean).join(' ')}</h2>
          <ul className="deliveries">
            {own.map((delivery) => (
              <DeliveryCard key={delivery.id} delivery={delivery} onChanged={reload} />
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}
