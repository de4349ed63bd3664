import { Button, Group } from '@mantine/core';
import type { Appointment } from '@medplum/fhirtypes';
import { Link } from 'wouter';
import { nameOf } from '../../../../core/fhir/resource.ts';
import { localDayOf } from '../../../../core/time/local-day.ts';
import { momentIn, offeredUntil } from '../../../../packages/web/appointments.ts';
import { extensionUrls } from '../../../../packages/web/refusal.ts';
import { acceptance } from '../../appointment/booking.ts';
import { contactOf, patientNameOf, servicesOf } from '../../appointment/people.ts';
import { cancelled } from '../../appointment/status-steps.ts';
import { timeOf } from '../../day/entries.ts';
import { type Undelivered, undeliveredIn, undeliveredSearches } from '../../messages/undelivered.ts';
import { useChange } from '../appointment/actions.tsx';
import { calendarsOf } from '../appointment/calendars.ts';
import { Guardians, Phone } from '../appointment/facts.tsx';
import { book, update } from '../fhir/client.ts';
import { TakeBack } from '../parts/announce.tsx';
import { momentText } from '../parts/format.ts';
import { Loading } from '../parts/loading.tsx';
import { Problem, ServerSays } from '../parts/problem.tsx';
import { useFound } from '../parts/use-found.ts';
import { useSubmit } from '../parts/use-submit.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { OfferReply } from '../waitlist/offer.tsx';

/** Resolves an appointment that cannot take place: accepts the personal offer, moves it elsewhere, or cancels it. */
function Settling({
  appointment,
  offer,
  onChanged,
}: {
  readonly appointment: Appointment;
  readonly offer: Appointment | undefined;
  readonly onChanged: () => Promise<void>;
}) {
  const { language, messages: words } = useTexts();
  const { submit, refusal, isBusy } = useSubmit(offer?.meta?.versionId);
  const cancelling = useChange();
  const [time, held] = [timeOf(appointment), offer && timeOf(offer)];
  const name = patientNameOf(appointment, new Map());
  const accept = async (one: Appointment): Promise<void> => {
    await submit(() => book(acceptance(one)), `${name}: ${words.done}`);
    await onChanged();
  };
  const cancel = async (): Promise<void> => {
    if (await cancelling.change(cancelled(appointment, ''), `${name}: ${words.cancelled}`)) {
      await onChanged();
    }
  };
  const problem = refusal ?? cancelling.refusal;
  const day = localDayOf(held?.start ?? time?.start ?? Date.now(), config.timeZone);
  return (
    <>
      {problem && <Problem refusal={problem} onReload={() => void onChanged()} />}
      <TakeBack of={appointment.id ?? ''}>
        <Group gap="xs">
          {offer && held && (
            <Button loading={isBusy} onClick={() => void accept(offer)}>
              {words.movedTo(momentText(held.start, language))}
            </Button>
          )}
          <Button component={Link} variant="default" href={`/calendar?date=${day}&move=${appointment.id}`}>
            {words.otherTime}
          </Button>
          <Button variant="default" loading={cancelling.isBusy} onClick={() => void cancel()}>
            {words.cancelled}
          </Button>
        </Group>
      </TakeBack>
    </>
  );
}

function Card({
  message,
  calendars,
  onChanged,
}: {
  readonly message: Undelivered;
  /** Names of calendars, by appointment id. */
  readonly calendars: ReadonlyMap<string, string>;
  readonly onChanged: () => Promise<void>;
}) {
  const { language, messages: words, status, appointment: appointmentWords } = useTexts();
  const { task, patient, guardians, appointment, offer, isAbsence } = message;
  const { submitLater, refusal, isBusy } = useSubmit(task.meta?.versionId);
  const name = (patient && nameOf(patient)) || (appointment && patientNameOf(appointment, new Map()));
  const shown = name || appointmentWords.noPatient;
  const time = appointment && timeOf(appointment);
  const own = appointment && offeredUntil(appointment, extensionUrls(config), Date.now());
  const [held, until] = [offer && timeOf(offer), offer && momentIn(offer, extensionUrls(config).heldUntil)];
  const withWhom = ({ id }: Appointment): string | undefined => calendars.get(id ?? '');
  const about = appointment && [
    time && momentText(time.start, language),
    withWhom(appointment),
    servicesOf(appointment),
  ];
  const day = time && localDayOf(time.start, config.timeZone);
  // A call alone does not resolve an absence: the appointment is still booked while the staff are absent.
  const isOpen = isAbsence && (appointment?.status === 'booked' || appointment?.status === 'pending');
  const complete = async (): Promise<void> => {
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
        <Guardians of={guardians} />
      </p>
      {appointment ? (
        <p>
          <Link href={`/calendar?${day ? `date=${day}&` : ''}open=Appointment/${appointment.id}`}>
            {about?.filter(Boolean).join(' · ') || appointmentWords.title}
          </Link>
          {isOpen ? `: ${words.absent}` : `: ${status[appointment.status] ?? appointment.status}`}
        </p>
      ) : (
        <p>{words.noAppointment}</p>
      )}
      {offer && held && until !== undefined && (
        <p>
          <strong>
            {appointmentWords.moves(
              time ? momentText(time.start, language) : '',
              [momentText(held.start, language), withWhom(offer)].filter(Boolean).join(', '),
            )}
          </strong>{' '}
          {words.held(momentText(until, language))}
        </p>
      )}
      {own !== undefined && (
        <>
          <p>{words.held(momentText(own, language))}</p>
          {appointment && <OfferReply offer={appointment} onChanged={onChanged} />}
        </>
      )}
      {own === undefined && isOpen && appointment && (
        <Settling appointment={appointment} offer={offer} onChanged={onChanged} />
      )}
      {own === undefined && !isOpen && (
        <>
          {task.description && <ServerSays sentences={[task.description]} />}
          {refusal && <Problem refusal={refusal} onReload={() => void onChanged()} />}
          <Group gap="xs">
            <TakeBack of={task.id ?? ''}>
              <Button loading={isBusy} onClick={() => void complete()}>
                {words.notified}
              </Button>
            </TakeBack>
          </Group>
        </>
      )}
    </li>
  );
}

/** The people to call, because of an undelivered message, an absence, or a free time. */
export function MessagesPage() {
  const { messages: words } = useTexts();
  const found = useFound('messages', undeliveredSearches(config), async (resources) => {
    const people = undeliveredIn(resources, Date.now(), config);
    const appointments = people.flatMap(({ appointment, offer }) => [appointment ?? [], offer ?? []].flat());
    return { people, calendars: await calendarsOf(appointments) };
  });
  const { value, reload } = found;
  return (
    <>
      <h1>
        {words.title} {value && `(${value.people.length})`}
      </h1>
      <p className="help">{value?.people.length === 0 ? words.none : words.help}</p>
      <Loading of={[found]} />
      <ul className="deliveries">
        {value?.people.map((message) => (
          <Card key={message.task.id} message={message} calendars={value.calendars} onChanged={reload} />
        ))}
      </ul>
    </>
  );
}
