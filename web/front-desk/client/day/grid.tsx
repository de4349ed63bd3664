import type { Schedule } from '@medplum/fhirtypes';
import { type DragEvent, type KeyboardEvent, useCallback, useMemo, useRef, useState } from 'react';
import { overlaps } from '../../../../core/time/interval.ts';
import { DAY } from '../../../../core/time/time-zone.ts';
import { type CalendarData, type Entry, entriesOf } from '../../day/entries.ts';
import { hoursOf, pixelsPerMinute, shownHours } from '../../day/layout.ts';
import { besideOthers, intervalOf, type LocalDay } from '../../day/local-day.ts';
import { focusAfter, isArrow } from '../../day/move-focus.ts';
import { titleOf } from '../../day/queries.ts';
import { shortDayText, timeText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { Column } from './column.tsx';

interface ColumnData {
  readonly id: string;
  readonly schedule: Schedule;
  readonly day: LocalDay;
  readonly entries: readonly Entry[];
}

/** Free times that are over are of no use to anybody. */
const isUseful = ({ kind, end }: Entry, now: number): boolean => kind !== 'free' || end > now;

function columnsOf(
  schedules: readonly Schedule[],
  days: readonly LocalDay[],
  data: CalendarData,
  now: number,
): ColumnData[] {
  const all = schedules.map((schedule) => ({ schedule, entries: entriesOf(schedule, data) }));
  return days.flatMap((day) => {
    const time = intervalOf(day, config.timeZone);
    return all.map(({ schedule, entries }) => ({
      id: `column-${day}-${schedule.id}`,
      schedule,
      day,
      entries: entries.filter((entry) => overlaps(entry, time) && isUseful(entry, now)),
    }));
  });
}

/** What a drag carries: the id of an appointment of this page. */
const DRAGGED = 'application/x-appointment';

/** The entry at which a drag begins, passes or ends. */
function dragged(target: EventTarget, columns: readonly (readonly Entry[])[]): Entry | undefined {
  const button = target instanceof Element ? target.closest<HTMLElement>('[data-entry]') : null;
  return columns.flat().find(({ key }) => key === button?.dataset.entry);
}

/** The calendars beside each other. Arrow keys go from entry to entry; the focus stays where it is when others change something. */
export function Grid({
  schedules,
  days,
  data,
  now,
  isMoving,
  onOpen,
  onDrop,
}: {
  readonly schedules: readonly Schedule[];
  readonly days: readonly LocalDay[];
  readonly data: CalendarData;
  readonly now: number;
  readonly isMoving: boolean;
  readonly onOpen: (entry: Entry) => void;
  /** An appointment, by its id, was dragged to a free time. */
  readonly onDrop: (appointment: string, onto: Entry) => void;
}) {
  const { language, day: words } = useTexts();
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string>();
  const columns = useMemo(() => columnsOf(schedules, days, data, now), [schedules, days, data, now]);
  const isWeek = days.length > 1;
  const layout = useMemo(() => {
    const ofDay = days.map((day) => {
      const { start, end } = intervalOf(day, config.timeZone);
      const place = besideOthers(day, config.timeZone);
      const entries = columns.filter((column) => column.day === day).flatMap((column) => column.entries);
      const placed = isWeek ? entries.map((one) => ({ start: place(one.start), end: place(one.end) })) : entries;
      const time = { start, end: isWeek ? start + DAY : end };
      return { time, shown: shownHours(time, placed) };
    });
    // All days begin and end alike, so that their hours stand beside each other.
    const from = Math.min(...ofDay.map(({ time, shown }) => shown.start - time.start));
    const to = Math.max(...ofDay.map(({ time, shown }) => shown.end - time.start));
    const scale = pixelsPerMinute(columns.flatMap(({ entries }) => entries.filter(({ kind }) => kind !== 'buffer')));
    return {
      from,
      to,
      scale,
      shown: new Map(
        days.map((day, index) => {
          const { time } = ofDay[index] ?? { time: { start: 0, end: 0 } };
          return [day, { start: time.start + from, end: Math.min(time.start + to, time.end) }];
        }),
      ),
    };
  }, [columns, days, isWeek]);
  const keys = useMemo(() => columns.map(({ entries }) => entries), [columns]);
  const isThere = keys.some((entries) => entries.some(({ key }) => key === active));
  const tabStop = isThere ? active : keys.flat()[0]?.key;

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
    (entry: Entry) => {
      setActive(entry.key);
      onOpen(entry);
    },
    [onOpen],
  );
  const drag = useMemo(
    () => ({
      onDragStart: (event: DragEvent<HTMLDivElement>) => {
        const entry = dragged(event.target, keys);
        if (entry?.appointment?.id) {
          event.dataTransfer.setData(DRAGGED, entry.appointment.id);
          event.dataTransfer.effectAllowed = 'move';
          box.current?.classList.add('dragging');
        }
      },
      onDragOver: (event: DragEvent<HTMLDivElement>) => {
        if (event.dataTransfer.types.includes(DRAGGED) && dragged(event.target, keys)?.kind === 'free') {
          event.preventDefault();
          event.dataTransfer.dropEffect = 'move';
        }
      },
      onDrop: (event: DragEvent<HTMLDivElement>) => {
        const onto = dragged(event.target, keys);
        const appointment = event.dataTransfer.getData(DRAGGED);
        if (onto?.kind === 'free' && appointment) {
          event.preventDefault();
          setActive(onto.key);
          onDrop(appointment, onto);
        }
      },
      onDragEnd: () => box.current?.classList.remove('dragging'),
    }),
    [keys, onDrop],
  );
  // The hours beside a week are those of a day on which the clocks are not changed.
  const usual = days.find((day) => {
    const { start, end } = intervalOf(day, config.timeZone);
    return end - start === DAY;
  });
  const first = layout.shown.get(usual ?? days[0] ?? '') ?? { start: 0, end: 0 };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside take the keys.
    <div className="grid" ref={box} onKeyDown={onKeyDown} {...drag}>
      <div className="hours" aria-hidden="true">
        {hoursOf(first).map((hour) => (
          <span key={hour} style={{ height: 60 * layout.scale }}>
            {timeText(hour, language)}
          </span>
        ))}
      </div>
      <p className="sr-only">{words.help}</p>
      {columns.map(({ id, schedule, day, entries }) => (
        <Column
          key={id}
          id={id}
          title={titleOf(schedule) + (schedule.active === false ? ` (${words.closed})` : '')}
          date={isWeek ? day : undefined}
          day={isWeek ? shortDayText(intervalOf(day, config.timeZone).start, language) : undefined}
          entries={entries}
          patients={data.patients}
          shown={layout.shown.get(day) ?? first}
          scale={layout.scale}
          now={now}
          tabStop={entries.some(({ key }) => key === tabStop) ? tabStop : undefined}
          isMoving={isMoving}
          onOpen={open}
        />
      ))}
    </div>
  );
}
