import type { Appointment } from '@medplum/fhirtypes';
import { patientNameOf } from '../../appointment/people.ts';
import type { CalendarData, Entry } from '../../day/entries.ts';
import { AppointmentPanel } from '../appointment/panel.tsx';
import { spanText } from '../parts/format.ts';
import { SidePanel } from '../parts/side-panel.tsx';
import { useTexts } from '../parts/use-texts.ts';
import { MovePanel } from '../slot/move-panel.tsx';
import { SlotPanel } from '../slot/panel.tsx';
import type { Place } from './place.ts';

/** What is open beside the calendar. */
export function Opened({
  place,
  go,
  entry,
  data,
  moving,
  onChanged,
}: {
  readonly place: Place;
  readonly go: (change: Partial<Place>) => void;
  /** The entry that is open, if the calendar shows it. */
  readonly entry: Entry | undefined;
  readonly data: CalendarData | undefined;
  /** The appointment that is being moved. */
  readonly moving: Appointment | undefined;
  readonly onChanged: () => void;
}) {
  const texts = useTexts();
  const [type, id = ''] = place.open?.split('/') ?? [];
  const [slot] = entry?.slots ?? [];
  const close = () => go({ open: undefined });
  const kind = entry && texts.kind[entry.kind];
  const title = entry && kind ? `${kind}, ${spanText(entry, texts.language)}` : texts.appointment.title;
  const version = data?.appointments.find((one) => one.id === id)?.meta?.versionId;
  return (
    <SidePanel title={title} isOpen={place.open !== undefined} onClose={close}>
      {type === 'Appointment' && (
        <AppointmentPanel
          key={id}
          id={id}
          version={version}
          onChanged={onChanged}
          onMove={() => go({ open: undefined, moving: id })}
        />
      )}
      {type === 'Slot' && moving && slot && entry?.kind === 'free' && (
        <MovePanel
          key={id}
          appointment={moving}
          patientName={data ? patientNameOf(moving, data.patients) : ''}
          slot={slot}
          onBack={close}
          onStale={onChanged}
          onMoved={() => {
            go({ open: `Appointment/${moving.id}`, moving: undefined });
            onChanged();
          }}
        />
      )}
      {type === 'Slot' && !moving && entry && (
        <SlotPanel
          key={id}
          entry={entry}
          onChanged={onChanged}
          onBooked={(appointment) => {
            go({ open: `Appointment/${appointment}` });
            onChanged();
          }}
        />
      )}
      {type === 'Slot' && !entry && <p>{texts.slot.gone}</p>}
    </SidePanel>
  );
}
