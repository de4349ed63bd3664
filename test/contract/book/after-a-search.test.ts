import { describe, expect, it } from '@jest/globals';
import type { HealthcareService, Patient, ProjectMembership, Resource, Schedule, Slot } from '@medplum/fhirtypes';
import { SERVICE_TYPE_REFERENCE } from '../../../core/fhir/reference.ts';
import { standIn } from '../clients.ts';
import { aPatient, appointmentsOn, aSchedule, book, ct, stored, succeeded } from '../fixtures.ts';
import { issuesOf, medplum, request } from '../http.ts';
import { aSlotIn, length, policy, whole } from '../policy/fixtures.ts';

interface Shown {
  readonly service: HealthcareService;
  readonly schedule: Schedule;
  readonly slot: Slot;
  readonly patient: Patient;
}

const late = policy(length('leadTime', 5, 'h'));

const aService = async (more: Partial<HealthcareService> = {}) => {
  const body: HealthcareService = { resourceType: 'HealthcareService', name: 'Check-up', ...more };
  return succeeded('HealthcareService', await medplum('front-desk', 'POST', '/HealthcareService', { body }));
};

const offering = ({ id }: HealthcareService) => [
  {
    ...ct,
    extension: [{ url: SERVICE_TYPE_REFERENCE, valueReference: { reference: `HealthcareService/${id}` } }],
  },
];

async function put(body: Resource): Promise<void> {
  const response = await medplum('front-desk', 'PUT', `/${body.resourceType}/${body.id}`, { body });
  expect(response.status).toBe(200);
}

/** What the clinic changes after a portal has seen a Slot, and why a booking of it is then refused. */
const changes: readonly [what: string, change: (shown: Shown) => Promise<void>, issue: string][] = [
  ['sets a policy', ({ schedule }) => put({ ...schedule, ...late }), 'too-soon'],
  ['sets a policy on the service', ({ service }) => put({ ...service, ...late }), 'too-soon'],
  [
    'offers another service with a policy',
    async ({ schedule }) => put({ ...schedule, serviceType: offering(await aService(late)) }),
    'too-soon',
  ],
  ['closes the schedule', ({ schedule }) => put({ ...schedule, active: false }), 'schedule-inactive'],
  ['makes the patient inactive', ({ patient }) => put({ ...patient, active: false }), 'patient-inactive'],
  ['takes the slot', ({ slot }) => put({ ...slot, status: 'busy' }), 'slot-not-free'],
];

describe('after a portal has seen a slot and booked another one', () => {
  async function shown(): Promise<Shown> {
    const service = await aService();
    const [schedule, patient] = await Promise.all([aSchedule({ serviceType: offering(service) }), aPatient()]);
    const [first, slot] = await Promise.all([aSlotIn(1, schedule), aSlotIn(2, schedule)]);
    const search = await request('portal-a', 'GET', `/Slot?schedule=Schedule/${schedule.id}&_include=Slot:schedule`);
    expect(search.status).toBe(200);
    expect((await book(whole(first, patient))).status).toBe(201);
    return { service, schedule, slot, patient };
  }

  it.each(changes)('the clinic %s: the booking is refused', async (_, change, issue) => {
    const all = await shown();
    await change(all);
    const response = await book(whole(all.slot, all.patient));
    expect(issuesOf(response)).toEqual([expect.stringMatching(new RegExp(`^${issue} `))]);
    expect(await appointmentsOn(all.slot)).toEqual([]);
  });

  it('a portal whose access policy lets it see no slots any more books none', async () => {
    const portal = await standIn('portal-a');
    const { slot, patient } = await shown();
    const [policies, memberships] = await Promise.all([
      medplum('admin', 'GET', '/AccessPolicy?name:exact=Appointment%20booking:%20consumer'),
      medplum('admin', 'GET', `/ProjectMembership?profile=ClientApplication/${portal.id}`),
    ]);
    const [consumer] = succeeded('Bundle', policies).entry ?? [];
    const membership = succeeded('Bundle', memberships).entry?.[0]?.resource as ProjectMembership;
    const body = { ...membership, accessPolicy: { reference: `AccessPolicy/${consumer?.resource?.id}` } };
    expect((await medplum('admin', 'PUT', `/ProjectMembership/${membership.id}`, { body })).status).toBe(200);
    expect((await book(whole(slot, patient))).status).toBeGreaterThanOrEqual(400);
    expect(await stored('Appointment', `slot=Slot/${slot.id}`)).toEqual([]);
    await medplum('admin', 'DELETE', `/ClientApplication/${portal.id}`);
  });
});
