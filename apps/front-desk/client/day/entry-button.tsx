import { memo } from 'react';
import { type Kind, signOf } from '../../day/kinds.ts';
import { isWithinDay, spanText, timeText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';

/** An entry of a column. A week has thousands, so each has few elements and is drawn again only if it changes. */
export const EntryButton = memo(function EntryButton({
  id,
  start,
  end,
  kind,
  name,
  service,
  isOverbooked,
  isInVisit,
  isPending,
  isMovable,
  isTabStop,
  isTarget,
  onOpen,
}: {
  readonly id: string;
  /** Milliseconds since 1970 UTC. */
  readonly start: number;
  readonly end: number;
  readonly kind: Kind;
  /** Patient, or comment of the Slot; may be empty. */
  readonly name: string;
  readonly service: string;
  readonly isOverbooked: boolean;
  readonly isInVisit: boolean;
  readonly isPending: boolean;
  /** Whether it can be dragged to another time. A button in the panel does the same. */
  readonly isMovable: boolean;
  /** Whether the Tab key reaches it; arrow keys go on from there. */
  readonly isTabStop: boolean;
  readonly isTarget: boolean;
  readonly onOpen: (id: string) => void;
}) {
  const { language, kind: kinds, appointment } = useTexts();
  const span = spanText({ start, end }, language);
  const shown = isWithinDay({ start, end }) ? timeText(start, language) : span;
  const word = isTarget ? appointment.moveHere : isOverbooked ? appointment.overbooked(kinds[kind]) : kinds[kind];
  return (
    <button
      type="button"
      className={`entry ${kind}${isTarget ? ' target' : ''}${isOverbooked ? ' over' : ''}${isPending ? ' pending' : ''}`}
      data-entry={id}
      tabIndex={isTabStop ? 0 : -1}
      draggable={isMovable}
      aria-label={[span, word, name, service, isInVisit && appointment.inVisit, isPending && appointment.pending]
        .filter(Boolean)
        .join(', ')}
      onClick={() => onOpen(id)}
    >
      <span data-time={`${shown} ${signOf[kind]} ${isOverbooked ? '×2 ' : ''}${isInVisit ? '⋯ ' : ''}`}>
        {name ? <b>{name}</b> : word}
        {service && ` ${service}`}
      </span>
    </button>
  );
});
