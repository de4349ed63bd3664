import { Button, Group, Stack, Textarea } from '@mantine/core';
import type { Appointment } from '@medplum/fhirtypes';
import { useState } from 'react';
import { canBeMoved } from '../../../../core/booking/appointment/status.ts';
import { canCancel, cancelled, type StatusStep, stepsOf, withStatus } from '../../appointment/status-steps.ts';
import { update } from '../fhir/client.ts';
import { useAnnouncements } from '../parts/announce.tsx';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useNow } from '../parts/use-now.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

/** Writes changes to one appointment, and announces the outcome. */
export function useChange(onChanged: () => void) {
  const { appointment: words } = useTexts();
  const { submit, ...rest } = useSubmit();
  const change = async (appointment: Appointment, done: keyof typeof words.done): Promise<boolean> => {
    const answer = await submit(() => update('Appointment', appointment), words.done[done]);
    if (answer) {
      onChanged();
    }
    return answer !== undefined;
  };
  return { change, ...rest };
}

const reasonKey = (id: string | undefined): string => `decline ${id}`;
const noReason = { reason: '' };

/** A reason that was typed but can no longer be sent as it was meant: a colleague was faster. */
export function UnsentReason({ id }: { readonly id: string | undefined }) {
  const { appointment: words } = useTexts();
  const { draft } = useDraft(reasonKey(id), noReason);
  return draft.reason ? (
    <div role="status" className="unsent">
      <p>{words.unsent}</p>
      <blockquote>{draft.reason}</blockquote>
    </div>
  ) : null;
}

/** The reason for which an appointment is declined or cancelled. The patient reads it. */
export function DeclineForm({
  appointment,
  isBusy,
  onDecline,
  onBack,
}: {
  readonly appointment: Appointment;
  readonly isBusy: boolean;
  readonly onDecline: (appointment: Appointment) => Promise<boolean>;
  readonly onBack: () => void;
}) {
  const { appointment: words } = useTexts();
  const { draft, change, clear } = useDraft(reasonKey(appointment.id), noReason);
  const isRequest = appointment.status === 'pending';
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void onDecline(cancelled(appointment, draft.reason)).then((isDone) => isDone && clear());
      }}
    >
      <Stack gap="xs">
        <Textarea
          data-autofocus
          autoFocus
          label={words.declineReason}
          description={words.declineReasonHelp}
          autosize
          minRows={2}
          maxLength={500}
          value={draft.reason}
          onChange={(event) => change({ reason: event.currentTarget.value })}
        />
        <Group gap="xs">
          <Button type="submit" color="red" loading={isBusy}>
            {isRequest ? words.decline : words.cancelSure}
          </Button>
          <Button variant="default" onClick={onBack}>
            {words.back}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** What staff can do with an appointment now. */
export function Actions({
  appointment,
  onChanged,
  onReload,
  onMove,
}: {
  readonly appointment: Appointment;
  readonly onChanged: () => void;
  readonly onReload: () => void;
  readonly onMove: () => void;
}) {
  const { appointment: words, undo } = useTexts();
  const { change, refusal, isBusy, forget } = useChange(onChanged);
  const { announce, later, waiting, takeBack } = useAnnouncements();
  const now = useNow();
  /** The status of the appointment when typing a reason began. A reason to decline is not a reason to cancel. */
  const [declined, setDeclined] = useState<Appointment['status']>();
  const isRequest = appointment.status === 'pending';
  const decline = async (one: Appointment): Promise<boolean> => {
    const isDone = await change(one, isRequest ? 'declined' : 'cancelled');
    if (isDone) {
      setDeclined(undefined);
    }
    return isDone;
  };
  /** A confirmation is asked for and can be cancelled; what else is set by one click is final, and waits for a while. */
  const step = (status: StatusStep): void => {
    if (status === 'booked') {
      void change(withStatus(appointment, status), 'confirmed');
      return;
    }
    const write = async (): Promise<void> => {
      if (!(await change(withStatus(appointment, status), 'changed'))) {
        announce(words.notSaved(words.to[status]));
      }
    };
    later({ key: appointment.id ?? '', text: `${words.to[status]}.`, write });
  };
  const ownWaiting = waiting?.key === appointment.id ? waiting : undefined;
  return (
    <section aria-label={words.actions}>
      {refusal && (
        <Problem
          refusal={refusal}
          onReload={() => {
            forget();
            onReload();
          }}
        />
      )}
      {declined !== undefined && declined !== appointment.status && <UnsentReason id={appointment.id} />}
      {ownWaiting ? (
        <Group gap="xs">
          <strong>{ownWaiting.text}</strong>
          <Button variant="default" data-autofocus onClick={takeBack}>
            {undo}
          </Button>
        </Group>
      ) : declined === appointment.status ? (
        <DeclineForm
          appointment={appointment}
          isBusy={isBusy}
          onDecline={decline}
          onBack={() => setDeclined(undefined)}
        />
      ) : (
        <Group gap="xs">
          {stepsOf(appointment, now, config.timeZone).map((status, index) => (
            <Button
              key={status}
              variant={index === 0 ? 'filled' : 'default'}
              loading={isBusy}
              onClick={() => step(status)}
            >
              {words.to[status]}
            </Button>
          ))}
          {canBeMoved(appointment) && appointment.status !== 'proposed' && (
            <Button variant="default" onClick={onMove}>
              {words.move}
            </Button>
          )}
          {canCancel(appointment) && (
            <Button variant="default" onClick={() => setDeclined(appointment.status)}>
              {isRequest ? words.decline : words.cancel}
            </Button>
          )}
        </Group>
      )}
    </section>
  );
}
