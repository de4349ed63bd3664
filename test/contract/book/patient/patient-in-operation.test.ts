import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Patient } from '@medplum/fhirtypes';
import { artefactUri } from '../../../../core/config/config.ts';
import { aClinic, aPatient, appointmentsOn, book, parameters, proposed, stored } from '../../fixtures.ts';
import { issuesOf, request, resourceIn } from '../../http.ts';
import { config } from '../../installation.ts';

const newPatient = (more: Partial<Patient> = {}): Patient => ({
  resourceType: 'Patient',
  id: 'my-patient',
  identifier: [{ system: 'https://example.org/patients', value: randomUUID() }],
  name: [{ family: 'Neu' }],
  ...more,
});

const pointingAt = (reference: string) => ({
  participant: [{ actor: { reference, display: 'Neu' }, status: 'accepted' as const }],
});

describe('patient in the operation', () => {
  it.each([
    ['#id', pointingAt('#my-patient')],
    ['urn:uuid', pointingAt(`urn:uuid:${randomUUID()}`)],
    ['the id it was sent with', pointingAt('Patient/my-patient')],
    ['no participant at all', { participant: undefined }],
  ])('is created, tagged external, and is the participant (%s)', async (_, participants) => {
    const { slot, patient } = await aClinic();
    const body = parameters({ ...proposed(patient, [slot]), ...participants }, ['patient', newPatient()]);
    const answer = await book(body);
    expect(answer.status).toBe(201);
    const reference = resourceIn('Appointment', answer).participant[0]?.actor?.reference ?? '';
    const created = resourceIn('Patient', await request('portal-a', 'GET', `/${reference}`));
    expect(created.name?.[0]?.family).toBe('Neu');
    expect(created.meta?.tag).toContainEqual({ system: config.metaTagSystem, code: 'external' });
    expect((await request('portal-b', 'GET', `/${reference}`)).status).toBe(404);
  });

  it('with an identifier already submitted is that patient, not a second one', async () => {
    const { slot, patient } = await aClinic();
    const again = newPatient({ identifier: patient.identifier ?? [] });
    const answer = await book(parameters(proposed(patient, [slot], pointingAt('#my-patient')), ['patient', again]));
    expect(answer.status).toBe(201);
    expect(resourceIn('Appointment', answer).participant[0]?.actor?.reference).toBe(`Patient/${patient.id}`);
    const identifier = `${patient.identifier?.[0]?.system}|${patient.identifier?.[0]?.value}`;
    expect(await stored('Patient', `identifier=${encodeURIComponent(identifier)}`)).toHaveLength(1);
  });

  it("is never another requestor's patient, though it has the same identifier", async () => {
    const { slot, patient } = await aClinic();
    const body = parameters(proposed(patient, [slot], pointingAt('#my-patient')), [
      'patient',
      newPatient({ identifier: patient.identifier ?? [] }),
    ]);
    const answer = await book(body, 'portal-b');
    expect(answer.status).toBe(201);
    expect(resourceIn('Appointment', answer).participant[0]?.actor?.reference).not.toBe(`Patient/${patient.id}`);
  });

  it('several patients have its identifier: 422', async () => {
    const { slot, patient } = await aClinic();
    await aPatient('portal-a', { identifier: patient.identifier ?? [] });
    const body = parameters(proposed(patient, [slot], pointingAt('#my-patient')), [
      'patient',
      newPatient({ identifier: patient.identifier ?? [] }),
    ]);
    const answer = await book(body);
    expect([answer.status, ...issuesOf(answer)]).toEqual([
      422,
      'patient-ambiguous Parameters.parameter[1].resource.identifier',
    ]);
  });

  it('a participant names another existing patient: 422, and no patient is left behind', async () => {
    const { slot, patient } = await aClinic();
    const stranger = newPatient();
    const answer = await book(parameters(proposed(patient, [slot]), ['patient', stranger]));
    expect([answer.status, ...issuesOf(answer)]).toEqual([
      422,
      'patient-mismatch Parameters.parameter[0].resource.participant[0].actor',
    ]);
    const identifier = `${stranger.identifier?.[0]?.system}|${stranger.identifier?.[0]?.value}`;
    expect(await stored('Patient', `identifier=${encodeURIComponent(identifier)}`)).toEqual([]);
    expect(await appointmentsOn(slot)).toEqual([]);
  });

  it('conforms to LocalPatient', async () => {
    const { slot, patient } = await aClinic();
    const answer = await book(
      parameters(proposed(patient, [slot], pointingAt('#my-patient')), ['patient', newPatient()]),
    );
    const reference = resourceIn('Appointment', answer).participant[0]?.actor?.reference ?? '';
    const created = resourceIn('Patient', await request('portal-a', 'GET', `/${reference}`));
    expect(created.meta?.profile).toContain(artefactUri(config, 'LocalPatient'));
  });
});
