import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Appointment, Patient } from '@medplum/fhirtypes';
import { aClinic, aPatient, book, proposed, succeeded } from '../fixtures.ts';
import { isActionable, issuesOf, medplum, request, resourceIn } from '../http.ts';
import type { Role } from '../installation.ts';

const family = `Kette${randomUUID().replaceAll('-', '')}`;
let patient: Patient;
let appointment: Appointment;

beforeAll(async () => {
  const clinic = await aClinic();
  patient = await aPatient('portal-a', { name: [{ family }] });
  appointment = succeeded('Appointment', await book(proposed(patient, [clinic.slot])));
});

async function found(role: Role, path: string) {
  const { total, entry = [], link = [] } = resourceIn('Bundle', await request(role, 'GET', path));
  return {
    total,
    ids: entry.map(({ resource }) => resource?.id),
    next: link.find(({ relation }) => relation === 'next')?.url,
  };
}

describe('a chain', () => {
  it.each<[string, () => string]>([
    ['through a patient', () => `patient.family=${family}`],
    ['through a participant', () => `actor:Patient.family=${family}`],
    ['through a patient and on', () => `patient.family=${family}&slot.schedule.active=true`],
    ['with a modifier at its end', () => `patient.family:exact=${family}`],
  ])("%s finds the caller's own, and what staff may read", async (_, query) => {
    expect((await found('portal-a', `/Appointment?${query()}`)).ids).toEqual([appointment.id]);
    expect((await found('front-desk', `/Appointment?${query()}`)).ids).toEqual([appointment.id]);
    expect((await found('portal-b', `/Appointment?${query()}`)).ids).toEqual([]);
  });

  it('is counted', async () => {
    expect((await found('portal-a', `/Appointment?patient.family=${family}&_total=accurate`)).total).toBe(1);
    expect((await found('portal-b', `/Appointment?patient.family=${family}&_total=accurate`)).total).toBe(0);
  });

  it('stands in the links to further pages', async () => {
    const clinic = await aClinic();
    const second = succeeded('Appointment', await book(proposed(patient, [clinic.slot])));
    const first = await found('portal-a', `/Appointment?patient.family=${family}&_count=1`);
    expect(first.next).toContain(`patient.family=${family}`);
    const rest = await found('portal-a', `/Appointment?${first.next?.split('?')[1]}`);
    expect([...first.ids, ...rest.ids]).toEqual([appointment.id, second.id]);
  });

  it('to what the clinic alone may read finds nothing', async () => {
    const foreign = await aPatient('portal-b', { name: [{ family: `${family}B` }] });
    const own = await aPatient('portal-a');
    const link = [{ type: 'seealso' as const, other: { reference: `Patient/${foreign.id}` } }];
    succeeded('Patient', await request('portal-a', 'PUT', `/Patient/${own.id}`, { body: { ...own, link } }));
    const path = `/Patient?link:Patient.family=${family}B`;
    expect((await found('portal-a', path)).ids).toEqual([]);
    expect((await found('front-desk', path)).ids).toEqual([own.id]);
  });

  it('is refused in If-None-Exist', async () => {
    const headers = { 'if-none-exist': 'link:Patient.family=x' };
    const answer = await request('portal-a', 'POST', '/Patient', { body: { resourceType: 'Patient' }, headers });
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request http.link:Patient.family']);
    expect(isActionable(answer)).toBe(true);
  });

  it('of several types says which', async () => {
    const answer = await request('portal-a', 'GET', '/Appointment?actor.name=x');
    expect([answer.status, ...issuesOf(answer)]).toEqual([400, 'malformed-request http.actor.name']);
    expect(answer.text).toContain('Patient, Practitioner, PractitionerRole, HealthcareService, Location');
  });
});

it('staff see a patient that they search for as Medplum itself finds it', async () => {
  const query = `/Appointment?patient.family=${family}&_sort=_lastUpdated,_id`;
  const direct = resourceIn('Bundle', await medplum('front-desk', 'GET', query)).entry?.map(
    ({ resource }) => resource?.id,
  );
  expect((await found('front-desk', query)).ids).toEqual(direct);
});
