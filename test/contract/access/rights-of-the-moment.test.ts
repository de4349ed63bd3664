import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { AccessPolicy, AccessPolicyResource, HealthcareService, ProjectMembership } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { eventually } from '../../lib/until.ts';
import { aClient, type Client, removeClient, standIn, tokensOf } from '../clients.ts';
import {
  aClinic,
  aPatient,
  appointmentsOn,
  aSchedule,
  aSlot,
  book,
  ct,
  minutes,
  proposed,
  stored,
  succeeded,
} from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';
import { base, config, takeRole } from '../installation.ts';
import { aBooking, cancellation, patch } from '../patch/fixtures.ts';
import { aSlotIn, length, policy, whole } from '../policy/fixtures.ts';
import { join } from '../waitlist/fixtures.ts';

/** Who has written a slot: Medplum tells administrators, in its extended mode. */
async function authorOf(slotId: string | undefined): Promise<string> {
  const headers = { 'x-medplum': 'extended' };
  const { meta } = resourceIn('Slot', await medplum('admin', 'GET', `/Slot/${slotId}`, { headers }));
  return meta?.author?.reference ?? '';
}

it('a booking is written by the service, never by the portal: by a Bot, or by the client of the gateway', async () => {
  const { slot, patient } = await aClinic();
  const booked = resourceIn('Appointment', await book(proposed(patient, [slot])));
  const author = await authorOf(slot.id);
  const body = resourceIn(
    author.startsWith('Bot/') ? 'Bot' : 'ClientApplication',
    await medplum('admin', 'GET', `/${author}`),
  );
  const identifier = [{ system: artefactUri(config, 'LocalBot'), value: 'book' }];
  const byRuntime = {
    medplum: { resourceType: 'Bot', identifier },
    gateway: { resourceType: 'ClientApplication', name: 'Appointment booking: gateway' },
  };
  expect(body).toMatchObject(byRuntime[config.bots]);
  expect((await patch(booked.id ?? '', cancellation)).status).toBe(200);
  expect(resourceIn('Slot', await medplum('admin', 'GET', `/Slot/${slot.id}`)).status).toBe('free');
});

describe.each<[string, Partial<AccessPolicyResource>[], number]>([
  [
    'staff who may change the appointments of one practitioner only',
    [{ interaction: ['read', 'search'] }, { criteria: 'Appointment?actor=Practitioner/1' }],
    200,
  ],
  ['staff from whom a part of appointments is hidden', [{ hiddenFields: ['comment'] }], 404],
])('%s, of another', (_, rules, linked) => {
  const title = `Some appointments ${randomUUID()}`;
  let staff: Client;

  beforeAll(async () => {
    const query = `/AccessPolicy?name:exact=${encodeURIComponent('Appointment booking: front-desk')}`;
    const { entry } = resourceIn('Bundle', await medplum('admin', 'GET', query));
    const policy = entry?.[0]?.resource as AccessPolicy | undefined;
    const others = policy?.resource?.filter(({ resourceType }) => resourceType !== 'Appointment') ?? [];
    const own = rules.map((rule): AccessPolicyResource => ({ resourceType: 'Appointment', ...rule }));
    const body: AccessPolicy = { resourceType: 'AccessPolicy', name: title, resource: [...others, ...own] };
    succeeded('AccessPolicy', await medplum('admin', 'POST', '/AccessPolicy', { body }));
    staff = await aClient(title);
    takeRole('portal-b', tokensOf(staff));
  });

  afterAll(() => removeClient(staff));

  const parameters = (id: string | undefined, ...more: readonly object[]) => ({
    resourceType: 'Parameters',
    parameter: [{ name: 'schedule', valueReference: { reference: `Schedule/${id}` } }, ...more],
  });

  it('do not cancel it, move it, or wait for a better one, and nothing of it is lost', async () => {
    const { id, booked, schedule } = await aBooking({ comment: 'Lift' });
    const { meta } = resourceIn('Appointment', await medplum('admin', 'GET', `/Appointment/${id}`));
    const slot = await aSlot(schedule, 60, 90);
    const moved = { ...booked, ...proposed({ resourceType: 'Patient' }, [slot], { from: 60, to: 90 }) };
    expect((await patch(id, cancellation, 'portal-b')).status).toBe(404);
    expect(issuesOf(await book({ ...moved, participant: booked.participant }, 'portal-b'))).toContain(
      'transition-not-allowed Appointment.id',
    );
    const wish = {
      resourceType: 'Appointment',
      status: 'waitlist',
      serviceType: [ct],
      participant: booked.participant,
    };
    const waiting = [
      { name: 'appt-resource', resource: wish },
      { name: 'standing-appt-id', valueUri: `Appointment/${id}` },
    ];
    expect(issuesOf(await join({ resourceType: 'Parameters', parameter: waiting }, 'portal-b'))).toContain(
      'replaced-appointment-not-found Parameters.parameter[1].valueUri',
    );
    const kept = resourceIn('Appointment', await medplum('admin', 'GET', `/Appointment/${id}`));
    expect(kept).toMatchObject({ status: 'booked', comment: 'Lift', meta: { versionId: meta?.versionId } });
    expect(await appointmentsOn(slot)).toEqual([]);
  });

  it('say of no calendar, also an empty one, that it is absent', async () => {
    const { id } = await aSchedule();
    const body = parameters(id, { name: 'period', valuePeriod: { start: minutes(0), end: minutes(90) } });
    expect((await request('portal-b', 'POST', '/Schedule/$absence', { body })).status).toBe(403);
  });

  it('end the link of any calendar, and make one where they see all of it, or it is theirs beside a room', async () => {
    const actor = ['Location/1', `ClientApplication/${staff.id}`].map((reference) => ({ reference }));
    const [{ id }, own] = await Promise.all([aSchedule(), aSchedule({ actor })]);
    const statusOf = async (of: string | undefined, valueCode: string) => {
      const body = parameters(of, { name: 'action', valueCode }, { name: 'names', valueBoolean: true });
      return (await request('portal-b', 'POST', '/Schedule/$feed', { body })).status;
    };
    const statuses = [await statusOf(id, 'look'), await statusOf(id, 'end'), await statusOf(id, 'make')];
    expect([...statuses, await statusOf(own.id, 'make')]).toEqual([200, 200, linked, 200]);
  });

  it('book what is new as staff, later as at once: no policy binds them, whatever id it has', async () => {
    const [schedule, patient] = await Promise.all([aSchedule(policy(length('leadTime', 5, 'h'))), aPatient()]);
    const [slot, other] = await Promise.all([aSlotIn(1, schedule), aSlotIn(2, schedule)]);
    expect((await book(whole(slot, patient, { id: randomUUID() }), 'portal-b')).status).toBe(201);
    const later = await book(whole(other, patient, { id: randomUUID() }), 'portal-b', { prefer: 'respond-async' });
    const job = (later.headers.get('content-location') ?? '').slice(base.length);
    const ended = await eventually(() => request('portal-b', 'GET', job)).is(({ status }) => status !== 202);
    expect(ended.status).toBe(200);
  });
});

describe('rights of the moment', () => {
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
    expect((await request('portal-a', 'GET', '/Patient')).status).toBe(401);
    expect(await stored('Appointment', `slot=Slot/${second.id},Slot/${third.id}`)).toEqual([]);
  });
});
