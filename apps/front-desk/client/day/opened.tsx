import type { Patient, Schedule, Slot } from '@medplum/fhirtypes';
import { useEffect, useRef } from 'react';
import { formatInstant } from '../../../../core/fhir/instant.ts';
import { instantAt, localDayOf } from '../../../../core/time/local-day.ts';
import { patientNameOf } from '../../appointment/people.ts';
import { type CalendarData, type Entry, timeOf } from '../../day/entries.ts';
import { titleOf } from '../../day/queries.ts';
import { AppointmentPanel } from '../appointment/panel.tsx';
import { type AppointmentDetails, useAppointment } from '../appointment/use-appointment.ts';
import { momentText, spanText } from '../parts/format.ts';
import { SidePanel } from '../parts/side-panel.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { BlockForm } from '../slot/block-form.tsx';
import { BookingForm } from '../slot/booking-form.tsx';
import { MovePanel } from '../slot/move-panel.tsx';
import { SlotPanel } from '../slot/panel.tsx';
import { type DayRoute, type Go, isDayNamed, readNewAt } from './route.ts';

/** The hour after noon: the default time of a block. */
function noonOf(day: string) {
  const start = instantAt(day, '12:00', config.timeZone);
  return { start, end: start + 3_600_000 };
}

/** A time outside the bookable slots, in the shape of a Slot. */
function emptySlot(id: string): Slot {
  const { schedule, start } = readNewAt(id);
  return {
    resourceType: 'Slot',
    schedule: { reference: `Schedule/${schedule}` },
    status: 'free',
    start: formatInstant(start),
    end: formatInstant(start + LENGTH),
  };
}

/** Default length of an appointment, in milliseconds. */
const LENGTH = 1_800_000;

/** Time for the panel to return the focus when it is closed, in milliseconds. */
const FOCUS_RETURN = 50;

/** Focuses the last open entry after the panel is closed, if the element that had opened it is gone. */
function useFocusOnEntry(open: string | undefined): void {
  const last = useRef(open);
  useEffect(() => {
    const before = last.current;
    last.current = open;
    if (before === undefined || open !== undefined) {
      return;
    }
    const timer = setTimeout(() => {
      const entry = document.querySelector<HTMLElement>(`[data-entry="${CSS.escape(before)}"]`);
      if (document.activeElement === document.body) {
        (entry ?? document.querySelector<HTMLElement>('.entry.pending'))?.focus();
      }
    }, FOCUS_RETURN);
    return () => clearTimeout(timer);
  }, [open]);
}

/** The panel beside the calendar. */
export function Opened({
  route,
  go,
  entry,
  data,
  moving,
  person,
  schedules,
  all,
  onChanged,
}: {
  readonly route: DayRoute;
  readonly go: Go;
  readonly entry: Entry | undefined;
  readonly data: CalendarData | undefined;
  readonly moving: AppointmentDetails | undefined;
  readonly person: Patient | undefined;
  readonly schedules: readonly Schedule[];
  readonly all: readonly Schedule[];
  readonly onChanged: () => void;
}) {
  const texts = useTexts();
  useFocusOnEntry(route.open);
  const last = useRef(entry);
  last.current = entry ?? last.current;
  // Typed text stays, even if somebody else has taken the time.
  const shown = last.current?.key === route.open ? last.current : undefined;
  const [type, id = ''] = route.open?.split('/') ?? [];
  const [slot] = shown?.slots ?? [];
  const close = () => go({ open: undefined });
  const booked = (appointment: string): void => {
    go({ open: `Appointment/${appointment}`, person: undefined });
    onChanged();
  };
  const isBlock = type === 'Block';
  const name = shown?.appointment && data && patientNameOf(shown.appointment, data.patients);
  const what = shown?.appointment ? name || texts.appointment.noPatient : shown && texts.kind[shown.kind];
  const version = data?.appointments.find((appointment) => appointment.id === id)?.meta?.versionId;
  const details = useAppointment(type === 'Appointment' ? id : undefined, version).value;
  const own = details && timeOf(details.appointment);
  const named = details && [details.name || texts.appointment.noPatient, own && momentText(own.start, texts.language)];
  const usual =
    shown && what
      ? [type === 'Slot' && data && !entry ? '' : what, spanText(shown, texts.language)].filter(Boolean).join(', ')
      : (named?.filter(Boolean).join(', ') ?? texts.appointment.title);
  const wantedDay = !isDayNamed() && own ? localDayOf(own.start, config.timeZone) : undefined;
  useEffect(() => {
    if (wantedDay) {
      go({ day: wantedDay }, true);
    }
  }, [wantedDay, go]);
  const title = isBlock ? texts.slot.blockTime : type === 'New' ? texts.slot.bookTime : usual;
  const ofSlot = schedules.find(({ id: one }) => slot?.schedule?.reference === `Schedule/${one}`);
  const calendar = ofSlot ? titleOf(ofSlot) : '';
  const movingId = moving?.appointment.id;
  return (
    <SidePanel title={title} isOpen={route.open !== undefined} onClose={close}>
      {type === 'Slot' && (
        <div role="status" className="gone">
          {data && !entry && <p>{texts.slot.gone}</p>}
        </div>
      )}
      {type === 'Appointment' && (
        <AppointmentPanel
          key={id}
          id={id}
          version={version}
          onChanged={onChanged}
          onMove={() => go({ open: undefined, moving: id })}
        />
      )}
      {type === 'Slot' && moving && slot && shown?.kind === 'free' && (
        <MovePanel
          key={id}
          moving={moving}
          slot={slot}
          calendar={calendar}
          onBack={close}
          onOvertaken={() => go({ open: `Appointment/${movingId}`, moving: undefined })}
          onStale={onChanged}
          onJudged={() => go({ open: undefined, moving: undefined })}
        />
      )}
      {type === 'Slot' && !moving && shown && (
        <SlotPanel
          key={id}
          entry={shown}
          person={person}
          isThere={entry !== undefined}
          calendar={calendar}
          schedules={schedules}
          onChanged={onChanged}
          onBooked={booked}
        />
      )}
      {type === 'New' && (
        <BookingForm
          key={id}
          slot={emptySlot(id)}
          schedules={all}
          person={person}
          onBooked={booked}
          onStale={onChanged}
        />
      )}
      {isBlock && (
        <BlockForm
          key={route.day}
          schedules={[...schedules, ...all.filter((schedule) => !schedules.includes(schedule))]}
          preset={schedules.length === 1 ? schedules[0]?.id : undefined}
          time={noonOf(route.day)}
          draftKey={`block ${route.day}`}
          onBlocked={onChanged}
          onClose={close}
        />
      )}
    </SidePanel>
  );
}
