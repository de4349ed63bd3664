import { Alert, Button } from '@mantine/core';
import type { Schedule } from '@medplum/fhirtypes';
import { type ReactNode, useCallback, useMemo } from 'react';
import { Link } from 'wouter';
import { isResource, nameOf } from '../../../../core/fhir/resource.ts';
import { intervalOf } from '../../../../core/time/local-day.ts';
import { patientNameOf } from '../../appointment/people.ts';
import { type Entry, entriesOf, unplacedOf, withChange } from '../../day/entries.ts';
import { kinds, signOf } from '../../day/kinds.ts';
import { isRefusal } from '../../fhir/refusal.ts';
import { useAppointment } from '../appointment/use-appointment.ts';
import { readBundle, resourcesIn, searchUrl } from '../fhir/client.ts';
import { useAnnouncements } from '../parts/announce.tsx';
import { dayText, timeText } from '../parts/format.ts';
import { Loading } from '../parts/loading.tsx';
import { useLoaded } from '../parts/use-loaded.ts';
import { useNow } from '../parts/use-now.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { DayList } from './day-list.tsx';
import { Cancelled, WaitingRoom } from './glance.tsx';
import { Grid } from './grid.tsx';
import { Opened } from './opened.tsx';
import { daysOf, newAt, useDayRoute } from './route.ts';
import { Toolbar } from './toolbar.tsx';
import { useCalendar, useSchedules } from './use-calendar.ts';

/** Calendars that are shown if none are chosen. A week has seven columns for each. */
const FIRST = { day: 40, week: 1 } as const;

const nothing: readonly Schedule[] = [];

function Legend() {
  const texts = useTexts();
  return (
    <ul className="legend" aria-label={texts.day.legend}>
      {kinds.map((kind) => (
        <li key={kind} className={kind}>
          <span aria-hidden="true">{signOf[kind]}</span> {texts.kind[kind]}
        </li>
      ))}
    </ul>
  );
}

function Choosing(props: {
  readonly title: string;
  readonly stop: string;
  readonly onStop: () => void;
  readonly children?: ReactNode;
}) {
  const { appointment: words } = useTexts();
  return (
    <Alert className="moving" variant="outline" title={props.title}>
      <p>{words.movingHelp}</p>
      {props.children}
      <Button size="xs" variant="default" onClick={props.onStop}>
        {props.stop}
      </Button>
    </Alert>
  );
}

/** Day and week: a column for each calendar. */
export function CalendarPage() {
  const texts = useTexts();
  const [route, go] = useDayRoute();
  const now = useNow();
  const schedules = useSchedules();
  const all = schedules.value ?? nothing;
  const wanted = route.schedules.join();
  // The route changes with each click that opens something; the columns must not be drawn again for that.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the ids say which are wanted.
  const chosen = useMemo(() => {
    const named = all.filter(({ id }) => route.schedules.includes(id ?? ''));
    return named.length > 0 ? named : all.filter(({ active }) => active !== false).slice(0, FIRST[route.span]);
  }, [all, wanted, route.span]);
  const ids = chosen.flatMap(({ id }) => id ?? []);
  const { day, span } = route;
  const days = useMemo(() => daysOf({ day, span }), [day, span]);
  const calendar = useCalendar(ids, days);
  const { waiting } = useAnnouncements();
  const becomes = waiting?.becomes;
  const read = calendar.value;
  // A change that waits to be written is shown already.
  const data = useMemo(() => read && withChange(read, becomes), [read, becomes]);
  const reload = useCallback(() => void calendar.reload(), [calendar.reload]);

  const versionOf = (id: string | undefined) =>
    data?.appointments.find((appointment) => appointment.id === id)?.meta?.versionId;
  const moved = useAppointment(route.moving, versionOf(route.moving));
  const moving = moved.value;
  const wantedFor = useLoaded(`for ${route.person ?? ''}`, async () => {
    const found = route.person ? await readBundle(searchUrl('Patient', [['_id', route.person]])) : undefined;
    return found && isRefusal(found) ? found : { patients: found ? resourcesIn(found) : [] };
  });
  const person = wantedFor.value?.patients.find((one) => isResource(one, 'Patient'));
  const entry = useMemo(
    () =>
      data && route.open
        ? chosen.flatMap((schedule) => entriesOf(schedule, data)).find(({ key }) => key === route.open)
        : undefined,
    [data, route.open, chosen],
  );
  const open = useCallback((key: string) => go({ open: key }), [go]);
  const openEmpty = useCallback((schedule: string, start: number) => go({ open: newAt(schedule, start) }), [go]);
  const drop = useCallback((moved: string, onto: Entry) => go({ moving: moved, open: onto.key }), [go]);
  const unplaced = data ? unplacedOf(all, data) : [];
  const first = dayText(intervalOf(days[0] ?? '', config.timeZone).start, texts.language);
  const title = route.span === 'day' ? first : texts.day.weekFrom(first);
  return (
    <>
      <h1 aria-live="polite">{title}</h1>
      <Toolbar route={route} go={go} schedules={all} shown={ids} />
      {moving && (
        <Choosing
          title={texts.appointment.moving(moving.name || texts.appointment.noPatient)}
          stop={texts.appointment.stopMoving}
          onStop={() => go({ moving: undefined })}
        />
      )}
      {person && (
        <Choosing
          title={texts.person.bookingFor(nameOf(person))}
          stop={texts.person.stopBooking}
          onStop={() => go({ person: undefined })}
        >
          <p>
            <Link href={`/people/${person.id}?wait`}>{texts.waitlist.noTime}</Link>
          </p>
        </Choosing>
      )}
      <Loading of={[schedules, calendar]} />
      {schedules.value?.length === 0 && <p>{texts.day.noCalendars}</p>}
      {data && <WaitingRoom data={data} onOpen={open} />}
      {data && (
        <Grid
          schedules={chosen}
          days={days}
          data={data}
          now={now}
          moving={moving?.appointment}
          pending={becomes?.id}
          onOpen={open}
          onEmpty={openEmpty}
          onDrop={drop}
        />
      )}
      {data && <Cancelled data={data} schedules={chosen} all={all} onOpen={open} />}
      {unplaced.length > 0 && (
        <section aria-labelledby="unplaced">
          <h2 id="unplaced">{texts.day.unplaced}</h2>
          <ul className="unplaced">
            {unplaced.map(({ resource, why }) => (
              <li key={`${resource.resourceType}/${resource.id}`}>
                {resource.resourceType === 'Appointment' ? (
                  <button type="button" className="link" onClick={() => go({ open: `Appointment/${resource.id}` })}>
                    {patientNameOf(resource, data?.patients ?? new Map()) || texts.appointment.noPatient}
                  </button>
                ) : (
                  <code>{`Slot/${resource.id}`}</code>
                )}
                {`: ${texts.why[why]}`}
              </li>
            ))}
          </ul>
        </section>
      )}
      {data && <DayList schedules={chosen} all={all} days={days} data={data} />}
      <Legend />
      {calendar.at && <p className="updated">{texts.day.updated(timeText(calendar.at, texts.language))}</p>}
      <Opened
        route={route}
        go={go}
        entry={entry}
        data={data}
        moving={moving}
        person={person}
        schedules={chosen}
        all={all}
        onChanged={reload}
      />
    </>
  );
}
