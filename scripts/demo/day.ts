import type { WithId } from '@medplum/core';
import type { Appointment, Patient, Slot } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../core/config/config.ts';
import { formatInstant } from '../../core/fhir/instant.ts';
import type { Connection } from '../medplum/connect.ts';
import { DEMO_SYSTEM, demoIdentifier } from './clinic.ts';
import type { StoredSchedule } from './slots.ts';

/** Who comes: given and family name, date of birth, why. */
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
Werner Schulz 1951-01-16 Call the daughter, too`
  .split('\n')
  .map((line) => {
    const [given = '', family = '', birthDate = '', ...why] = line.split(' ');
    return { given, family, birthDate, why: why.join(' ') };
  });

/** The next free Slots of a calendar: about a day of them. */
const nextTimes = ({ medplum }: Connection, schedule: string): Promise<WithId<Slot>[]> =>
  medplum.searchResources(
    'Slot',
    { schedule, status: 'free', start: `ge${formatInstant(Date.now())}`, _sort: 'start', _count: 12 },
    { cache: 'reload' },
  );

/**
 * Books a busy day at the service, as the clinic itself would, so that its pages have something to show; once, however often
 * it is started. Requests to a calendar that confirms by hand wait there. Each fourth time stays free.
 */
export async function bookDay(
  connection: Connection,
  { baseUrl }: BookingConfig,
  schedules: readonly StoredSchedule[],
): Promise<void> {
  const { medplum } = connection;
  if (await medplum.searchOne('Patient', { identifier: `${DEMO_SYSTEM}|day-1` })) {
    return;
  }
  const waiting = [...people.entries()];
  for (const { reference, practitioner } of schedules) {
    const slots = practitioner ? await nextTimes(connection, reference) : [];
    for (const slot of slots.filter((_, index) => index % 4 !== 3)) {
      const [index, person] = waiting.shift() ?? [];
      if (index === undefined || !person) {
        return;
      }
      const patient = await medplum.createResource<Patient>({
        resourceType: 'Patient',
        identifier: demoIdentifier(`day-${index + 1}`),
        active: true,
        name: [{ family: person.family, given: [person.given] }],
        birthDate: person.birthDate,
        // Among the numbers that Germany keeps for films and examples.
        telecom: [{ system: 'phone', value: `+49 30 23125 ${String(101 + index)}` }],
      });
      const appointment: Appointment = {
        resourceType: 'Appointment',
        status: 'proposed',
        start: slot.start,
        end: slot.end,
        slot: [{ reference: `Slot/${slot.id}` }],
        ...(slot.serviceType && { serviceType: slot.serviceType.map(({ coding }) => ({ ...(coding && { coding }) })) }),
        comment: person.why,
        participant: [
          {
            actor: { reference: `Patient/${patient.id}`, display: `${person.given} ${person.family}` },
            status: 'accepted',
          },
        ],
      };
      const answer = await fetch(`${baseUrl}/Appointment/$book`, {
        method: 'POST',
        headers: { authorization: `Bearer ${medplum.getAccessToken()}`, 'content-type': 'application/fhir+json' },
        body: JSON.stringify(appointment),
      });
      if (!answer.ok) {
        throw new Error(`The demo day could not be booked: ${await answer.text()}`);
      }
    }
  }
}
