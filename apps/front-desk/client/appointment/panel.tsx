import { Stack } from '@mantine/core';
import { useState } from 'react';
import { useAnnouncements } from '../parts/announce.tsx';
import { Loading } from '../parts/loading.tsx';
import { Actions } from './actions.tsx';
import { Answers, Facts, History } from './facts.tsx';
import { MoveRest } from './move-rest.tsx';
import { useAppointment } from './use-appointment.ts';

/** The panel of one appointment: facts, answers, history and actions. */
export function AppointmentPanel({
  id,
  version,
  onChanged,
  onMove,
}: {
  readonly id: string;
  /** The version that the calendar shows. */
  readonly version: string | undefined;
  readonly onChanged: () => void;
  readonly onMove: () => void;
}) {
  const found = useAppointment(id, version);
  const { value, reload } = found;
  const { waiting } = useAnnouncements();
  const [isMovingRest, setMovingRest] = useState(false);
  if (!value) {
    return <Loading of={[found]} />;
  }
  const { rest } = value;
  const becomes = waiting?.key === id ? waiting.becomes : undefined;
  const changed = (): void => {
    setMovingRest(false);
    void reload();
    onChanged();
  };
  return (
    <Stack gap="md">
      <Loading of={[found]} />
      <Facts details={becomes ? { ...value, appointment: becomes } : value} />
      {rest && isMovingRest ? (
        <MoveRest details={value} rest={rest} onBack={() => setMovingRest(false)} onMoved={changed} />
      ) : (
        <Actions
          appointment={value.appointment}
          name={value.name}
          onMove={onMove}
          onMoveRest={rest && (() => setMovingRest(true))}
          onReload={() => void reload()}
          onChanged={changed}
        />
      )}
      <Answers details={value} />
      <History details={value} />
    </Stack>
  );
}
