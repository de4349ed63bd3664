import { Button, Group } from '@mantine/core';
import type { Appointment, Communication } from '@medplum/fhirtypes';
import { useLocation, useParams, useSearch } from 'wouter';
import { nameOf } from '../../../../core/fhir/resource.ts';
import { localDayOf } from '../../../../core/time/local-day.ts';
import { contactOf, payersOf, servicesOf } from '../../appointment/people.ts';
import { timeOf } from '../../day/entries.ts';
import { personIn, personSearches, writtenAt } from '../../people/person.ts';
import { calendarsOf } from '../appointment/calendars.ts';
import { Guardians, Phone } from '../appointment/facts.tsx';
import { AppointmentPanel } from '../appointment/panel.tsx';
import { dateText, dayText, momentText, spanText } from '../parts/format.ts';
import { Loading } from '../parts/loading.tsx';
import { SidePanel } from '../parts/side-panel.tsx';
import { useFound } from '../parts/use-found.ts';
import { useNow } from '../parts/use-now.ts';
import { useTexts } from '../parts/use-texts.ts';
import { config } from '../settings.ts';
import { JoinForm } from '../waitlist/join-form.tsx';
import { ContactsForm } from './contacts.tsx';

function Row({
  appointment,
  calendar,
  onOpen,
}: {
  readonly appointment: Appointment;
  readonly calendar: string | undefined;
  readonly onOpen: () => void;
}) {
  const { language, status, requests, payers } = useTexts();
  const time = timeOf(appointment);
  // The list of cancelled appointments says it already.
  const state = appointment.status !== 'cancelled' && (status[appointment.status] ?? appointment.status);
  const details = [servicesOf(appointment), payersOf(appointment, payers, config), calendar, state];
  return (
    <li>
      <button type="button" className="request" onClick={onOpen}>
        <span className="name">
          {time ? `${dayText(time.start, language)}, ${spanText(time, language)}` : requests.noTime}
        </span>
        <span>{details.filter(Boolean).join(' · ')}</span>
        {appointment.comment && <span>{appointment.comment}</span>}
      </button>
    </li>
  );
}

function Sent({ message }: { readonly message: Communication }) {
  const { language, person: words } = useTexts();
  const { topic, status, received, statusReason } = message;
  const kinds: Readonly<Record<string, string>> = words.kinds;
  const states: Readonly<Record<string, string>> = words.states;
  const details = [
    momentText(writtenAt(message), language),
    kinds[topic?.text ?? ''] ?? topic?.text,
    received ? words.answered : (states[status] ?? status),
    statusReason?.text,
  ];
  return <li>{details.filter(Boolean).join(' · ')}</li>;
}

const whens = ['coming', 'waiting', 'past', 'cancelled'] as const;

/** A person with all appointments, on which staff book, move and cancel. */
export function PersonPage() {
  const texts = useTexts();
  const { person: words, booking } = texts;
  const { id = '' } = useParams();
  const now = useNow();
  const [, navigate] = useLocation();
  const query = new URLSearchParams(useSearch());
  const open = query.get('open') ?? undefined;
  const show = (appointment?: string) => navigate(`/people/${id}${appointment ? `?open=${appointment}` : ''}`);
  const found = useFound(`person ${id}`, personSearches(id, config), async (resources) => {
    const person = personIn(resources, Date.now());
    return { resources, calendars: await calendarsOf(Object.values(person.appointments).flat()) };
  });
  const { value, reload } = found;
  if (!value) {
    return <Loading of={[found]} />;
  }
  const { patient, guardians, appointments, messages } = personIn(value.resources, now);
  const opened = Object.values(appointments)
    .flat()
    .find((appointment) => appointment.id === open);
  return (
    <>
      <h1>{(patient && nameOf(patient)) || booking.unnamed}</h1>
      <Loading of={[found]} />
      <p className="reach">
        {patient?.birthDate && <span>{dateText(patient.birthDate, texts.language)}</span>}
        <Phone number={contactOf(patient, 'phone')} />
        <span>{contactOf(patient, 'email')}</span>
        {guardians.length > 0 && (
          <span>
            {texts.appointment.guardian}: <Guardians of={guardians} />
          </span>
        )}
      </p>
      {patient && patient.active !== false && (
        <Group gap="xs">
          <Button onClick={() => navigate(`/calendar?for=${id}`)}>{words.book}</Button>
          <Button variant="default" onClick={() => navigate(`/people/${id}?wait`)}>
            {texts.waitlist.join}
          </Button>
          <Button variant="default" onClick={() => navigate(`/people/${id}?contacts`)}>
            {words.contacts}
          </Button>
        </Group>
      )}
      {patient && query.has('contacts') && (
        <ContactsForm
          key={patient.meta?.versionId}
          patient={patient}
          onSaved={() => {
            show();
            void reload();
          }}
          onClose={() => show()}
        />
      )}
      {patient && query.has('wait') && (
        <JoinForm
          who={{ id, name: nameOf(patient) }}
          coming={appointments.coming}
          onJoined={() => {
            show();
            void reload();
          }}
          onClose={() => show()}
        />
      )}
      {whens
        .filter((when) => when !== 'waiting' || appointments.waiting.length > 0)
        .map((when) => (
          <section key={when} className="of-person" aria-labelledby={when}>
            <h2 id={when}>{words[when](appointments[when].length)}</h2>
            <ol className="requests">
              {appointments[when].map((one) => (
                <Row
                  key={one.id}
                  appointment={one}
                  calendar={value.calendars.get(one.id ?? '')}
                  onOpen={() => show(one.id)}
                />
              ))}
            </ol>
          </section>
        ))}
      {messages.length > 0 && (
        <section className="of-person" aria-labelledby="messages">
          <h2 id="messages">{words.messages(messages.length)}</h2>
          <ol>
            {messages.map((communication) => (
              <Sent key={communication.id} message={communication} />
            ))}
          </ol>
        </section>
      )}
      <SidePanel
        title={(patient && nameOf(patient)) || booking.unnamed}
        isOpen={open !== undefined}
        onClose={() => show()}
      >
        {open && (
          <AppointmentPanel
            key={open}
            id={open}
            version={opened?.meta?.versionId}
            onChanged={() => void reload()}
            onMove={() => {
              const time = opened && timeOf(opened);
              const day = localDayOf(time?.start ?? Date.now(), config.timeZone);
              navigate(`/calendar?date=${day}&move=${open}`);
            }}
          />
        )}
      </SidePanel>
    </>
  );
}
