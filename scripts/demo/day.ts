import type { WithId } from '@medplum/core';
import type { Appointment, Patient, Slot } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import { instantAt, localDayOf } from '../../core/time/local-day.ts';
import type { Connection } from '../medplum/connect.ts';
import { DEMO_SYSTEM, demoIdentifier } from './clinic.ts';
import type { StoredSchedule } from './slots.ts';

/** The patients: given and family name, date of birth, reason. */
const people = `Emma Müller 1984-03-12 Cough for two weeks
Mehmet Yılmaz 1971-11-02 Blood pressure
Helga Schröder 1949-05-01 Needs a wheelchair
Lukas Weiß 1996-07-23 Sick note
Olena Kovalenko 1988-01-30 Interpreter comes along
Karl-Heinz Groß 1953-09-17 Results of the laboratory
Sofia Rossi 2001-12-05 Vaccination
Anneliese Böhm 1944-02-08 Prescription
Jonas Krämer 1979-06-14 Knee, since the weekend
Fatima Al-Sayed 1992-10-27 First visit
Peter Lindqvist 1966-04-19 Check-up
Mia Jäger 2016-08-11 Comes with her father
Renate Fuchs 1958-03-03 Dressing change
Tobias Voß 1990-12-21 Back pain
Ingrid Möller 1947-07-09 Thyroid
Ahmad Rahimi 1983-05-25 Second opinion
Clara Hoffmann 1999-09-30 Allergy
Werner Schulz 1951-01-16 Call the daughter, too
Elif Demir 1986-02-11 Headache
Bernd Köhler 1962-12-03 Shoulder
Yusuf Haddad 2009-06-25 Form for school
Marie Lefèvre 1975-08-19 Results of the laboratory
Dorothea Winkler 1938-10-30 House call asked for
Nils Sørensen 1994-04-07 Vaccination for a journey
Svetlana Petrova 1969-07-14 Sleeps badly
Paul Zimmermann 2019-03-22 Comes with his mother
Hannelore Busch 1955-05-09 Blood pressure
Luca Marino 1981-11-28 Sick note
Aylin Şahin 1998-09-02 First visit
Georg Engel 1946-06-06 Diabetes, quarterly
Katharina Vogt 1973-01-20 Referral
Tim Berger 2003-08-15 Sprained ankle`
  .split('\n')
  .map((line) => {
    const [given = '', family = '', birthDate = '', ...why] = line.split(' ');
    return { given, family, birthDate, why: why.join(' ') };
  });

const CANNOT_COME = 3;

const nextTimes = ({ medplum }: Connection, schedule: string, from: number, count: number): Promise<WithId<Slot>[]> =>
  medplum.searchResources(
    'Slot',
    { schedule, status: 'free', start: `ge${formatInstant(from)}`, _sort: 'start', _count: count },
    { cache: 'reload' },
  );

/** Minimum number of free times in a busy day. In the evening, that is not today. */
const FULL = 10;

/**
 * The next day with enough free times to become busy: `2027-01-31`, in the time zone of the clinic.
 *
 * @returns `undefined` if the busy day was booked before
 */
export async function busyDay(
  connection: Connection,
  { timeZone }: BookingConfig,
  schedules: readonly StoredSchedule[],
): Promise<string | undefined> {
  const [first] = schedules.filter(({ practitioner }) => practitioner);
  if (!first || (await connection.medplum.searchOne('Patient', { identifier: `${DEMO_SYSTEM}|day-1` }))) {
    return undefined;
  }
  const slots = await nextTimes(connection, first.reference, Date.now(), 4 * FULL);
  const days = [...Map.groupBy(slots, ({ start }) => localDayOf(Date.parse(start), timeZone))];
  return (days.find(([, times]) => times.length >= FULL) ?? days[0])?.[0];
}

type Wanted = Pick<Appointment, 'comment' | 'slot' | 'start' | 'end' | 'serviceType'>;

async function bookFor(
  { medplum }: Connection,
  { baseUrl }: BookingConfig,
  [index, { given, family, birthDate, why }]: readonly [number, (typeof people)[number]],
  wanted: Wanted,
): Promise<Appointment> {
  const patient = await medplum.createResource<Patient>({
    resourceType: 'Patient',
    identifier: demoIdentifier(`day-${index + 1}`),
    active: true,
    name: [{ family, given: [given] }],
    birthDate,
    // One of the numbers that Germany reserves for films and examples.
    telecom: [{ system: 'phone', value: `+49 30 23125 ${String(101 + index)}` }],
  });
  const appointment: Appointment = {
    resourceType: 'Appointment',
    status: 'proposed',
    ...wanted,
    comment: why,
    participant: [{ actor: { reference: `Patient/${patient.id}`, display: `${given} ${family}` }, status: 'accepted' }],
  };
  const response = await fetch(`${baseUrl}/Appointment/$book`, {
    method: 'POST',
    headers: { authorization: `Bearer ${medplum.getAccessToken()}`, 'content-type': 'application/fhir+json' },
    body: JSON.stringify(appointment),
  });
  if (!response.ok) {
    throw new Error(`The demo day could not be booked: ${await response.text()}`);
  }
  return (await response.json()) as Appointment;
}

/**
 * Books a busy day, so that the pages of the service show appointments. Requests to a calendar with confirmation by
 * hand stay pending. Each fourth time stays free, and one patient cancels.
 *
 * @param day - as `busyDay` returns it
 */
export async function bookDay(
  connection: Connection,
  config: BookingConfig,
  schedules: readonly StoredSchedule[],
  day: string,
): Promise<void> {
  const { medplum } = connection;
  const from = Math.max(Date.now(), instantAt(day, '00:00', config.timeZone));
  const calendars = schedules.filter(({ practitioner }) => practitioner);
  const share = Math.ceil(people.length / calendars.length);
  const bookCalendar = async ({ reference }: StoredSchedule, place: number): Promise<void> => {
    const slots = (await nextTimes(connection, reference, from, 12)).filter((_, index) => index % 4 !== 3);
    const visitors = [...people.entries()].slice(place * share, (place + 1) * share);
    for (const [index, visitor] of visitors.entries()) {
      const slot = slots[index];
      if (!slot) {
        return;
      }
      const serviceType = slot.serviceType?.map(({ coding }) => ({ ...(coding && { coding }) }));
      const { start, end } = slot;
      const wanted = { start, end, slot: [{ reference: `Slot/${slot.id}` }], ...(serviceType && { serviceType }) };
      const booked = await bookFor(connection, config, visitor, wanted);
      if (visitor[0] === CANNOT_COME) {
        await medplum.updateResource({ ...booked, status: 'cancelled' });
      }
    }
  };
  await Promise.all(calendars.map(bookCalendar));
}
