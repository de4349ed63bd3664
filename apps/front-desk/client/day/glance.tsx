import type { Appointment, Schedule } from '@medplum/fhirtypes';
import { isResource } from '../../../../core/fhir/resource.ts';
import { historyOf } from '../../appointment/history.ts';
import { patientNameOf, servicesOf } from '../../appointment/people.ts';
import { type CalendarData, cancelledIn, timeOf, waitingIn } from '../../day/entries.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { readAll, resourcesIn } from '../fhir/client.ts';
import { momentText, timeText } from '../parts/format.ts';
import { useLoaded } from '../parts/use-loaded.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

function useArrivals(waiting: readonly Appointment[]): ReadonlyMap<string, number> {
  const ids = waiting.flatMap(({ id }) => id ?? []);
  const { value } = useLoaded(`arrivals ${waiting.map(({ id, meta }) => `${id}/${meta?.versionId}`)}`, async () => {
    const answer =
      ids.length === 0 ? undefined : await readAll(ids.map((id) => `Appointment/${id}/_history?_count=20`));
    if (!answer || isRefusal(answer)) {
      return new Map<string, number>();
    }
    const histories = resourcesIn(answer).map((one) =>
      isResource(one, 'Bundle') ? resourcesIn(one).filter((version) => isResource(version, 'Appointment')) : [],
    );
    return new Map(
      histories.flatMap((versions): [string, number][] => {
        const steps = historyOf(versions, config);
        const before = steps.findIndex(({ status }) => status !== 'arrived' && status !== 'checked-in');
        const arrival = steps.at(before < 0 ? -1 : before - 1);
        return arrival?.at === undefined ? [] : [[arrival.appointment.id ?? '', arrival.at]];
      }),
    );
  });
  return value ?? new Map();
}

/** The patients who have arrived, and since when. */
export function WaitingRoom({ data, onOpen }: { readonly data: CalendarData; readonly onOpen: (key: string) => void }) {
  const { language, day: words, appointment } = useTexts();
  const waiting = waitingIn(data);
  const arrivals = useArrivals(waiting);
  return waiting.length === 0 ? null : (
    <section className="glance" aria-labelledby="waiting">
      <h2 id="waiting">{words.waitingRoom(waiting.length)}</h2>
      <ul>
        {waiting.map((one) => {
          const since = arrivals.get(one.id ?? '');
          return (
            <li key={one.id}>
              <button type="button" className="link" onClick={() => onOpen(`Appointment/${one.id}`)}>
                {patientNameOf(one, data.patients) || appointment.noPatient}
              </button>{' '}
              {since !== undefined && words.since(timeText(since, language))}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** The cancelled appointments of these days. */
export function Cancelled({
  data,
  schedules,
  all,
  onOpen,
}: {
  readonly data: CalendarData;
  readonly schedules: readonly Schedule[];
  readonly all: readonly Schedule[];
  readonly onOpen: (key: string) => void;
}) {
  const { language, day: words, appointment } = useTexts();
  const cancelled = cancelledIn(data, schedules, all);
  return cancelled.length === 0 ? null : (
    <section className="glance" aria-labelledby="cancelled">
      <h2 id="cancelled">{words.cancelled(cancelled.length)}</h2>
      <ul>
        {cancelled.map((one) => {
          const time = timeOf(one);
          return (
            <li key={one.id}>
              {time && momentText(time.start, language)}{' '}
              <button type="button" className="link" onClick={() => onOpen(`Appointment/${one.id}`)}>
                {patientNameOf(one, data.patients) || appointment.noPatient}
              </button>{' '}
              {servicesOf(one)}
            </li>
          );
        })}
      </ul>
    </section>
  );
}
