import type { Patient } from '@medplum/fhirtypes';
import { memo } from 'react';
import { canBeMoved } from '../../../../core/booking/appointment/status.ts';
import { patientNameOf, servicesOf } from '../../appointment/people.ts';
import type { Entry } from '../../day/entries.ts';
import { signOf } from '../../day/kinds.ts';
import { spanText, timeText } from '../parts/format.ts';
import { useTexts } from '../parts/use-texts.ts';

/** What an entry says besides its time and kind. */
function labelOf({ appointment, slots }: Entry, patients: ReadonlyMap<string, Patient>): string {
  return appointment ? patientNameOf(appointment, patients) : (slots[0]?.comment ?? '');
}

/** One entry of a column: time, sign, kind and name. */
export const EntryButton = memo(function EntryButton({
  entry,
  patients,
  isTabStop,
  isMoving,
  onOpen,
}: {
  readonly entry: Entry;
  readonly patients: ReadonlyMap<string, Patient>;
  /** Whether the tab key comes here; arrows go on from there. */
  readonly isTabStop: boolean;
  /** Whether an appointment is being moved: free times can take it. */
  readonly isMoving: boolean;
  readonly onOpen: (entry: Entry) => void;
}) {
  const texts = useTexts();
  const { kind, appointment } = entry;
  const label = labelOf(entry, patients);
  const service = appointment ? servicesOf(appointment) : '';
  const isTarget = isMoving && kind === 'free';
  return (
    <button
      type="button"
      className={`entry ${kind}${isTarget ? ' target' : ''}`}
      data-entry={entry.key}
      tabIndex={isTabStop ? 0 : -1}
      // To drag is one way to move; the other is a button in what opens.
      draggable={appointment !== undefined && canBeMoved(appointment) && appointment.status !== 'proposed'}
      onClick={() => onOpen(entry)}
    >
      <span className="time" aria-hidden="true">
        {timeText(entry.start, texts.language)}
      </span>
      <span className="sr-only">{spanText(entry, texts.language)}, </span>
      <span className="sign" aria-hidden="true">
        {signOf[kind]}
      </span>
      <span className={label ? 'kind sr-only' : 'kind'}>
        {isTarget ? texts.appointment.moveHere : texts.kind[kind]}
        {label && ', '}
      </span>
      {label && <span className="name">{label}</span>}
      {service && <span className="service">{service}</span>}
    </button>
  );
});
