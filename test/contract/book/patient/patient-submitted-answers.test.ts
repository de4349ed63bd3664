import { describe, expect, it } from '@jest/globals';
import type { QuestionnaireResponse } from '@medplum/fhirtypes';
import { aClinic, appointmentsOn, book, parameters, proposed, stored } from '../../fixtures.ts';
import { issuesOf, request, resourceIn } from '../../http.ts';

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
