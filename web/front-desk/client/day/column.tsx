import type { Patient } from '@medplum/fhirtypes';
import { type CSSProperties, memo, useMemo } from 'react';
import type { Interval } from '../../../../core/time/interval.ts';
import type { Entry } from '../../day/entries.ts';
import { inLanes } from '../../day/layout.ts';
import { useTexts } from '../parts/use-texts.ts';
import { EntryButton } from './entry-button.tsx';

const MINUTE = 60_000;

/** One calendar on one day. On small screens it is a list. */
export const Column = memo(function Column({
  id,
  title,
  day,
  entries,
  patients,
  shown,
  scale,
  now,
  tabStop,
  isMoving,
  onOpen,
}: {
  readonly id: string;
  readonly title: string;
  /** The day, if several are shown. */
  readonly day: string | undefined;
  readonly entries: readonly Entry[];
  readonly patients: ReadonlyMap<string, Patient>;
  readonly shown: Interval;
  /** Pixels of a minute. */
  readonly scale: number;
  readonly now: number | undefined;
  /** The key of the entry that the tab key comes to, if it is here. */
  readonly tabStop: string | undefined;
  readonly isMoving: boolean;
  readonly onOpen: (entry: Entry) => void;
}) {
  const texts = useTexts();
  const placed = useMemo(() => inLanes(entries), [entries]);
  const top = (time: number) => ((Math.max(time, shown.start) - shown.start) / MINUTE) * scale;
  const bottom = (time: number) => ((Math.min(time, shown.end) - shown.start) / MINUTE) * scale;
  return (
    <section className="column" aria-labelledby={id}>
      <h2 id={id}>
        {day && <span className="of-day">{day} </span>}
        {title}
      </h2>
      <ol style={{ '--height': `${bottom(shown.end)}px` } as CSSProperties}>
        {placed.map(({ item, lane, lanes }) => (
          <li
            key={item.key}
            style={
              {
                '--top': `${top(item.start)}px`,
                '--height': `${Math.max(bottom(item.end) - top(item.start), 24)}px`,
                '--left': `${(lane / lanes) * 100}%`,
                '--width': `${100 / lanes}%`,
              } as CSSProperties
            }
          >
            <EntryButton
              entry={item}
              patients={patients}
              isTabStop={item.key === tabStop}
              isMoving={isMoving}
              onOpen={onOpen}
            />
          </li>
        ))}
        {placed.length === 0 && <li className="none">{texts.day.nothing}</li>}
      </ol>
      {now !== undefined && now > shown.start && now < shown.end && (
        <div className="now" aria-hidden="true" style={{ '--now': `${top(now)}px` } as CSSProperties} />
      )}
    </section>
  );
});
