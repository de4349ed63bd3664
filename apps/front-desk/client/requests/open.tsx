import { Button, Group } from '@mantine/core';
import type { Appointment } from '@medplum/fhirtypes';
import { timeOf } from '../../day/entries.ts';
import type { Waiting } from '../../requests/waiting.ts';
import { DeclineForm } from '../appointment/actions.tsx';
import { Answers, Facts, History } from '../appointment/facts.tsx';
import { useAppointment } from '../appointment/use-appointment.ts';
import { Loading } from '../parts/loading.tsx';
import { useTexts } from '../parts/use-texts.ts';

function Details({ request }: { readonly request: Waiting }) {
  const found = useAppointment(request.id, request.appointment.meta?.versionId);
  const { value } = found;
  return (
    <>
      <Loading of={[found]} />
      {value && (
        <>
          <Facts details={value} />
          <Answers details={value} />
          <History details={value} />
        </>
      )}
    </>
  );
}

/** The open request, with its actions. */
export function OpenRequest({
  request,
  name,
  isDeclining,
  onConfirm,
  onDeclining,
  onDecline,
  onShow,
}: {
  readonly request: Waiting;
  /** Name of the patient; may be empty. */
  readonly name: string;
  readonly isDeclining: boolean;
  readonly onConfirm: () => void;
  readonly onDeclining: (isDeclining: boolean) => void;
  readonly onDecline: (declined: Appointment) => Promise<boolean>;
  readonly onShow: () => void;
}) {
  const { requests: words, appointment: appointmentWords } = useTexts();
  return (
    <section aria-labelledby="open-request" className="pane">
      <h2 id="open-request" tabIndex={-1}>
        {name || appointmentWords.noPatient}
      </h2>
      {isDeclining ? (
        <DeclineForm
          key={`decline ${request.id}`}
          appointment={request.appointment}
          isBusy={false}
          onDecline={onDecline}
          onBack={() => onDeclining(false)}
        />
      ) : (
        <Group gap="xs">
          <Button onClick={onConfirm}>{appointmentWords.to.booked}</Button>
          <Button variant="default" onClick={() => onDeclining(true)}>
            {appointmentWords.decline}
          </Button>
          {timeOf(request.appointment) && (
            <Button variant="default" onClick={onShow}>
              {words.inCalendar}
            </Button>
          )}
        </Group>
      )}
      <Details key={request.id} request={request} />
    </section>
  );
}
