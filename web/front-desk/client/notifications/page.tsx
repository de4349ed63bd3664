import { Loader } from '@mantine/core';
import { Behind } from '../parts/behind.tsx';
import { Problem } from '../parts/problem.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { DeliveryCard } from './delivery-card.tsx';
import { useDeliveries } from './use-deliveries.ts';

/** What portals have been told, portal by portal: what has failed comes first. */
export function NotificationsPage() {
  const texts = useTexts();
  const { notifications: words } = texts;
  const { value, refusal, reload, isBehind } = useDeliveries();
  const all = value?.portals.flatMap(({ deliveries }) => deliveries) ?? [];
  const count = (wanted: string): number => all.filter(({ state }) => state === wanted).length;
  return (
    <>
      <h1>{words.title}</h1>
      <p className="help">{words.help}</p>
      <Behind isBehind={isBehind} />
      {refusal && <Problem refusal={refusal} onReload={() => void reload()} />}
      {!value && !refusal && <Loader aria-label={texts.loading} />}
      {value && <p role="status">{all.length === 0 ? words.none : words.summary(count('failed'), count('waiting'))}</p>}
      {value?.portals.map(({ owner, deliveries }) => (
        <section key={owner} aria-labelledby={`portal-${owner}`}>
          <h2 id={`portal-${owner}`}>{value.names.get(owner) || [words.unnamed, owner].filter(Boolean).join(' ')}</h2>
          <ul className="deliveries">
            {deliveries.map((delivery) => (
              <DeliveryCard key={delivery.id} delivery={delivery} onChanged={reload} />
            ))}
          </ul>
        </section>
      ))}
    </>
  );
}
