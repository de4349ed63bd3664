/** The limits of the installation, which bind those who wait as those who book. */
import '../config.ts';
import { expect, it } from '@jest/globals';
import type { Appointment, OperationOutcome, QuestionnaireResponse } from '@medplum/fhirtypes';
import { handler } from '../../../bots/booking/join-waitlist.ts';
import { configured } from '../config.ts';
import { withMedplum } from '../medplum.ts';
import {
  aPatient,
  aPortal,
  aSchedule,
  aType,
  eventOf,
  extension,
  inMinutes,
  parameters,
  problems,
} from './fixtures.ts';

const medplum = withMedplum();

it('keeps what the patient has answered', async () => {
  const [portal, serviceType] = [await aPortal(medplum()), [aType()]];
  await aSchedule(medplum(), { serviceType, extension: [refilled()] });
  const join = async (answers: object) => {
    const patient = await aPatient(medplum(), portal);
    const person = {
      actor: { reference: `Patient/${patient.id}`, display: 'Kim Muster' },
      status: 'accepted',
    } as const;
    const entry: Appointment = {
      resourceType: 'Appointment',
      status: 'waitlist',
      serviceType,
      requestedPeriod: [{ start: inMinutes(60), end: inMinutes(6_000) }],
      participant: [person],
    };
    const sent = { resourceType: 'QuestionnaireResponse', status: 'completed', ...answers } as QuestionnaireResponse;
    const body = parameters(
      { name: 'appt-resource', resource: entry },
      { name: 'patientSubmittedInformation', resource: sent },
    );
    return { patient, answer: await handler(medplum().medplum, eventOf<unknown>(body, portal)) };
  };
  const { patient, answer } = await join({
    text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">I agree</div>' },
    item: [{ linkId: 'consent', text: 'Your consent', answer: [{ valueString: 'I agree' }] }],
  });
  const [kept] = (answer as Appointment).supportingInformation ?? [];
  expect(await medplum().read<QuestionnaireResponse>(kept?.reference ?? '')).toMatchObject({
    subject: { reference: `Patient/${patient.id}` },
    item: [{ answer: [{ valueString: 'I agree' }] }],
  });
  expect(problems((await join({})).answer)).toContain('answers-text-missing Parameters.parameter[1].resource.text');
});

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
