import { memo } from 'react';
import { type Kind, signOf } from '../../day/kinds.ts';
import { isWithinDay, spanText, timeText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';

/**
 * One entry of a column: time, sign, and name or kind. A week has thousands of them: it has few elements, and is drawn anew
 * only if what it shows has changed.
 */
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
  /** Key of the entry. */
  readonly id: string;
  /** Milliseconds since 1970 UTC. */
  readonly start: number;
  readonly end: number;
  readonly kind: Kind;
  /** Who comes, or what the time is taken for; may be empty. */
  readonly name: string;
  /** What for; may be empty. */
  readonly service: string;
  /** Whether it was booked over another one on purpose. */
  readonly isOverbooked: boolean;
  /** Whether it is a step of a visit: others belong to it. */
  readonly isInVisit: boolean;
  /** Whether it is not stored yet as it stands here. */
  readonly isPending: boolean;
  /** Whether it can be dragged to another time. The other way to move it is a button in the panel that opens. */
  readonly isMovable: boolean;
  /** Whether the Tab key reaches it; arrow keys go on from there. */
  readonly isTabStop: boolean;
  /** Whether it is a free time that can take the appointment that is being moved. */
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
