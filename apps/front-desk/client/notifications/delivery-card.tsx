import { Button, Loader } from '@mantine/core';
import { type ReactNode, useRef, useState } from 'react';
import { Link } from 'wouter';
import { isRefusal } from '../../fhir/refusal.ts';
import { type Delivery, type DeliveryState, eventsIn, firstListed } from '../../notifications/deliveries.ts';
import { events } from '../fhir/client.ts';
import { momentText } from '../parts/format.ts';
import { Problem, ServerSays } from '../parts/problem.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import { useTexts } from '../parts/use-texts.ts';
import { useDeliver } from './use-deliveries.ts';

function EventList({ delivery }: { readonly delivery: Delivery }) {
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

/** A sign for each state, so that colour is not the only distinction. */
const signOf: Readonly<Record<DeliveryState, string>> = {
  failed: '✕',
  waiting: '◔',
  sending: '→',
  unknown: '?',
  delivered: '✓',
  ended: '■',
};

function Fact({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** A Subscription of a portal: the state of its delivery, the reason, and actions of staff. */
export function DeliveryCard({
  delivery,
  onChanged,
}: {
  readonly delivery: Delivery;
  readonly onChanged: () => Promise<void>;
}) {
  const { language, notifications: words } = useTexts();
  const { id, topic, channel, filters, state, action, events, delivered, attempts, sent, nextAttempt, error } =
    delivery;
  const heading = useRef<HTMLHeadingElement>(null);
  const [isOpen, setOpen] = useState(false);
  const { ask, refusal, isBusy, forget } = useDeliver(delivery, onChanged);
  // The button disappears when nothing is left to do, so the focus moves to the heading.
  const send = async (): Promise<void> => {
    if (await ask()) {
      heading.current?.focus();
    }
  };
  return (
    <li className={`delivery ${state}`} data-subscription={id}>
      <h3 ref={heading} tabIndex={-1}>
        <span aria-hidden="true">{signOf[state]} </span>
        {topic ? words.topic[topic] : words.unknownTopic}
        {channel && `, ${words.channel[channel]}`}: <span className="state">{words.state[state]}</span>
      </h3>
      <p>{words.meaning[state]}</p>
      <dl className="facts">
        <Fact label={words.progress}>{words.of(delivered, events)}</Fact>
        <Fact label={words.lastSent}>{sent === undefined ? words.never : momentText(sent, language)}</Fact>
        {attempts > 0 && <Fact label={words.attempts}>{attempts}</Fact>}
        {nextAttempt !== undefined && <Fact label={words.nextAttempt}>{momentText(nextAttempt, language)}</Fact>}
        {error && (
          <Fact label={words.reason}>
            <ServerSays sentences={[error]} />
          </Fact>
        )}
        {filters.length > 0 && <Fact label={words.filters}>{filters.join(', ')}</Fact>}
      </dl>
      {refusal && (
        <Problem
          refusal={refusal}
          onReload={() => {
            forget();
            void onChanged();
          }}
        />
      )}
      {action && (
        <Button loading={isBusy} onClick={() => void send()}>
          {words.action[action]}
        </Button>
      )}
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{words.events}</summary>
        {isOpen && <EventList delivery={delivery} />}
      </details>
    </li>
  );
}
