import { describe, expect, it, test } from '@jest/globals';
import { badRequest } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import {
  conditionalReferenceIssues,
  isDeeperThan,
  MAX_VALUES,
  mostSize,
  sizeBeyond,
  sizeProblem,
  unsupportedIssues,
} from '../../../core/fhir/bounds.ts';
import { narrativeIssues, textOf } from '../../../core/fhir/narrative/narrative.ts';
import { MAX_ISSUES, saysOvertaken, statusOf, toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { withoutEmpty } from '../../../core/fhir/resource.ts';
import {
  belongsTo,
  ownerOf,
  REPLACES,
  requestorTag,
  reservedEntries,
  withoutReserved,
} from '../../../core/fhir/tags.ts';
import { config } from '../booking/support.ts';

const SIZE = 5_000_000;

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let depth = 0; depth < levels; depth++) {
    value = depth % 2 === 0 ? [value] : { value };
  }
  return value;
}

describe('nesting', () => {
  it('of a hundred thousand levels is found without recursion', () => {
    expect(isDeeperThan(nested(100_000), 64)).toBe(true);
  });
});

describe('values', () => {
  it('are objects, lists and what they hold, counted no further than is needed', () => {
    const value = { a: [1, { b: 2 }], c: null };
    expect(sizeProblem(value, { ...mostSize, values: 6 })).toBeUndefined();
    expect(sizeProblem(value, { ...mostSize, values: 5 })).toMatch(/more than 5 values/);
    expect(sizeProblem(new Array(1_000_000).fill(0), { ...mostSize, values: 10 })).toMatch(/values/);
  });
});

describe('text', () => {
  const appointment = (more: object) => ({ resourceType: 'Appointment', ...more });

  it.each<[string, unknown]>([
    ['a comment', { comment: 'x'.repeat(mostSize.text) }],
    ['many texts', { item: new Array(500).fill({ text: 'x'.repeat(mostSize.text / 500) }) }],
    ['names of elements', { ['x'.repeat(mostSize.text)]: 1, y: 1 }],
    ['a file in an appointment', appointment({ contained: [{ data: 'x'.repeat(mostSize.text) }] })],
  ])('is counted wherever it stands: %s', (_, value) => {
    expect(sizeProblem(value)).toMatch(/131072 characters of text; send files as attachments/);
  });

  it('may grow a little where much is stored already', () => {
    const stored = { comment: 'x'.repeat(SIZE), given: ['x'.repeat(SIZE)], list: new Array(MAX_VALUES).fill(0) };
    const more = { values: 1, text: 1, listed: 1 };
    expect(sizeProblem(stored, sizeBeyond(stored, more))).toBeUndefined();
    expect(sizeProblem({ ...stored, comment: 'x'.repeat(SIZE + 2) }, sizeBeyond(stored, more))).toMatch(/of text/);
    expect(sizeBeyond({}, more)).toEqual(mostSize);
  });
});

describe('a narrative', () => {
  it('of five million characters is read once: the work grows with the text, not with its square', () => {
    expect(narrativeIssues({ text: { div: '<'.repeat(SIZE) } }, 'Patient')).toHaveLength(1);
    expect(narrativeIssues({ text: { div: `<${'a'.repeat(SIZE)}` } }, 'Patient')).toHaveLength(1);
    expect(textOf('<'.repeat(SIZE))).toHaveLength(SIZE);
    expect(textOf('<a>'.repeat(SIZE / 3))).toBe('');
  });
});

describe('what the service cannot honour', () => {
  it.each([
    [{ implicitRules: 'urn:x' }, 'P.implicitRules'],
    [{ contained: [{ modifierExtension: [{ url: 'urn:x' }] }] }, 'P.contained[0].modifierExtension'],
    [{ _implicitRules: { id: 'x' } }, 'P._implicitRules'],
  ])('is refused: %j', (resource, expression) => {
    expect(unsupportedIssues(resource, 'P').map((issue) => [issue.code, issue.expression])).toEqual([
      ['malformed-request', expression],
    ]);
  });
});

describe('an outcome', () => {
  const issue = (code: 'slot-not-free' | 'malformed-request') => ({ code, diagnostics: 'x', expression: 'a' }) as const;

  it('of more says in the last how many there are, and keeps the status', () => {
    const issues = [...Array.from({ length: 60 }, () => issue('slot-not-free')), issue('malformed-request')];
    const outcome = toOperationOutcome(issues, config);
    expect(outcome.issue).toHaveLength(MAX_ISSUES);
    expect(outcome.issue.at(-1)).toMatchObject({ diagnostics: 'There are 12 more problems; solve these first.' });
    expect(outcome.issue.at(-1)?.details?.coding?.[0]?.code).toBe('malformed-request');
    expect([outcome.id, statusOf(issues)]).toEqual(['bad-request', 400]);
  });
});

const uri = (name: Parameters<typeof artefactUri>[1]): string => artefactUri(config, name);

const own = [
  { meta: { tag: [{ system: uri('LocalRequestor'), code: 'x' }] } },
  { meta: { tag: [{ system: uri('LocalRequestor').toUpperCase(), code: 'x' }] } },
  { meta: { tag: [{ system: uri('LocalChangedBy'), code: 'x' }] } },
  { meta: { tag: [{ system: config.metaTagSystem.toUpperCase(), code: 'External' }] } },
  { identifier: [{ system: uri('LocalSlotOrigin').toLowerCase(), value: '1' }] },
  { extension: [{ url: uri('LocalConfirmation'), valueCode: 'automatic' }] },
  { extension: [{ url: REPLACES }] },
  { cancelationReason: { coding: [{ system: uri('LocalBookingError').toUpperCase(), code: 'hold-expired' }] } },
  { reasonCode: [{ coding: [{ system: uri('LocalTask'), code: 'book' }] }] },
];

const foreign = [
  { meta: { tag: [{ system: 'urn:colour', code: 'blue' }, { code: 'external' }] } },
  { meta: { tag: [{ system: config.metaTagSystem, code: 'other' }] } },
  { identifier: [{ system: 'urn:x', value: uri('LocalSlotOrigin') }], extension: [] },
  { extension: [{ url: uri('LocalTerminPriorityExtension') }, null, 7] },
  { serviceType: [{ coding: [{ system: uri('LocalServiceType'), code: 'ct' }] }], reasonCode: [{}] },
];

describe('what the service alone sets', () => {
  it.each(own)('is dropped, at any depth: %j', (resource) => {
    expect(withoutReserved({ contained: [{ ...resource, id: 'a' }], ...resource, status: 'x' }, config)).toEqual({
      contained: [{ ...(resource.meta && { meta: {} }), id: 'a' }],
      ...(resource.meta && { meta: {} }),
      status: 'x',
    });
    expect(reservedEntries({ contained: [resource], ...resource }, 'A', config)).toHaveLength(2);
  });

  it.each(foreign)('is nothing of what clients set: %j', (resource) => {
    expect(withoutReserved(resource, config)).toEqual(resource);
    expect(reservedEntries(resource, 'A', config)).toEqual([]);
  });
});

it.each([
  [`${config.baseUrl}/Patient/1`, 'Patient/1'],
  [`${config.baseUrl}/Patient/1/_history/2`, 'Patient/1'],
  ['Patient/1/_history/2', 'Patient/1'],
  [`${config.baseUrl}/../Patient/1`, undefined],
  [`${config.baseUrl}/Patient?name=x`, undefined],
  [`${config.baseUrl}.example/Patient/1`, undefined],
  ['https://elsewhere.example/fhir/R4/Patient/1', undefined],
  ['urn:uuid:1', undefined],
  ['#1', undefined],
])('a reference %s is stored as %s', (reference, expected = reference) => {
  const answers = (subject: string) => ({ item: [{ answer: [{ valueReference: { reference: subject } }] }] });
  expect(withoutReserved({ ...answers(reference), url: reference }, config)).toEqual({
    ...answers(expected),
    url: reference,
  });
});

describe('a transaction that can be tried again', () => {
  it.each<[string, string, boolean]>([
    ['two wait for each other', 'deadlock detected', true],
    ['a later statement', 'current transaction is aborted, commands ignored until end of transaction block', true],
    ['a patch of another version', 'Test failed: 1 != 2', true],
    ['an invalid resource', 'Missing required property', false],
    ['a value that sounds like it', 'Invalid code "deadlock detected"', false],
  ])('%s', (_, text, isEnded) => {
    expect(saysOvertaken(badRequest(text))).toBe(isEnded);
  });
});

const { system = '', code } = requestorTag('6f0e', config);
const taggedWith = (...tag: object[]) => ({ meta: { tag } });

describe('the owner of a resource', () => {
  it('is found by its tag, in any letter case, as Medplum finds it', () => {
    for (const tag of [
      { system, code },
      { system: system.toUpperCase(), code },
      { system, code: '6F0E' },
    ]) {
      expect(belongsTo(taggedWith(tag), '6f0e', config)).toBe(true);
    }
    expect(ownerOf(taggedWith({ system: system.toUpperCase(), code }), config)).toBe('6f0e');
  });
});

it('leaves out what Medplum does not store, and nothing else', () => {
  const sent: Appointment = {
    resourceType: 'Appointment',
    status: 'booked',
    identifier: [],
    comment: '',
    meta: {},
    priority: 0,
    participant: [{ status: 'accepted', type: [], actor: { reference: 'Patient/1', display: '' } }],
  };
  expect(withoutEmpty(sent)).toEqual({
    resourceType: 'Appointment',
    status: 'booked',
    priority: 0,
    participant: [{ status: 'accepted', actor: { reference: 'Patient/1' } }],
  });
});

const pathsIn = (value: unknown) => conditionalReferenceIssues(value, 'X').map(({ expression }) => expression);

test('depth and number cost no more than their size', () => {
  const deep: unknown = JSON.parse(`${'{"a":['.repeat(3_000)}{"reference":"?"}${']}'.repeat(3_000)}`);
  expect(pathsIn(deep)).toHaveLength(1);
  expect(pathsIn(Array.from({ length: 100_000 }, () => ({ reference: '?' })))).toHaveLength(50);
});
