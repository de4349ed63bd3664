import { expect, test } from '@jest/globals';
import { conditionalReferenceIssues } from '../../../../core/fhir/reference/conditional-reference.ts';

const pathsIn = (value: unknown) => conditionalReferenceIssues(value, 'X').map(({ expression }) => expression);

test('every reference with a query is found, in order, wherever it stands', () => {
  const value = {
    a: [{ reference: 'Patient/1' }, { reference: 'Patient?name=x' }],
    extension: [{ valueReference: { reference: 'https://example.org/Patient?x' } }],
    contained: [{ item: [{ answer: [{ valueReference: { reference: '?' } }] }] }],
  };
  expect(pathsIn(value)).toEqual([
    'X.a[1].reference',
    'X.extension[0].valueReference.reference',
    'X.contained[0].item[0].answer[0].valueReference.reference',
  ]);
});

test('what is no such reference is not', () => {
  expect(pathsIn({ url: 'a?b', reference: ['a?b'], text: 'reference?', display: '?' })).toEqual([]);
  expect([null, 'a?b', 7].map(pathsIn)).toEqual([[], [], []]);
});

test('an element that was found wrong already is passed over', () => {
  const told = [{ code: 'malformed-request' as const, diagnostics: '', expression: 'X.actor' }];
  expect(conditionalReferenceIssues({ actor: { reference: 'Patient?x' } }, 'X', told)).toEqual([]);
});

test('depth and number cost no more than their size', () => {
  const deep: unknown = JSON.parse(`${'{"a":['.repeat(3_000)}{"reference":"?"}${']}'.repeat(3_000)}`);
  expect(pathsIn(deep)).toHaveLength(1);
  expect(pathsIn(Array.from({ length: 100_000 }, () => ({ reference: '?' })))).toHaveLength(50);
});
