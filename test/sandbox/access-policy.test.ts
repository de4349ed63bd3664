import { beforeAll, describe, expect, test } from '@jest/globals';
import type {
  AccessPolicy,
  Appointment,
  Bundle,
  ClientApplication,
  Patient,
  ProjectMembership,
  Slot,
  Subscription,
} from '@medplum/fhirtypes';
import { withSandbox } from './start.ts';

const client = withSandbox();
const requestor = 'urn:requestor';
let portalA: ClientApplication;
let own: Patient;
let foreign: Patient;
let appointment: Appointment;

const as = (token: string) => ({ authorization: `Bearer ${token}` });

async function register(name: string, policy?: string): Promise<ClientApplication> {
  const path = `admin/projects/${client().sandbox.projectId}/client`;
  const accessPolicy = policy && { reference: `AccessPolicy/${policy}` };
  const { status, body } = await client().send<ClientApplication>('POST', path, { name, accessPolicy });
  expect(status).toBe(201);
  return body;
}

beforeAll(async () => {
  const policy = await client().create<AccessPolicy>({
    resourceType: 'AccessPolicy',
    name: 'Requestor',
    resource: [
      { resourceType: 'Patient', criteria: `Patient?_tag=${requestor}|%profile.id` },
      { resourceType: 'Appointment', criteria: `Appointment?_tag=${requestor}|%profile.id`, readonly: true },
      { resourceType: 'Slot', criteria: 'Slot?status=free', readonly: true },
      { resourceType: 'HealthcareService', interaction: ['read'] },
      {
        resourceType: 'Subscription',
        criteria: `Subscription?_tag=${requestor}|%profile.id`,
        hiddenFields: ['channel.header'],
        readonlyFields: ['end'],
      },
    ],
  });
  portalA = await register('Portal A', policy.id);
  await register('Portal B', policy.id);
  const tag = [{ system: requestor, code: portalA.id }];
  own = await client().create<Patient>({ resourceType: 'Patient', meta: { tag } });
  foreign = await client().create<Patient>({
    resourceType: 'Patient',
    meta: { tag: [{ system: requestor, code: 'other' }] },
  });
  appointment = await client().create<Appointment>({
    resourceType: 'Appointment',
    meta: { tag },
    status: 'proposed',
    participant: [{ status: 'accepted', actor: { reference: `Patient/${foreign.id}` } }],
  });
});

describe('criteria with %profile.id', () => {
  test('isolate one requestor from the other', async () => {
    expect((await client().fhir('GET', `Patient/${own.id}`, undefined, as('portal-a'))).status).toBe(200);
    expect((await client().fhir('GET', `Patient/${own.id}`, undefined, as('portal-b'))).status).toBe(404);
    expect((await client().fhir('GET', `Patient/${own.id}/_history`, undefined, as('portal-b'))).status).toBe(404);
    const ofA = await client().fhir<Bundle>('GET', 'Patient', undefined, as('portal-a'));
    expect(ofA.body.entry?.map(({ resource }) => resource?.id)).toEqual([own.id]);
    expect((await client().fhir<Bundle>('GET', 'Patient', undefined, as('portal-b'))).body.entry).toEqual(undefined);
  });

  test('hold for includes', async () => {
    const query = `Appointment?_id=${appointment.id}&_include=Appointment:patient`;
    const { body } = await client().fhir<Bundle>('GET', query, undefined, as('portal-a'));
    expect(body.entry?.map(({ resource }) => resource?.resourceType)).toEqual(['Appointment']);
  });

  test('hold in a batch', async () => {
    const entry = [own, foreign].map(({ id }) => ({ request: { method: 'GET', url: `Patient/${id}` } }));
    const { body } = await client().fhir<Bundle>(
      'POST',
      '',
      { resourceType: 'Bundle', type: 'batch', entry },
      as('portal-a'),
    );
    expect(body.entry?.map(({ response }) => response?.status)).toEqual(['200', '404']);
  });

  test('must hold for what is written', async () => {
    const untagged = { resourceType: 'Patient' };
    expect((await client().fhir('POST', 'Patient', untagged, as('portal-a'))).status).toBe(403);
    const stolen = { ...own, meta: { tag: [{ system: requestor, code: 'other' }] } };
    expect((await client().fhir('PUT', `Patient/${own.id}`, stolen, as('portal-a'))).status).toBe(403);
    expect((await client().fhir('PUT', `Patient/${foreign.id}`, foreign, as('portal-a'))).status).toBe(404);
    expect((await client().fhir('DELETE', `Patient/${foreign.id}`, undefined, as('portal-a'))).status).toBe(404);
  });
});

describe('what a policy does not name', () => {
  test.each([
    ['GET', 'Practitioner'],
    ['GET', 'HealthcareService'],
    ['GET', 'AccessPolicy'],
    ['GET', 'ProjectMembership'],
    ['POST', 'Appointment'],
    ['POST', 'Slot'],
    ['POST', 'Bot'],
    ['GET', 'Slot?schedule.actor:Practitioner.name=x'],
    ['GET', 'Patient?_revinclude=Observation:patient'],
  ])('%s %s is 403', async (method, path) => {
    const body = method === 'POST' ? { ...appointment, resourceType: path, id: undefined } : undefined;
    const answer = await client().fhir(method, path, body, as('portal-a'));
    expect([answer.status, answer.body.id]).toEqual([403, 'forbidden']);
  });

  test('a readonly resource cannot be changed or deleted', async () => {
    const path = `Appointment/${appointment.id}`;
    const patch = [{ op: 'replace', path: '/status', value: 'cancelled' }];
    for (const [method, body] of [
      ['PUT', appointment],
      ['PATCH', patch],
      ['DELETE', undefined],
    ] as const) {
      expect((await client().fhir(method, path, body, as('portal-a'))).status).toBe(403);
    }
  });
});

describe('hidden fields', () => {
  test('are nowhere to be seen, and read-only fields keep their value', async () => {
    const subscription: Subscription = {
      resourceType: 'Subscription',
      meta: { tag: [{ system: requestor, code: portalA.id }] },
      status: 'requested',
      reason: 'test',
      criteria: 'https://example.org/SubscriptionTopic/appointment-update',
      channel: { type: 'rest-hook', endpoint: 'https://example.org', header: ['Authorization: secret'] },
    };
    const { id } = await client().create(subscription);
    const path = `Subscription/${id}`;
    for (const query of [path, `Subscription?_id=${id}`, `${path}/_history`]) {
      const { status, body } = await client().fhir('GET', query, undefined, as('portal-a'));
      expect([status, JSON.stringify(body).includes('secret')]).toEqual([200, false]);
    }
    const changed = { ...subscription, id, end: '2030-01-01T00:00:00Z', reason: 'changed' };
    const { body } = await client().fhir<Subscription>('PUT', path, changed, as('portal-a'));
    expect([body.reason, body.end]).toEqual(['changed', undefined]);
  });
});

describe('a deleted resource', () => {
  test('is 404 for those who may read it by criteria only, and 410 for others', async () => {
    const slot = await client().create<Slot>({
      resourceType: 'Slot',
      schedule: { reference: 'Schedule/x' },
      status: 'free',
      start: '2027-01-01T10:00:00Z',
      end: '2027-01-01T11:00:00Z',
    });
    await client().fhir('DELETE', `Slot/${slot.id}`);
    expect((await client().fhir('GET', `Slot/${slot.id}`, undefined, as('portal-a'))).status).toBe(404);
    expect((await client().fhir('GET', `Slot/${slot.id}`)).status).toBe(410);
  });
});

describe('project administration', () => {
  test('is for administrators', async () => {
    const path = `admin/projects/${client().sandbox.projectId}`;
    for (const name of ['client', 'bot']) {
      expect((await client().send('POST', `${path}/${name}`, { name: 'x' }, as('portal-a'))).status).toBe(403);
    }
  });

  test('a membership names policies with parameters, and can be switched off', async () => {
    const policy = await client().create<AccessPolicy>({
      resourceType: 'AccessPolicy',
      name: 'Keyed',
      resource: [{ resourceType: 'Patient', criteria: `Patient?_tag=${requestor}|%key` }],
    });
    const keyed = await register('Keyed');
    const query = `ProjectMembership?profile=ClientApplication/${keyed.id}`;
    const { body } = await client().fhir<Bundle<ProjectMembership>>('GET', query);
    const membership = body.entry?.[0]?.resource;
    const parameter = [{ name: 'key', valueString: 'other' }];
    const access = [{ policy: { reference: `AccessPolicy/${policy.id}` }, parameter }];
    const path = `ProjectMembership/${membership?.id}`;
    expect((await client().fhir('PUT', path, { ...membership, access })).status).toBe(200);
    const authorization = `Basic ${Buffer.from(`${keyed.id}:${keyed.secret}`).toString('base64')}`;
    const found = await client().fhir<Bundle>('GET', 'Patient', undefined, { authorization });
    expect(found.body.entry?.map(({ resource }) => resource?.id)).toEqual([foreign.id]);
    await client().fhir('PUT', path, { ...membership, access, active: false });
    expect((await client().fhir('GET', 'Patient', undefined, { authorization })).status).toBe(401);
  });
});
