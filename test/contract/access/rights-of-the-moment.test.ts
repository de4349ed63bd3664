/** What was true of a caller, a schedule or a service a moment ago, and is not now: every booking is decided anew. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { HealthcareService, ProjectMembership } from '@medplum/fhirtypes';
import { type Client, standIn } from '../clients.ts';
import { aPatient, appointmentsOn, aSchedule, book, stored, succeeded } from '../fixtures.ts';
import { issuesOf, medplum, resourceIn } from '../http.ts';
import { aSlotIn, length, policy, whole } from '../policy/fixtures.ts';

let portal: Client;

beforeAll(async () => {
  portal = await standIn('portal-a');
});

afterAll(async () => {
  await medplum('admin', 'DELETE', `/ClientApplication/${portal.id}`);
});

const found = async (query: string) => {
  const { entry } = resourceIn('Bundle', await medplum('admin', 'GET', `/${query}`));
  return entry?.[0]?.resource;
};

it('a policy that the clinic sets between two bookings binds the second one', async () => {
  const [schedule, patient] = await Promise.all([aSchedule(), aPatient()]);
  const [first, second] = await Promise.all([aSlotIn(1, schedule), aSlotIn(2, schedule)]);
  expect((await book(whole(first, patient))).status).toBe(201);
  const body = { ...schedule, ...policy(length('leadTime', 5, 'h')) };
  expect((await medplum('front-desk', 'PUT', `/Schedule/${schedule.id}`, { body })).status).toBe(200);
  expect(issuesOf(await book(whole(second, patient)))).toEqual(['too-soon Appointment.start']);
  expect(await appointmentsOn(second)).toEqual([]);
});

it('so does one that it sets on the service, and a schedule that it closes', async () => {
  const resource: HealthcareService = { resourceType: 'HealthcareService', name: 'Check-up' };
  const made = await medplum('front-desk', 'POST', '/HealthcareService', { body: resource });
  const service = succeeded('HealthcareService', made);
  const actor = [{ reference: `HealthcareService/${service.id}` }];
  const [schedule, patient] = await Promise.all([aSchedule({ actor }), aPatient()]);
  const slots = await Promise.all([1, 2, 3].map((hours) => aSlotIn(hours, schedule)));
  const statusOf = async (index: number) => {
    const slot = slots[index];
    return slot && (await book(whole(slot, patient))).status;
  };
  expect(await statusOf(0)).toBe(201);
  const policed = { ...service, ...policy(length('leadTime', 5, 'h')) };
  await medplum('front-desk', 'PUT', `/HealthcareService/${service.id}`, { body: policed });
  expect(await statusOf(1)).toBe(422);
  await medplum('front-desk', 'PUT', `/HealthcareService/${service.id}`, { body: service });
  await medplum('front-desk', 'PUT', `/Schedule/${schedule.id}`, { body: { ...schedule, active: false } });
  expect(await statusOf(2)).toBe(422);
});

it('a portal that may read no slots any more books none, and one whose access has ended is not known', async () => {
  const [schedule, patient] = await Promise.all([aSchedule(), aPatient()]);
  const [first, second, third] = await Promise.all([1, 2, 3].map((hours) => aSlotIn(hours, schedule)));
  if (!first || !second || !third) {
    throw new Error('There must be three slots.');
  }
  expect((await book(whole(first, patient))).status).toBe(201);
  const [consumer] = await Promise.all([found('AccessPolicy?name:exact=Appointment%20booking:%20consumer')]);
  const membership = await found(`ProjectMembership?profile=ClientApplication/${portal.id}`);
  const accessPolicy = { reference: `AccessPolicy/${consumer?.id}` };
  const body = { ...membership, accessPolicy } as ProjectMembership;
  expect((await medplum('admin', 'PUT', `/ProjectMembership/${membership?.id}`, { body })).status).toBe(200);
  const refused = await book(whole(second, patient));
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(refused.status).toBeLessThan(500);
  await medplum('admin', 'DELETE', `/ProjectMembership/${membership?.id}`);
  expect((await book(whole(third, patient))).status).toBe(401);
  expect(await stored('Appointment', `slot=Slot/${second.id},Slot/${third.id}`)).toEqual([]);
});
