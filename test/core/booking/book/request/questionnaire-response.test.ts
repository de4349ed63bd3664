import { expect, it } from '@jest/globals';
import type { QuestionnaireResponse } from '@medplum/fhirtypes';
import { questionnaireResponseIssues } from '../../../../../core/booking/book/request/questionnaire-response.ts';
import { told } from '../../../../lib/told.ts';

const readable = {
  resourceType: 'QuestionnaireResponse' as const,
  status: 'completed' as const,
  text: { status: 'generated' as const, div: '<div xmlns="http://www.w3.org/1999/xhtml">Any allergies? None.</div>' },
};
const issuesOf = (item: unknown): string[] =>
  told(questionnaireResponseIssues({ value: { ...readable, item } as QuestionnaireResponse, path: 'R' }));
const question = { linkId: '1', text: 'Any allergies?' };

it.each<[string, unknown, string[]]>([
  ['with its question', [question], []],
  ['without its question', [question, { linkId: '2' }], ['answers-items-missing R.item[1].text']],
  ['inside another', [{ ...question, item: [{ linkId: '2' }] }], ['answers-items-missing R.item[0].item[0].text']],
  [
    'below an answer',
    [{ ...question, answer: [{ valueBoolean: true }, { item: [{ linkId: '2' }] }] }],
    ['answers-items-missing R.item[0].answer[1].item[0].text'],
  ],
  ['with null among its answers', [{ ...question, answer: [null] }], []],
])('an item %s', (_, item, expected) => {
  expect(issuesOf(item)).toEqual(expected);
});
