import { describe, expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/config/config.ts';
import { aClinic, aPatient, book, minutes, proposed } from '../fixtures.ts';
import { medplum, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

async function aBooking() {
  const { slot, patient } = await aClinic();
  return { slot, patient, appointment: resourceIn('Appointment', await book(proposed(patient, [slot]))) };
}

const found = (answer: Awaited<ReturnType<typeof request>>) => resourceIn('Bundle', answer).entry ?? [];

describe.each([
  ['through the service', request],
  ['at Medplum itself', medplum],
])("portal B and portal A's resources, %s", (_, send) => {
  it('cannot be read', async () => {
    const { patient, appointment } = await aBooking();
    for (const path of [`/Patient/${patient.id}`, `/Appointment/${appointment.id}`]) {
      expect((await send('portal-a', 'GET', path)).status).toBe(200);
      expect((await send('portal-b', 'GET', path)).status).toBe(404);
    }
  });

  it('cannot be found', async () => {
    const { patient, appointment, slot } = await aBooking();
    const paths = [
      `/Patient?_id=${patient.id}`,
      `/Patient?identifier=${patient.identifier?.[0]?.value}`,
      `/Appointment?_id=${appointment.id}`,
      `/Appointment?patient=Patient/${patient.id}`,
      `/Appointment?slot=Slot/${slot.id}&_include=Appointment:patient`,
    ];
    for (const path of paths) {
      expect(found(await send('portal-a', 'GET', path)).length).toBeGreaterThan(0);
      expect(found(await send('portal-b', 'GET', path))).toEqual([]);
    }
  });

  it('cannot be changed', async () => {
    const { patient } = await aBooking();
    const answer = await send('portal-b', 'PUT', `/Patient/${patient.id}`, { body: { ...patient, gender: 'other' } });
    expect([403, 404]).toContain(answer.status);
    expect(resourceIn('Patient', await request('portal-a', 'GET', `/Patient/${patient.id}`)).gender).toBeUndefined();
  });
});

describe('a requestor at Medplum itself', () => {
  it.each<[string, object]>([
    ['Appointment', { status: 'booked', participant: [{ status: 'accepted', actor: { display: 'x' } }] }],
    ['Slot', { status: 'free', start: minutes(0), end: minutes(30), schedule: { display: 'x' } }],
    ['Schedule', { actor: [{ display: 'x' }] }],
    ['Patient', {}],
    ['QuestionnaireResponse', { status: 'completed' }],
    ['Task', { status: 'requested', intent: 'order' }],
    ['Bot', { name: 'mine' }],
  ])('cannot create a %s', async (resourceType, elements) => {
    const answer = await medplum('portal-a', 'POST', `/${resourceType}`, { body: { resourceType, ...elements } });
    expect(answer.status).toBe(403);
  });

  it('cannot change an appointment or a slot', async () => {
    const { slot, appointment } = await aBooking();
    const patch = {
      body: [{ op: 'replace', path: '/status', value: 'free' }],
      headers: { 'content-type': 'application/json-patch+json' },
    };
    for (const { resourceType, id, ...rest } of [slot, appointment]) {
      const path = `/${resourceType}/${id}`;
      const body = { resourceType, id, ...rest, comment: 'mine' };
      expect((await medplum('portal-a', 'PUT', path, { body })).status).toBe(403);
      expect((await medplum('portal-a', 'PATCH', path, patch)).status).toBe(403);
      expect((await medplum('portal-a', 'DELETE', path)).status).toBe(403);
    }
  });

  it("cannot give a patient to another portal's name, nor take the tag off", async () => {
    const patient = await aPatient();
    const tag = patient.meta?.tag?.map((coding) => ({ ...coding, code: 'somebody-else' })) ?? [];
    const answer = await medplum('portal-a', 'PUT', `/Patient/${patient.id}`, {
      body: { ...patient, meta: { ...patient.meta, tag } },
    });
    expect(answer.status).toBe(403);
  });

  it("cannot give a patient another portal's tag besides its own, in whatever letters", async () => {
    const [patient, foreign] = [await aPatient('portal-a'), await aPatient('portal-b')];
    const system = artefactUri(config, 'LocalRequestor');
    const theirs = foreign.meta?.tag?.find((tag) => tag.system === system);
    for (const spelt of [system, system.toUpperCase(), system.toLowerCase(), system.replace('h', 'H')]) {
      const tag = [...(patient.meta?.tag ?? []), { ...theirs, system: spelt }];
      const { id: _, ...fresh } = { ...patient, meta: { tag } };
      const patch = {
        body: [{ op: 'add', path: '/meta/tag/-', value: { ...theirs, system: spelt } }],
        headers: { 'content-type': 'application/json-patch+json' },
      };
      const path = `/Patient/${patient.id}`;
      expect((await medplum('portal-a', 'POST', '/Patient', { body: fresh })).status).toBe(403);
      expect((await medplum('portal-a', 'PUT', path, { body: { ...patient, meta: { tag } } })).status).toBe(403);
      expect((await medplum('portal-a', 'PATCH', path, patch)).status).toBe(403);
    }
    expect((await medplum('portal-b', 'GET', `/Patient/${patient.id}`)).status).toBe(404);
  });

  it('cannot read policies, memberships, clients or audits', async () => {
    for (const type of ['AccessPolicy', 'ProjectMembership', 'ClientApplication', 'AuditEvent']) {
      const answer = await medplum('portal-a', 'GET', `/${type}`);
      expect(answer.status === 403 || found(answer).length === 0).toBe(true);
    }
  });
});
