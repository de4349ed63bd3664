import type { Appointment, Schedule } from '@medplum/fhirtypes';
import {
  type CSSProperties,
  type DragEvent,
  type KeyboardEvent,
  memo,
  type RefObject,
  useCallback,
  useMemo,
  useRef,
  useState,
} from 'react';
import { intervalOf, type LocalDay } from '../../../../core/time/local-day.ts';
import { DAY } from '../../../../core/time/time-zone.ts';
import { canTake } from '../../appointment/booking.ts';
import { columnsOf, layoutOf, withoutPast } from '../../day/columns.ts';
import type { CalendarData, Entry } from '../../day/entries.ts';
import { hoursOf } from '../../day/layout.ts';
import { focusAfter, isArrow } from '../../day/move-focus.ts';
import { titleOf } from '../../day/queries.ts';
import { shortDayText, timeText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { Column } from './column.tsx';

/** The type of the dragged data: the id of an appointment of this page. */
const DRAGGED = 'application/x-appointment';

/** Lets staff drag appointments to free times. Returns event handlers for the box; `onDrop` receives an id. */
function useDrag(
  box: RefObject<HTMLElement | null>,
  entries: ReadonlyMap<string, { readonly entry: Entry; readonly schedule: Schedule }>,
  onDrop: (appointment: string, onto: Entry) => void,
) {
  return useMemo(() => {
    let dragged: Appointment | undefined;
    const entryAt = ({ target }: DragEvent) => {
      const button = target instanceof Element ? target.closest<HTMLElement>('[data-entry]') : null;
      return entries.get(button?.dataset.entry ?? '');
    };
    /** The free time under the pointer, if the dragged appointment fits. */
    const targetAt = (event: DragEvent): Entry | undefined => {
      const { entry, schedule } = entryAt(event) ?? {};
      const [slot] = entry?.slots ?? [];
      const canBe = entry?.kind === 'free' && slot && schedule && (!dragged || canTake(dragged, slot, schedule));
      return canBe ? entry : undefined;
    };
    return {
      onDragStart: (event: DragEvent<HTMLElement>) => {
        dragged = entryAt(event)?.entry.appointment;
        if (dragged?.id) {
          event.dataTransfer.setData(DRAGGED, dragged.id);
          event.dataTransfer.effectAllowed = 'move';
          box.current?.classList.add('dragging');
        }
      },
      onDragOver: (event: DragEvent<HTMLElement>) => {
        if (event.dataTransfer.types.includes(DRAGGED) && targetAt(event)) {
          event.preventDefault();
          event.dataTransfer.dropEffect = 'move';
        }
      },
      onDrop: (event: DragEvent<HTMLElement>) => {
        const onto = targetAt(event);
        const appointment = event.dataTransfer.getData(DRAGGED);
        if (onto && appointment) {
          event.preventDefault();
          onDrop(appointment, onto);
        }
      },
      onDragEnd: () => box.current?.classList.remove('dragging'),
    };
  }, [box, entries, onDrop]);
}

/**
 * The names of the columns, which stay visible while the columns are scrolled. One row for all moves as a whole; a
 * sticky heading in each column would be drawn separately. Screen readers read the headings in the columns.
 */
const Titles = memo(function Titles({
  columns,
}: {
  readonly columns: readonly { readonly id: string; readonly title: string; readonly dayText: string | undefined }[];
}) {
  return (
    <div className="titles" aria-hidden="true">
      <div className="corner" />
      {columns.map(({ id, title, dayText }) => (
        <div key={id}>
          {dayText && <span>{dayText}</span>}
          {title}
        </div>
      ))}
    </div>
  );
});

/** The calendars beside each other. Arrow keys move between entries; the focus stays when others change something. */
export function Grid({
  schedules,
  days,
  data,
  now,
  moving,
  pending,
  onOpen,
  onEmpty,
  onDrop,
}: {
  readonly schedules: readonly Schedule[];
  readonly days: readonly LocalDay[];
  readonly data: CalendarData;
  readonly now: number;
  readonly moving: Appointment | undefined;
  /** Id of an appointment whose change is shown, but not stored yet. */
  readonly pending: string | undefined;
  readonly onOpen: (key: string) => void;
  readonly onEmpty: (schedule: string, start: number) => void;
  /** Receives the id of an appointment that was dragged to a free time. */
  readonly onDrop: (appointment: string, onto: Entry) => void;
}) {
  const { language, day: words } = useTexts();
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string>();
  const all = useMemo(() => columnsOf(schedules, days, data, config.timeZone), [schedules, days, data]);
  const columns = useMemo(
    () =>
      withoutPast(all, now).map((column) => ({
        ...column,
        title: titleOf(column.schedule) + (column.schedule.active === false ? ` (${words.closed})` : ''),
        dayText: days.length > 1 ? shortDayText(intervalOf(column.day, config.timeZone).start, language) : undefined,
      })),
    [all, now, days, words, language],
  );
  const layout = useMemo(() => layoutOf(columns, days, config.timeZone), [columns, days]);
  const keys = useMemo(() => columns.map(({ entries }) => entries), [columns]);
  const entries = useMemo(
    () =>
      new Map(columns.flatMap(({ entries: own, schedule }) => own.map((entry) => [entry.key, { entry, schedule }]))),
    [columns],
  );
  const tabStop = active !== undefined && entries.has(active) ? active : keys.flat()[0]?.key;

  const onKeyDown = (event: KeyboardEvent) => {
    const key = event.target instanceof HTMLElement ? event.target.dataset.entry : undefined;
    if (!key || !isArrow(event.key)) {
      return;
    }
    const id =
      event.target instanceof HTMLElement ? event.target.closest('section')?.getAttribute('aria-labelledby') : '';
    const column = columns.findIndex((one) => one.id === id);
    const next = focusAfter(keys, { column, key }, event.key);
    event.preventDefault();
    setActive(next.key);
    const sections = box.current?.querySelectorAll('section') ?? [];
    const button = sections[next.column]?.querySelector<HTMLElement>(`[data-entry="${CSS.escape(next.key)}"]`);
    button?.focus();
    button?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  const open = useCallback(
    (key: string) => {
      setActive(key);
      onOpen(key);
    },
    [onOpen],
  );
  const drop = useCallback(
    (appointment: string, onto: Entry) => {
      setActive(onto.key);
      onDrop(appointment, onto);
    },
    [onDrop],
  );
  const drag = useDrag(box, entries, drop);
  // The hours beside a week are those of a day without a clock change.
  const usual = days.find((day) => {
    const { start, end } = intervalOf(day, config.timeZone);
    return end - start === DAY;
  });
  const first = layout.shown.get(usual ?? days[0] ?? '') ?? { start: 0, end: 0 };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside take the keys.
    <div
      className={`grid${columns.length > 8 ? ' many' : ''}`}
      ref={box}
      // A box that scrolls can be scrolled by keyboard, even if it is empty.
      tabIndex={entries.size === 0 ? 0 : undefined}
      style={{ '--columns': columns.length, '--day-height': `${layout.height}px` } as CSSProperties}
      onKeyDown={onKeyDown}
      {...drag}
    >
      <p className="sr-only">{words.help}</p>
      <Titles columns={columns} />
      <div className="columns">
        <div className="hours" aria-hidden="true">
          {hoursOf(first).map((hour) => (
            <span key={hour} style={{ height: 60 * layout.scale }}>
              {timeText(hour, language)}
            </span>
          ))}
        </div>
        {columns.map(({ id, title, day, dayText, entries, schedule }) => (
          <Column
            key={id}
            id={id}
            title={title}
            date={dayText === undefined ? undefined : day}
            day={dayText}
            entries={entries}
            patients={data.patients}
            shown={layout.shown.get(day) ?? first}
            scale={layout.scale}
            now={now}
            tabStop={entries.some(({ key }) => key === tabStop) ? tabStop : undefined}
            moving={moving}
            pending={entries.some(({ appointment }) => appointment?.id === pending) ? pending : undefined}
            schedule={schedule}
            onOpen={open}
            onEmpty={onEmpty}
          />
        ))}
      </div>
    </div>
  );
}
