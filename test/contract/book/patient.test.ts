import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Patient, QuestionnaireResponse } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/config/config.ts';
import { aClinic, aPatient, appointmentsOn, book, parameters, proposed, slotsOf, stored } from '../fixtures.ts';
import { issuesOf, medplum, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';

it.each<[string, Partial<Patient>]>([
  ['inactive', { active: false }],
  ['merged', { link: [{ type: 'replaced-by', other: { display: 'the survivor' } }] }],
])('an %s patient is refused with 422', async (_, more) => {
  const { schedule, slot, patient } = await aClinic();
  const body = { ...patient, ...more };
  expect((await medplum('admin', 'PUT', `/Patient/${patient.id}`, { body })).status).toBe(200);
  const answer = await book(proposed(patient, [slot]));
  expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'patient-inactive Appointment.participant[0].actor']);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});

it('an inactive patient found again by the parameter patient is refused with 422', async () => {
  const { schedule, slot, patient } = await aClinic();
  const body = { ...patient, active: false };
  expect((await medplum('admin', 'PUT', `/Patient/${patient.id}`, { body })).status).toBe(200);
  const { participant: _, ...appointment } = proposed(patient, [slot]);
  const again = { resourceType: 'Patient', identifier: patient.identifier };
  const answer = await book(parameters(appointment, ['patient', again]));
  expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'patient-inactive Parameters.parameter[1].resource']);
  expect(await slotsOf(schedule)).toEqual(['free 0-30']);
});

it('a deleted patient is refused with 422', async () => {
  const { slot, patient } = await aClinic();
  expect((await medplum('admin', 'DELETE', `/Patient/${patient.id}`)).status).toBe(200);
  const answer = await book(proposed(patient, [slot]));
  expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
});

it("another requestor's patient is unknown: 422", async () => {
  const { slot } = await aClinic();
  const foreign = await aPatient('portal-b');
  const answer = await book(proposed(foreign, [slot]));
  expect([answer.status, ...issuesOf(answer)]).toEqual([422, 'patient-not-found Appointment.participant[0].actor']);
});

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

const answers: QuestionnaireResponse = {
  resourceType: 'QuestionnaireResponse',
  status: 'completed',
  questionnaire: 'https://example.org/Questionnaire/anamnesis',
  text: { status: 'generated', div: '<div xmlns="http://www.w3.org/1999/xhtml">Allergies: none</div>' },
  item: [{ linkId: '1', text: 'Allergies', answer: [{ valueString: 'none' }] }],
};

describe('patient-submitted answers', () => {
  it('are stored with the patient as subject, and linked from the appointment', async () => {
    const { slot, patient } = await aClinic();
    const answer = await book(parameters(proposed(patient, [slot]), ['patientSubmittedInformation', answers]));
    expect(answer.status).toBe(201);
    const reference = resourceIn('Appointment', answer).supportingInformation?.[0]?.reference ?? '';
    const read = resourceIn('QuestionnaireResponse', await request('portal-a', 'GET', `/${reference}`));
    expect(read).toMatchObject({ item: answers.item, subject: { reference: `Patient/${patient.id}` } });
    expect((await request('portal-b', 'GET', `/${reference}`)).status).toBe(404);
  });

  it('name the questionnaire that was sent', async () => {
    const { slot, patient } = await aClinic();
    await book(parameters(proposed(patient, [slot]), ['patientSubmittedInformation', answers]));
    const [response] = await stored('QuestionnaireResponse', `subject=Patient/${patient.id}`);
    expect(response?.questionnaire).toBe(answers.questionnaire);
  });

  it.each<[string, Partial<QuestionnaireResponse>, string]>([
    ['text must be filled', { text: undefined }, 'answers-text-missing Parameters.parameter[1].resource.text'],
    ...[{ status: 'generated' }, {}, { status: 'generated', div: '' }].map(
      (text): [string, Partial<QuestionnaireResponse>, string] => [
        `text must be readable, not ${JSON.stringify(text)}`,
        JSON.parse(JSON.stringify({ text })),
        'answers-text-missing Parameters.parameter[1].resource.text',
      ],
    ),
    [
      'questions must be in the response',
      { item: undefined },
      'answers-items-missing Parameters.parameter[1].resource.item',
    ],
    [
      'each item must carry its question',
      { item: [{ linkId: '1', answer: [{ valueString: 'none' }] }] },
      'answers-items-missing Parameters.parameter[1].resource.item[0].text',
    ],
    [
      'each item below another one must carry its question',
      { item: [{ linkId: '1', text: 'Allergies', item: [{ linkId: '1.1', answer: [{ valueString: 'none' }] }] }] },
      'answers-items-missing Parameters.parameter[1].resource.item[0].item[0].text',
    ],
    [
      'each item below an answer must carry its question',
      {
        item: [{ linkId: '1', text: 'Allergies', answer: [{ valueString: 'nuts', item: [{ linkId: '1.1' }] }] }],
      },
      'answers-items-missing Parameters.parameter[1].resource.item[0].answer[0].item[0].text',
    ],
  ])('%s: 422, and nothing is booked', async (_, change, issue) => {
    const { slot, patient } = await aClinic();
    const body = parameters(proposed(patient, [slot]), ['patientSubmittedInformation', { ...answers, ...change }]);
    const answer = await book(body);
    expect([answer.status, ...issuesOf(answer)]).toEqual([422, issue]);
    expect(await appointmentsOn(slot)).toEqual([]);
    expect(await stored('QuestionnaireResponse', `subject=Patient/${patient.id}`)).toEqual([]);
  });
});

it('related-person is created with patient set, and added as a participant', async () => {
  const { slot, patient } = await aClinic();
  const mother = { resourceType: 'RelatedPerson', patient: { reference: 'Patient/x' }, name: [{ family: 'Muster' }] };
  const answer = await book(parameters(proposed(patient, [slot]), ['related-person', mother]));
  expect(answer.status).toBe(201);
  const references = resourceIn('Appointment', answer).participant.map(({ actor }) => actor?.reference);
  expect(references).toHaveLength(2);
  const [created] = await stored('RelatedPerson', `_id=${references[1]?.split('/')[1]}`);
  expect(created?.patient.reference).toBe(`Patient/${patient.id}`);
});
