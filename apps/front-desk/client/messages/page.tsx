import { Button, Group } from '@mantine/core';
import { Link } from 'wouter';
import { endOf, isOffered } from '../../../../core/booking/appointment/expiry.ts';
import { nameOf } from '../../../../core/fhir/human-name.ts';
import { contactOf, patientNameOf, servicesOf } from '../../appointment/people.ts';
import { timeOf } from '../../day/entries.ts';
import { type Undelivered, undeliveredIn, undeliveredSearches } from '../../messages/undelivered.ts';
import { Phone } from '../appointment/facts.tsx';
import { update } from '../fhir/client.ts';
import { TakeBack } from '../parts/announce.tsx';
import { momentText } from '../parts/format.ts';
import { Loading } from '../parts/loading.tsx';
import { Problem, ServerSays } from '../parts/problem.tsx';
import { useFound } from '../parts/use-found.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { OfferAnswer } from '../waitlist/offer.tsx';

/** Somebody to call: whom to call, about which appointment, and that it was done. */
function Card({ message, onChanged }: { readonly message: Undelivered; readonly onChanged: () => Promise<void> }) {
  const { language, messages: words, status, appointment: appointmentWords } = useTexts();
  const { task, patient, appointment } = message;
  const { submitLater, refusal, isBusy } = useSubmit(task.meta?.versionId);
  const name = (patient && nameOf(patient)) || (appointment && patientNameOf(appointment, new Map()));
  const shown = name || appointmentWords.noPatient;
  const time = appointment && timeOf(appointment);
  const until =
    appointment && isOffered(appointment, Date.now(), config) ? endOf('offer', appointment, config) : undefined;
  const about = appointment && [time && momentText(time.start, language), servicesOf(appointment)];
  const told = async (): Promise<void> => {
    const write = () => update('Task', { ...task, status: 'completed' });
    if (await submitLater(task.id ?? '', `${shown}: ${words.done}`, write)) {
      await onChanged();
    }
  };
  return (
    <li className="delivery failed">
      <h2>{patient ? <Link href={`/people/${patient.id}`}>{shown}</Link> : shown}</h2>
      <p className="reach">
        <Phone number={contactOf(patient, 'phone')} />
        <span>{contactOf(patient, 'email')}</span>
      </p>
      {appointment ? (
        <p>
          <Link href={`/calendar?open=Appointment/${appointment.id}`}>
            {about?.filter(Boolean).join(' · ') || appointmentWords.title}
          </Link>
          {`: ${status[appointment.status] ?? appointment.status}`}
        </p>
      ) : (
        <p>{words.noAppointment}</p>
      )}
      {until === undefined ? (
        <>
          {task.description && <ServerSays sentences={[task.description]} />}
          {refusal && <Problem refusal={refusal} onReload={() => void onChanged()} />}
          <Group gap="xs">
            <TakeBack of={task.id ?? ''}>
              <Button loading={isBusy} onClick={() => void told()}>
                {words.told}
              </Button>
            </TakeBack>
          </Group>
        </>
      ) : (
        <>
          <p>{words.held(momentText(until, language))}</p>
          {appointment && <OfferAnswer offer={appointment} onChanged={onChanged} />}
        </>
      )}
    </li>
  );
}

/** The people to call: a message did not arrive, as far as is known, an appointment falls into an absence, or a time is free. */
export function MessagesPage() {
  const { messages: words } = useTexts();
  const found = useFound('messages', undeliveredSearches(config), undeliveredIn);
  const { value, reload } = found;
  return (
    <>
      <h1>
        {words.title} {value && `(${value.length})`}
      </h1>
      <p className="help">{value?.length === 0 ? words.none : words.help}</p>
      <Loading of={[found]} />
      <ul className="deliveries">
        {value?.map((message) => (
          <Card key={message.task.id} message={message} onChanged={reload} />
        ))}
      </ul>
    </>
  );
}
