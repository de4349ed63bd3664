import type { Appointment, Patient, Schedule } from '@medplum/fhirtypes';
import { type CSSProperties, memo, useMemo } from 'react';
import { artefactUri } from '../../../../core/fhir/artefacts.ts';
import { isOverbooking } from '../../../../core/fhir/scheduling/slot-marks.ts';
import { type Interval, overlaps } from '../../../../core/time/interval.ts';
import { besideOthers, type LocalDay } from '../../../../core/time/local-day.ts';
import { groupOf } from '../../../../packages/web/appointments.ts';
import { canTake } from '../../appointment/booking.ts';
import { patientNameOf, servicesOf } from '../../appointment/people.ts';
import { isMovable as canMove } from '../../appointment/status-steps.ts';
import type { Entry } from '../../day/entries.ts';
import { inLanes } from '../../day/layout.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { EntryButton } from './entry-button.tsx';

const MINUTE = 60_000;

/** Minutes between the times at which a click can begin an appointment. */
const STEP = 5;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

function wordsOf({ appointment, slots }: Entry, patients: ReadonlyMap<string, Patient>) {
  return appointment
    ? { name: patientNameOf(appointment, patients), service: servicesOf(appointment) }
    : { name: textOf(slots[0]?.comment), service: '' };
}

const isMovable = ({ appointment }: Entry): boolean => appointment !== undefined && canMove(appointment);

/** Whether an entry is a free time for the appointment that is being moved. */
const isTarget = ({ kind, slots: [slot] }: Entry, moving: Appointment, schedule: Schedule): boolean =>
  kind === 'free' && slot !== undefined && canTake(moving, slot, schedule);

/** Share of a column's width that is left to a block beside its appointments. */
const BLOCK_WIDTH = 0.15;

/** One calendar on one day. On small screens it is a list. */
export const Column = memo(function Column({
  id,
  title,
  date,
  day,
  entries,
  patients,
  shown,
  scale,
  now,
  tabStop,
  moving,
  pending,
  schedule,
  onOpen,
  onEmpty,
}: {
  readonly id: string;
  readonly title: string;
  /** The day, if others are shown beside it. */
  readonly date: LocalDay | undefined;
  /** The name of the day, if others are shown beside it. */
  readonly day: string | undefined;
  readonly entries: readonly Entry[];
  readonly patients: ReadonlyMap<string, Patient>;
  readonly shown: Interval;
  /** Pixels per minute. */
  readonly scale: number;
  readonly now: number | undefined;
  /** The key of the entry that the Tab key reaches, if it is in this column. */
  readonly tabStop: string | undefined;
  readonly moving: Appointment | undefined;
  /** Id of an appointment of this column whose change is not stored yet. */
  readonly pending: string | undefined;
  readonly schedule: Schedule;
  readonly onOpen: (key: string) => void;
  /** A click on empty time. */
  readonly onEmpty: (schedule: string, start: number) => void;
}) {
  const texts = useTexts();
  const project = useMemo(() => (date ? besideOthers(date, config.timeZone) : (time: number) => time), [date]);
  const placed = useMemo(() => {
    const items = entries.map((entry) => ({ entry, start: project(entry.start), end: project(entry.end) }));
    const blocks = items.filter(({ entry }) => entry.kind === 'blocked');
    // A block lies behind the appointments, so that staff can read whom to call.
    return [
      ...blocks.map((item) => ({ item, left: 0, width: 1 })),
      ...inLanes(items.filter((item) => !blocks.includes(item))).map(({ item, lane, lanes }) => {
        const left = blocks.some((block) => overlaps(block, item)) ? BLOCK_WIDTH : 0;
        return { item, left: left + (lane / lanes) * (1 - left), width: (1 - left) / lanes };
      }),
    ].toSorted((one, other) => one.item.start - other.item.start);
  }, [entries, project]);
  const top = (time: number) => ((Math.max(time, shown.start) - shown.start) / MINUTE) * scale;
  const bottom = (time: number) => ((Math.min(time, shown.end) - shown.start) / MINUTE) * scale;
  return (
    <section className="column" aria-labelledby={id}>
      <h2 id={id}>
        {day && <span className="of-day">{day} </span>}
        {title}
      </h2>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: by keyboard any time is booked by a button above the calendars. */}
      <ol
        onClick={({ target, currentTarget, clientY }) => {
          if (target === currentTarget && !date) {
            const minutes = (clientY - currentTarget.getBoundingClientRect().top) / scale;
            onEmpty(schedule.id ?? '', shown.start + Math.floor(minutes / STEP) * STEP * MINUTE);
          }
        }}
      >
        {placed.map(({ item, left, width }) => (
          <li
            key={item.entry.key}
            style={
              {
                '--top': `${top(item.start)}px`,
                '--height': `${Math.max(bottom(item.end) - top(item.start), 24)}px`,
                '--left': `${left * 100}%`,
                '--width': `${width * 100}%`,
              } as CSSProperties
            }
          >
            <EntryButton
              id={item.entry.key}
              start={item.entry.start}
              end={item.entry.end}
              kind={item.entry.kind}
              {...wordsOf(item.entry, patients)}
              isOverbooked={item.entry.appointment !== undefined && isOverbooking(item.entry.appointment, config)}
              isInVisit={
                item.entry.appointment !== undefined &&
                groupOf(item.entry.appointment, artefactUri(config, 'LocalVisitGroup')) !== undefined
              }
              isPending={pending !== undefined && item.entry.appointment?.id === pending}
              isMovable={isMovable(item.entry) && item.entry.appointment?.id !== pending}
              isTabStop={item.entry.key === tabStop}
              isTarget={moving !== undefined && isTarget(item.entry, moving, schedule)}
              onOpen={onOpen}
            />
          </li>
        ))}
        {placed.length === 0 && <li className="none">{texts.day.nothing}</li>}
      </ol>
      {now !== undefined && project(now) > shown.start && project(now) < shown.end && (
        <div className="now" aria-hidden="true" style={{ '--now': `${top(project(now))}px` } as CSSProperties} />
      )}
    </section>
  );
});
