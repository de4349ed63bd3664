/** The limits of the installation, which bind those who wait as those who book. */
import '../config.ts';
import { expect, it } from '@jest/globals';
import type { Appointment, OperationOutcome } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/join-waitlist.ts';
import { configured } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import { aPatient, aPortal, aSchedule, aType, eventOf, extension, inMinutes } from './fixtures.ts';

const medplum = withMedplum();

const refilled = () =>
  extension('LocalBookingPolicy', { extension: [{ url: 'refill', valueBoolean: true }] } as object);

it.each([
  ['entries', { maxOpenAppointments: 2, maxBookingsPerMinute: 9 }, 'portal-limit-reached'],
  ['a minute', { maxOpenAppointments: 9, maxBookingsPerMinute: 2 }, 'too-many-bookings'],
])('more than the portal may have, by %s, are refused, whoever they are for', async (_, requestors, code) => {
  const [portal, serviceType] = [await aPortal(medplum()), [aType()]];
  await aSchedule(medplum(), { serviceType, extension: [refilled()] });
  const join = async () => {
    const patient = await aPatient(medplum(), portal);
    const entry: Appointment = {
      resourceType: 'Appointment',
      status: 'waitlist',
      serviceType,
      requestedPeriod: [{ start: inMinutes(60), end: inMinutes(6_000) }],
      participant: [{ actor: { reference: `Patient/${patient.id}`, display: 'Kim Muster' }, status: 'accepted' }],
    };
    return handler(medplum().medplum, eventOf<unknown>(entry, portal));
  };
  const answers = await configured({ requestors }, async () => [await join(), await join(), await join()]);
  expect(answers.map(({ resourceType }) => resourceType)).toEqual(['Appointment', 'Appointment', 'OperationOutcome']);
  const { issue } = answers[2] as OperationOutcome;
  expect(issue.map(({ details }) => details?.coding?.[0]?.code)).toEqual([code]);
});
