import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import type { Appointment, CodeableConcept, Extension, HealthcareService, Patient, Slot } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { stepExtension, stepOf, visitGroupOf } from '../../../core/visits/visit.ts';
import { eventually } from '../../lib/until.ts';
import { aPatient, aSchedule, book, several, succeeded } from '../fixtures.ts';
import { type Answer, medplum, refusalOf, request, resourceIn } from '../http.ts';
import { config, type Role } from '../installation.ts';
import { cancellation, patch } from '../patch/fixtures.ts';
import { aSlotIn, whole } from '../policy/fixtures.ts';
import { accepting, join, offersFor, refilling, statusesOf, waiting } from '../waitlist/fixtures.ts';

const appointmentsIn = (response: Answer): Appointment[] =>
  (resourceIn('Bundle', response).entry ?? []).flatMap(({ resource }) =>
    isResource(resource, 'Appointment') ? [resource] : [],
  );

const aType = (): CodeableConcept => ({
  coding: [{ system: artefactUri(config, 'LocalServiceType'), code: randomUUID() }],
});

/** Blood and, within an hour, an ECG, two days ahead: all of it is booked by portal B. */
async function aFullMorning() {
  const [type, ofSteps] = [aType(), aType()];
  const refilled = { serviceType: [ofSteps], ...refilling() };
  const [blood, ecg] = await Promise.all([aSchedule(refilled), aSchedule(refilled)]);
  const step = (name: string, { id }: { id?: string }, ...more: Extension[]): Extension => ({
    url: 'step',
    extension: [
      { url: 'name', valueString: name },
      { url: 'schedule', valueReference: { reference: `Schedule/${id}` } },
      ...more,
    ],
  });
  const body: HealthcareService = {
    resourceType: 'HealthcareService',
    name: 'Check-up',
    type: [type],
    extension: [
      ...refilling().extension,
      {
        url: artefactUri(config, 'LocalVisit'),
        extension: [
          step('Blood', blood),
          step(
            'ECG',
            ecg,
            { url: 'after', valueString: 'Blood' },
            { url: 'gapMax', valueDuration: { value: 1, code: 'h', system: 'http://unitsofmeasure.org' } },
          ),
        ],
      },
    ],
  };
  const service = succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
  const visitAt = async (hours: number, patient: Patient, role: Role) => {
    const slots = await Promise.all([aSlotIn(hours, blood), aSlotIn(hours + 1, ecg)]);
    const mark = (slot: Slot, name: string) =>
      whole(slot, patient, {
        serviceType: [ofSteps],
        extension: [stepExtension({ service: service.id ?? '', step: name }, config)],
      });
    const [first, second] = slots;
    const response = await book(several(mark(first, 'Blood'), mark(second, 'ECG')), role);
    expect(response.status).toBe(201);
    return appointmentsIn(response);
  };
  const booked = await visitAt(48, await aPatient('portal-b'), 'portal-b');
  return { type, schedules: [blood, ecg], booked, visitAt };
}

const waits = async (type: CodeableConcept, patient: Patient, current?: Appointment, role: Role = 'portal-a') =>
  succeeded(
    'Appointment',
    await join(
      {
        resourceType: 'Parameters',
        parameter: [
          { name: 'appt-resource', resource: waiting(patient, type) },
          ...(current ? [{ name: 'standing-appt-id', valueUri: `Appointment/${current.id}` }] : []),
        ],
      },
      role,
    ),
  );

const wholeOffer = (entry: Appointment, patient: Patient) =>
  eventually(async () =>
    (await offersFor(entry, patient)).sort((appointment, other) =>
      (appointment.start ?? '') < (other.start ?? '') ? -1 : 1,
    ),
  ).is(({ length }) => length > 0);

const statusOf = async ({ id }: Appointment) =>
  resourceIn('Appointment', await request('portal-a', 'GET', `/Appointment/${id}`)).status;

it('freed time is one offer of a whole visit, taken as a whole in place of a later one', async () => {
  const { type, schedules, booked, visitAt } = await aFullMorning();
  const patient = await aPatient();
  const later = await visitAt(72, patient, 'portal-a');
  const entry = await waits(type, patient, later[1]);
  expect((await patch(booked[1]?.id ?? '', cancellation, 'portal-b')).status).toBe(200);
  const offers = await wholeOffer(entry, patient);
  expect(offers.map((appointment) => [appointment.status, stepOf(appointment, config)?.step])).toEqual([
    ['proposed', 'Blood'],
    ['proposed', 'ECG'],
  ]);
  expect(new Set(offers.map((appointment) => visitGroupOf(appointment, config))).size).toBe(1);
  expect(refusalOf(await book(accepting(offers[0] as Appointment)))).toEqual([422, 'visit-mismatch Appointment.id']);
  const accepted = await book(several(...offers.map(accepting)));
  expect(accepted.status).toBe(201);
  expect(appointmentsIn(accepted).map(({ id, status }) => [id, status])).toEqual(
    offers.map(({ id }) => [id, 'booked']),
  );
  expect(await Promise.all([...later, entry].map(statusOf))).toEqual(['cancelled', 'cancelled', 'cancelled']);
  expect(await Promise.all(schedules.map(statusesOf))).toEqual([
    ['busy', 'free'],
    ['busy', 'free'],
  ]);
});

it('an offer of a whole visit is declined as a whole, and goes to the next', async () => {
  const { type, schedules, booked } = await aFullMorning();
  const [patient, other] = await Promise.all([aPatient(), aPatient('portal-b')]);
  const entry = await waits(type, patient);
  const next = await waits(type, other, undefined, 'portal-b');
  await patch(booked[0]?.id ?? '', cancellation, 'portal-b');
  const offers = await wholeOffer(entry, patient);
  expect((await patch(offers[1]?.id ?? '', cancellation)).status).toBe(200);
  expect(await Promise.all(offers.map(statusOf))).toEqual(['cancelled', 'cancelled']);
  expect(await wholeOffer(next, other)).toHaveLength(2);
  expect((await Promise.all(schedules.map(statusesOf))).flat()).toEqual(['busy-tentative', 'busy-tentative']);
  expect(await offersFor(entry, patient)).toHaveLength(2);
});
