import { Loader } from '@mantine/core';
import { Link } from 'wouter';
import { isRefusal } from '../../fhir/refusal.ts';
import type { Delivery } from '../../notifications/deliveries.ts';
import { eventsIn, firstListed } from '../../notifications/events.ts';
import { events } from '../fhir/client.ts';
import { momentText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import { useTexts } from '../parts/use-texts.ts';

/** The last events of a Subscription, the newest first: when, about which appointment, and whether it was delivered. */
export function EventList({ delivery }: { readonly delivery: Delivery }) {
  const texts = useTexts();
  const { language, notifications: words } = texts;
  const { id, events: count, delivered } = delivery;
  const { value, refusal, reload } = useLoaded(`events ${id} ${count}`, async () => {
    const answer = count > 0 ? await events(id, firstListed(count)) : undefined;
    return answer && isRefusal(answer) ? answer : eventsIn(answer);
  });
  if (!value) {
    return refusal ? (
      <Problem refusal={refusal} onReload={() => void reload()} />
    ) : (
      <Loader size="sm" aria-label={texts.loading} />
    );
  }
  return value.length === 0 ? (
    <p>{words.noEvents}</p>
  ) : (
    <ol className="events">
      {value.map(({ number, time, appointment }) => (
        <li key={number} value={number}>
          {time !== undefined && `${momentText(time, language)}: `}
          {number <= delivered ? words.counts.eventDelivered : words.counts.eventWaits}
          {appointment && (
            <>
              {', '}
              <Link href={`/calendar?open=Appointment/${appointment}`}>{`${words.appointment} (${number})`}</Link>
            </>
          )}
        </li>
      ))}
    </ol>
  );
}
