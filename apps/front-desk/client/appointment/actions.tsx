import { Button, Group, Stack, Textarea } from '@mantine/core';
import type { Appointment } from '@medplum/fhirtypes';
import { useState } from 'react';
import {
  canCancel,
  cancelled,
  isMovable,
  type StatusStep,
  stepsOf,
  withStatus,
} from '../../appointment/status-steps.ts';
import { update } from '../fhir/client.ts';
import { TakeBack } from '../parts/announce.tsx';
import { Form } from '../parts/form.tsx';
import { Problem } from '../parts/problem.tsx';
import { useDraft } from '../parts/use-draft.ts';
import { useNow } from '../parts/use-now.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';

/** Writes changes to appointments after some seconds, so that staff can undo them. */
export function useChange() {
  const { submitLater, ...rest } = useSubmit();
  /** Whether it was written. */
  const change = async (appointment: Appointment, done: string): Promise<boolean> => {
    const answer = await submitLater(appointment.id ?? '', done, () => update('Appointment', appointment), appointment);
    return answer !== undefined;
  };
  return { change, ...rest };
}

const reasonKey = (id: string | undefined): string => `decline ${id}`;
const noReason = { reason: '' };

/** A typed reason that can no longer be sent, because a colleague was faster. */
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

/** The form for the reason of declining or cancelling. The patient reads it. */
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
    <Form onSend={() => void onDecline(cancelled(appointment, draft.reason)).then((isDone) => isDone && clear())}>
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
    </Form>
  );
}

/** The actions that staff can take now. */
export function Actions({
  appointment,
  name,
  onChanged,
  onReload,
  onMove,
  onMoveRest,
}: {
  readonly appointment: Appointment;
  /** Name of the patient; may be empty. */
  readonly name: string;
  readonly onChanged: () => void;
  readonly onReload: () => void;
  readonly onMove: () => void;
  /** Moves the later appointments of the series, too, if there are any. */
  readonly onMoveRest: (() => void) | undefined;
}) {
  const { appointment: words } = useTexts();
  const { change, refusal, isBusy, forget } = useChange();
  const now = useNow();
  /** The status of the appointment when typing a reason began. A reason to decline is not a reason to cancel. */
  const [declined, setDeclined] = useState<Appointment['status']>();
  const isRequest = appointment.status === 'pending';
  const saying = (done: string): string => (name ? `${name}: ${done}` : done);
  const decline = async (one: Appointment): Promise<boolean> => {
    const isDone = await change(one, saying(words.done[isRequest ? 'declined' : 'cancelled']));
    if (isDone) {
      setDeclined(undefined);
      onChanged();
    }
    return isDone;
  };
  const wordFor = (status: StatusStep): string =>
    status === 'booked' && !isRequest ? words.notArrived : words.to[status];
  const step = async (status: StatusStep): Promise<void> => {
    const done = isRequest ? words.done.confirmed : `${wordFor(status)}.`;
    if (await change(withStatus(appointment, status), saying(done))) {
      onChanged();
    }
  };
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
      <TakeBack of={appointment.id ?? ''}>
        {declined === appointment.status ? (
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
                onClick={() => void step(status)}
              >
                {wordFor(status)}
              </Button>
            ))}
            {isMovable(appointment) && (
              <Button variant="default" onClick={onMove}>
                {words.move}
              </Button>
            )}
            {onMoveRest && (
              <Button variant="default" onClick={onMoveRest}>
                {words.moveRest}
              </Button>
            )}
            {canCancel(appointment) && (
              <Button variant="default" onClick={() => setDeclined(appointment.status)}>
                {isRequest ? words.decline : words.cancel}
              </Button>
            )}
          </Group>
        )}
      </TakeBack>
    </section>
  );
}
