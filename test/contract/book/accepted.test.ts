import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { SERVICE_TYPE_REFERENCE } from '../../../core/fhir/reference/service-reference.ts';
import { aClinic, appointmentsOn, book, ct, proposed, slotsOf, stored, succeeded } from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';
import { base, config } from '../installation.ts';

it('confirmed: 201, Location, the Appointment with status booked, its slot busy', async () => {
  const { schedule, slot, patient } = await aClinic();
  const answer = await book(proposed(patient, [slot], { comment: 'Left knee' }));
  const booked = resourceIn('Appointment', answer);
  expect(answer.status).toBe(201);
  expect(answer.headers.get('location')).toMatch(new RegExp(`^${base}/Appointment/${booked.id}(/_history/[^/]+)?$`));
  expect(answer.headers.get('etag')).toBe(`W/"${booked.meta?.versionId}"`);
  expect(Date.parse(answer.headers.get('last-modified') ?? '')).toBeGreaterThan(0);
  expect(booked).toMatchObject({ status: 'booked', comment: 'Left knee', slot: [{ reference: `Slot/${slot.id}` }] });
  expect(await stored('Appointment', `_id=${booked.id}`)).toHaveLength(1);
  expect(await slotsOf(schedule)).toEqual(['busy 0-30']);
});

it('cannot be confirmed now: 202, the Appointment with status pending, its slot busy-tentative', async () => {
  const extension = [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: 'manual' }];
  const { schedule, slot, patient } = await aClinic({ extension });
  const answer = await book(proposed(patient, [slot]));
  expect(answer.status).toBe(202);
  expect(resourceIn('Appointment', answer).status).toBe('pending');
  expect(await slotsOf(schedule)).toEqual(['busy-tentative 0-30']);
});

const confirmation = (code: string) => [{ url: artefactUri(config, 'LocalConfirmation'), valueCode: code }];

it.each([
  ['its HealthcareService says by hand', undefined, 'pending'],
  ['the schedule itself says at once, whatever its HealthcareService says', 'automatic', 'booked'],
])('%s', async (_, onSchedule, status) => {
  const service = succeeded(
    'HealthcareService',
    await medplum('front-desk', 'POST', '/HealthcareService', {
      body: { resourceType: 'HealthcareService', name: 'CT', extension: confirmation('manual') },
    }),
  );
  const { slot, patient } = await aClinic({
    actor: [{ reference: `HealthcareService/${service.id}` }],
    ...(onSchedule && { extension: confirmation(onSchedule) }),
  });
  expect(resourceIn('Appointment', await book(proposed(patient, [slot]))).status).toBe(status);
});

it('the HealthcareService that its service type refers to requires confirmation by hand', async () => {
  const service = succeeded(
    'HealthcareService',
    await medplum('front-desk', 'POST', '/HealthcareService', {
      body: { resourceType: 'HealthcareService', name: 'CT', extension: confirmation('manual') },
    }),
  );
  const reference = { url: SERVICE_TYPE_REFERENCE, valueReference: { reference: `HealthcareService/${service.id}` } };
  const { slot, patient } = await aClinic({ serviceType: [{ ...ct, extension: [reference] }] });
  expect(resourceIn('Appointment', await book(proposed(patient, [slot]))).status).toBe('pending');
});

it('the body may be Parameters with appointment', async () => {
  const { slot, patient } = await aClinic();
  const parameter = [{ name: 'appointment', resource: proposed(patient, [slot]) }];
  expect((await book({ resourceType: 'Parameters', parameter })).status).toBe(201);
});

it('the dollar of the operation may be encoded', async () => {
  const { slot, patient } = await aClinic();
  const answer = await request('portal-a', 'POST', '/Appointment/%24book', { body: proposed(patient, [slot]) });
  expect([answer.status, answer.body]).toEqual([201, expect.objectContaining({ status: 'booked' })]);
});

it('an unknown id: a new appointment under an id of the service', async () => {
  const { slot, patient } = await aClinic();
  const id = randomUUID();
  const answer = await book(proposed(patient, [slot], { id }));
  expect(answer.status).toBe(201);
  expect(resourceIn('Appointment', answer).id).not.toBe(id);
});

const url = artefactUri(config, 'LocalTerminPriorityExtension');
const urgent = { system: config.terminologySystem, code: '103391001' };
const withCoding = (coding: object) => ({ url, valueCodeableConcept: { coding: [coding] } });
const priority = (...extension: object[]) => ({ _priority: { extension } });

it('meta.profile contains LocalTermin although the request claims none', async () => {
  const { slot, patient } = await aClinic();
  const { meta: _, ...body } = proposed(patient, [slot]);
  expect((await book(body)).status).toBe(201);
  const [appointment] = await appointmentsOn(slot);
  expect(appointment?.meta?.profile).toContain(artefactUri(config, 'LocalTermin'));
});

describe('what LocalTermin does not allow is refused: 422, and nothing is booked', () => {
  it.each<[string, Partial<Appointment> & { _priority?: object }, string[]]>([
    [
      'a service type without a system',
      { serviceType: [ct, { coding: [{ code: 'ct' }] }] },
      ['profile-violation Appointment.serviceType[1].coding[0]'],
    ],
    [
      'a service type without a code',
      { serviceType: [ct, { coding: [{ system: 'urn:types' }] }] },
      ['profile-violation Appointment.serviceType[1].coding[0]'],
    ],
    [
      'a specialty that is text only',
      { specialty: [{ text: 'Radiology' }] },
      ['profile-violation Appointment.specialty[0].coding'],
    ],
    [
      'two priorities',
      priority(withCoding(urgent), withCoding(urgent)),
      ['profile-violation Appointment.priority.extension'],
    ],
    ['another extension', priority({ url: 'urn:other' }), ['profile-violation Appointment.priority.extension']],
    [
      'a priority without a system',
      priority(withCoding({ code: '103391001' })),
      ['profile-violation Appointment.priority.extension[0].value.coding[0]'],
    ],
    [
      'a priority that is text only',
      priority({ url, valueCodeableConcept: { text: 'urgent' } }),
      ['profile-violation Appointment.priority.extension[0].value.coding'],
    ],
  ])('%s', async (_, change, issues) => {
    const { slot, patient } = await aClinic();
    const answer = await book({ ...proposed(patient, [slot]), ...change });
    expect(answer.status).toBe(422);
    expect(issuesOf(answer).filter((issue) => issue.startsWith('profile-violation'))).toEqual(issues);
    expect(await appointmentsOn(slot)).toEqual([]);
  });
});
