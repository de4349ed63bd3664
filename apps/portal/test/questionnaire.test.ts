import { describe, expect, test } from '@jest/globals';
import type { Questionnaire } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { readAnswers, toQuestionnaireResponse } from '../questionnaire/answers.ts';
import { isEnabled } from '../questionnaire/enable-when.ts';
import { questionForm } from '../questionnaire/questions.ts';
import { formValues } from '../visit/form.ts';
import { type Booking, bookRequest } from '../visit/requests.ts';

const form = (values: Record<string, string>) => formValues(new URLSearchParams(values).toString());

const of = (...item: unknown[]): Questionnaire =>
  ({ resourceType: 'Questionnaire', status: 'active', item }) as Questionnaire;

const read = (questionnaire: Questionnaire, values: Record<string, string>) => {
  const { items, problems } = readAnswers(questionForm(questionnaire), form(values), 'Europe/Berlin');
  return { items, problems: Object.fromEntries(problems) };
};

test('what was answered for a whole visit is sent once, not with each step', () => {
  const step = (name: string) => ({ name, slots: ['a'], start: 0, end: 1, serviceType: undefined });
  const booking: Booking = {
    time: { slot: 'Slot/a', schedule: '', start: 0, end: 1 },
    service: {} as Booking['service'],
    identifier: { system: 'urn:key', value: 'k' },
    visit: { stepUrl: 'urn:step', steps: [step('one'), step('two')] },
  };
  const answers = { resourceType: 'QuestionnaireResponse', status: 'completed' } as const;
  const { parameter } = bookRequest(booking, { patient: 'a', answers } as never, []);
  expect(parameter?.map(({ name }) => name)).toEqual(['appt-resource', 'appt-resource', 'patientSubmittedInformation']);
});

describe('the answer to a question', () => {
  test.each([
    ['boolean', 'false', { valueBoolean: false }],
    ['boolean', 'perhaps', 'choice'],
    ['decimal', '1,5', { valueDecimal: 1.5 }],
    ['decimal', '1e9', 'number'],
    ['integer', '-3', { valueInteger: -3 }],
    ['integer', '3.5', 'number'],
    ['date', '2024-02-29', { valueDate: '2024-02-29' }],
    ['date', '2023-02-29', 'date'],
    ['dateTime', '2027-06-01T10:00', { valueDateTime: '2027-06-01T08:00:00.000Z' }],
    ['time', '23:59', { valueTime: '23:59:00' }],
    ['time', '24:00', 'time'],
    ['string', ' <b> ', { valueString: '<b>' }],
    ['url', 'https://a.example/', { valueUri: 'https://a.example/' }],
    ['url', 'javascript:alert(1)', 'url'],
  ])('of type %s: %j', (type, text, expected) => {
    const { items, problems } = read(of({ linkId: 'a', text: 'A', type }), { 'q.0': text });
    expect(typeof expected === 'string' ? problems : items).toEqual(
      typeof expected === 'string' ? { 'q.0': expected } : [{ linkId: 'a', text: 'A', answer: [expected] }],
    );
  });

  test('is one of a list, some of it, or an own one', () => {
    const answerOption = [{ valueCoding: { code: 'x', display: 'X' } }, { valueString: 'Y' }, { valueInteger: 3 }];
    const choice = { linkId: 'a', text: 'A', type: 'choice', answerOption };
    expect(read(of(choice), { 'q.0': '1' }).items[0]?.answer).toEqual([{ valueString: 'Y' }]);
    expect(read(of(choice), { 'q.0': '9' }).problems).toEqual({ 'q.0': 'choice' });
    const values = formValues('q.0=0&q.0=2');
    const repeated = questionForm(of({ ...choice, repeats: true }));
    expect(readAnswers(repeated, values, 'UTC').items[0]?.answer).toEqual([
      { valueCoding: { code: 'x', display: 'X' } },
      { valueInteger: 3 },
    ]);
    const open = of({ ...choice, type: 'open-choice', required: true });
    expect(read(open, { 'q.0.other': 'Z' }).items[0]?.answer).toEqual([{ valueString: 'Z' }]);
    expect(read(open, {}).problems).toEqual({ 'q.0': 'missing' });
  });
});

test('a question that does not apply is neither required nor sent, whatever was typed into it', () => {
  const questionnaire = of(
    { linkId: 'a', text: 'A', type: 'boolean', required: true },
    {
      linkId: 'g',
      text: 'G',
      type: 'group',
      enableWhen: [{ question: 'a', operator: '=', answerBoolean: true }],
      item: [
        { linkId: 'b', text: 'B', type: 'string', required: true },
        {
          linkId: 'c',
          text: 'C',
          type: 'string',
          enableWhen: [{ question: 'b', operator: 'exists', answerBoolean: true }],
        },
      ],
    },
  );
  expect(read(questionnaire, { 'q.0': 'false', 'q.1.0': 'x', 'q.1.1': 'y' })).toEqual({
    items: [{ linkId: 'a', text: 'A', answer: [{ valueBoolean: false }] }],
    problems: {},
  });
  expect(read(questionnaire, { 'q.0': 'true', 'q.1.1': 'y' }).problems).toEqual({ 'q.1.0': 'missing' });
  expect(read(questionnaire, { 'q.0': 'true', 'q.1.0': 'x', 'q.1.1': 'y' }).items[1]).toEqual({
    linkId: 'g',
    text: 'G',
    item: [
      { linkId: 'b', text: 'B', answer: [{ valueString: 'x' }] },
      { linkId: 'c', text: 'C', answer: [{ valueString: 'y' }] },
    ],
  });
});

test.each([
  ['exists', 'true', ['x'], true],
  ['exists', 'false', ['x'], false],
  ['=', 'x', ['x'], true],
  ['!=', 'x', ['x'], false],
  ['>', '9', ['10'], true],
  ['<', '9', ['10'], false],
  ['>=', '10', ['10'], true],
  ['<=', '2027-01-01', ['2027-01-02'], false],
  ['unknown', '', [], true],
])('the condition %s %s on %j holds: %s', (operator, value, values, expected) => {
  const when = { conditions: [{ field: 'q', operator, value }], behavior: 'all' as const };
  expect(isEnabled(when, () => values)).toBe(expected);
});

test('an answer that is in no list is no longer than others', () => {
  const open = of({ linkId: 'a', text: 'A', type: 'open-choice', maxLength: 5, answerOption: [{ valueString: 'x' }] });
  expect(read(open, { 'q.0.other': '12345' }).problems).toEqual({});
  expect(read(open, { 'q.0.other': '123456' })).toEqual({ items: [], problems: { 'q.0': 'long' } });
});

test('a broken Questionnaire is shown as far as it can be', () => {
  const { questions } = questionForm(
    of(
      null,
      'x',
      {},
      { linkId: 'a', type: 'quantity', required: true },
      { type: 'choice' },
      { text: 'T', type: 'string', item: 'none' },
    ),
  );
  expect(questions.map(({ control, text }) => [control, text])).toEqual([
    ['unsupported', 'q.0'],
    ['unsupported', 'a'],
    ['unsupported', 'q.2'],
    ['string', 'T'],
  ]);
  expect(read(of({ linkId: 'a', type: 'quantity', required: true }), {})).toEqual({ items: [], problems: {} });
  expect(questionForm({ resourceType: 'Questionnaire', status: 'active' }).questions).toEqual([]);
});

test('whatever a Questionnaire holds, reading it and its answers ends well and stays small', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.string(), (item, sent) => {
      const questions = questionForm(of(...(Array.isArray(item) ? item : [item])));
      const answers = readAnswers(questions, formValues(sent), 'UTC');
      expect(answers.items.length).toBeLessThanOrEqual(60);
    }),
  );
});

test('the answers are sent with their questions, and as text that is safe to show', () => {
  const questions = questionForm({
    ...of({ linkId: 'a', text: 'A & B', type: 'string' }),
    url: 'https://c.example/q',
    version: '2',
  });
  const answers = readAnswers(questions, form({ 'q.0': '<script>' }), 'UTC');
  expect(toQuestionnaireResponse(questions, answers, ['Yes', 'No'], '2027-01-01T00:00:00Z')).toMatchObject({
    questionnaire: 'https://c.example/q|2',
    text: { div: '<div xmlns="http://www.w3.org/1999/xhtml"><p><b>A &amp; B</b> &lt;script&gt;</p></div>' },
    item: [{ linkId: 'a', text: 'A & B', answer: [{ valueString: '<script>' }] }],
  });
  const none = readAnswers(questions, form({}), 'UTC');
  expect(toQuestionnaireResponse(questions, none, ['Yes', 'No'], '')).toBeUndefined();
});
