import { Button } from '@mantine/core';
import type { Appointment } from '@medplum/fhirtypes';
import { useState } from 'react';
import { Link } from 'wouter';
import { localDayOf } from '../../../../core/time/local-day.ts';
import { contactOf, patientNameOf, servicesOf } from '../../appointment/people.ts';
import { cancelled } from '../../appointment/status-steps.ts';
import { type Entry, entriesIn, filledIn, waitlistSearches, weekSearch } from '../../waitlist/entries.ts';
import { waitedSearches, waitedServices } from '../../waitlist/joining.ts';
import { useChange } from '../appointment/actions.tsx';
import { Phone } from '../appointment/facts.tsx';
import { searchAll, searchUrl } from '../fhir/client.ts';
import { TakeBack } from '../parts/announce.tsx';
import { momentText, shortDayText } from '../parts/format.ts';
import { Problem } from '../parts/problem.tsx';
import { useFound } from '../parts/use-found.ts';
import { useLoaded } from '../parts/use-loaded.ts';
import { useNow } from '../parts/use-now.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { OfferReply } from './offer.tsx';

function Leave({
  entry,
  name,
  onChanged,
}: {
  readonly entry: Appointment;
  readonly name: string;
  readonly onChanged: () => Promise<void>;
}) {
  const { waitlist: words } = useTexts();
  const { change, refusal, isBusy } = useChange();
  const leave = async (): Promise<void> => {
    if (await change(cancelled(entry, ''), words.left(name))) {
      await onChanged();
    }
  };
  return (
    <>
      {refusal && <Problem refusal={refusal} onReload={() => void onChanged()} />}
      <TakeBack of={entry.id ?? ''}>
        <Button variant="default" size="xs" loading={isBusy} onClick={() => void leave()}>
          {words.leave}
        </Button>
      </TakeBack>
    </>
  );
}

function Waiting({ entry, onChanged }: { readonly entry: Entry; readonly onChanged: () => Promise<void> }) {
  const { language, waitlist: words, appointment: appointmentWords } = useTexts();
  const { appointment, patient, since, wishes, offer } = entry;
  const patients = new Map(patient?.id ? [[patient.id, patient]] : []);
  const name = patientNameOf(appointment, patients) || appointmentWords.noPatient;
  const times = wishes.map(({ start, end }) => `${momentText(start, language)} – ${momentText(end, language)}`);
  return (
    <li className="delivery">
      <h3>{patient ? <Link href={`/people/${patient.id}`}>{name}</Link> : name}</h3>
      <p className="reach">
        <Phone number={contactOf(patient, 'phone')} />
      </p>
      <p>{[servicesOf(appointment), ...times].filter(Boolean).join(' · ')}</p>
      <p className="help">
        {[
          since !== undefined && words.since(shortDayText(since, language)),
          appointment.priority && words.priority(appointment.priority),
        ]
          .filter(Boolean)
          .join(' · ')}
      </p>
      {offer ? (
        <>
          <p>
            <Link href={`/calendar?date=${localDayOf(offer.start, config.timeZone)}`}>
              {words.offered(momentText(offer.start, language), momentText(offer.until, language))}
            </Link>
          </p>
          <OfferReply offer={offer.appointment} onChanged={onChanged} />
        </>
      ) : (
        <Leave entry={appointment} name={name} onChanged={onChanged} />
      )}
    </li>
  );
}

function FilledThisWeek() {
  const { waitlist: words } = useTexts();
  const now = useNow();
  const search = weekSearch(now, config.timeZone);
  const { value, refusal, reload } = useFound(`filled ${search.query[1][1]}`, [search], (found) =>
    filledIn(found, config),
  );
  const minutes = (value ?? []).reduce((sum, one) => sum + one.minutes, 0);
  return (
    <>
      {refusal && <Problem refusal={refusal} onReload={() => void reload()} />}
      <p role="status">{value && (value.length > 0 ? words.filled(minutes) : words.filledNothing)}</p>
      {value && value.length > 0 && (
        <ul>
          {value.map(({ whom, count, minutes: own }) => (
            <li key={whom}>{words.filledBy(whom, count, own)}</li>
          ))}
        </ul>
      )}
    </>
  );
}

/** The waitlist in the order of offers; empty if nobody waits and no service has one. The page reports failures. */
export function Waitlist() {
  const { waitlist: words } = useTexts();
  const now = useNow();
  const [isFilledShown, setFilledShown] = useState(false);
  const { value, refusal, reload } = useFound('waitlist', waitlistSearches, (found) => entriesIn(found, now, config));
  const holders = useLoaded('waited searches', () =>
    searchAll(waitedSearches.map(({ type, query }) => searchUrl(type, query))),
  );
  const isUsed = waitedServices(holders.value?.flat() ?? [], config).length > 0;
  return (
    <>
      {refusal && <Problem refusal={refusal} onReload={() => void reload()} />}
      {value && (value.length > 0 || isUsed) && (
        <section aria-labelledby="waitlist">
          <h2 id="waitlist">
            {words.title} ({value.length})
          </h2>
          <p className="help">{words.help}</p>
          <ol className="deliveries">
            {value.map((entry) => (
              <Waiting key={entry.id} entry={entry} onChanged={reload} />
            ))}
          </ol>
          {isFilledShown ? (
            <FilledThisWeek />
          ) : (
            <Button variant="default" onClick={() => setFilledShown(true)}>
              {words.showFilled}
            </Button>
          )}
        </section>
      )}
    </>
  );
}
