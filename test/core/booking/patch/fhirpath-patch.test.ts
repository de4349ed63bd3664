import { describe, expect, it } from '@jest/globals';
import { evalFhirPathTyped } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { costOf, type Evaluate, readFhirPathOperation } from '../../../../core/booking/patch/fhirpath-patch.ts';
import { applyPatch, readPatch } from '../../../../core/booking/patch/patch.ts';
import { stored } from '../stored.ts';

const evaluate: Evaluate = (path, value) => {
  const root = { type: 'Appointment', value, path: 'Appointment' };
  return evalFhirPathTyped(path, [root]).map((one) => String('path' in one ? one.path : ''));
};

type Part = Readonly<Record<string, unknown>>;

/** An operation in the form of FHIRPath Patch. */
const operation = (type: string, path: string, ...part: Part[]): object => ({
  name: 'operation',
  part: [{ name: 'type', valueCode: type }, { name: 'path', valueString: path }, ...part],
});
const value = (given: object): Part => ({ name: 'value', ...given });
const text = (valueString: string): Part => value({ valueString });
const name = (valueString: string): Part => ({ name: 'name', valueString });
const at = (part: string, valueInteger: unknown): Part => ({ name: part, valueInteger });

const [huber, kim] = stored.participant;
const before: Appointment & { readonly _description: object; readonly _minutesDuration: object } = {
  ...stored,
  description: 'd',
  _description: { extension: [{ url: 'c', valueCode: 'x' }] },
  identifier: [{ value: '1' }],
  extension: [{ url: 'a', valueCode: 'x' }],
  _minutesDuration: { extension: [{ url: 'b', valueCode: 'x' }] },
};

/** The appointment after one operation, or why it is not applied. */
function applied(sent: object): unknown {
  const patch = readPatch({ resourceType: 'Parameters', parameter: [sent] });
  const patched = 'issues' in patch ? patch : applyPatch(before, patch, evaluate);
  return patched.issues.length > 0 || !('result' in patched)
    ? patched.issues.map(({ diagnostics }) => diagnostics)
    : patched.result;
}

describe('an operation of FHIRPath Patch', () => {
  it.each<[string, object, object]>([
    ['adds an element', operation('add', 'Appointment', name('comment'), text('c')), { comment: 'c' }],
    [
      'adds the first entry of a list',
      operation('add', 'Appointment', name('reasonCode'), value({ valueCodeableConcept: { text: 'c' } })),
      { reasonCode: [{ text: 'c' }] },
    ],
    [
      'adds a further entry of a list',
      operation('add', 'Appointment', name('identifier'), value({ valueIdentifier: { value: '2' } })),
      { identifier: [{ value: '1' }, { value: '2' }] },
    ],
    [
      'adds the first entry of a list in an entry of a list',
      operation('add', 'Appointment.participant[1]', name('type'), value({ valueCodeableConcept: { text: 'c' } })),
      { participant: [huber, { ...kim, type: [{ text: 'c' }] }] },
    ],
    [
      'adds the first entry of a list in a data type',
      operation('add', 'Appointment.identifier[0]', name('type'), value({ valueCodeableConcept: {} })),
      { identifier: [{ value: '1', type: {} }] },
    ],
    [
      'finds an extension by its address',
      operation('replace', "Appointment.extension('a').value", value({ valueBoolean: false })),
      { extension: [{ url: 'a', valueBoolean: false }] },
    ],
    [
      'gives an extension a value of its type',
      operation('replace', 'Appointment.extension[0].value', value({ valueBoolean: false })),
      { extension: [{ url: 'a', valueBoolean: false }] },
    ],
    ['replaces', operation('replace', 'Appointment.description', text('c')), { description: 'c' }],
    [
      'inserts',
      operation('insert', 'Appointment.identifier', at('index', 0), value({ valueIdentifier: { value: '0' } })),
      { identifier: [{ value: '0' }, { value: '1' }] },
    ],
    [
      'moves',
      operation('move', 'Appointment.participant', at('source', 1), at('destination', 0)),
      { participant: [kim, huber] },
    ],
    [
      'deletes an entry',
      operation('delete', "Appointment.participant.where(actor.display = 'Dr. Huber')"),
      { participant: [kim] },
    ],
    [
      'deletes the last entry with its list',
      operation('delete', 'Appointment.identifier[0]'),
      { identifier: undefined },
    ],
    [
      'reaches the extension of an element without a value',
      operation('replace', 'Appointment.minutesDuration.extension[0].url', value({ valueUri: 'c' })),
      { _minutesDuration: { extension: [{ url: 'c', valueCode: 'x' }] } },
    ],
    [
      'reaches the extension of an element with a value',
      operation('replace', 'Appointment.description.extension[0].value', text('y')),
      { _description: { extension: [{ url: 'c', valueString: 'y' }] } },
    ],
    [
      'adds an extension to an element with one',
      operation('add', 'Appointment.description', name('extension'), value({ valueExtension: { url: 'd' } })),
      { _description: { extension: [{ url: 'c', valueCode: 'x' }, { url: 'd' }] } },
    ],
    [
      'adds the first extension to an element with a value',
      operation('add', 'Appointment.status', name('extension'), value({ valueExtension: { url: 'd' } })),
      { _status: { extension: [{ url: 'd' }] } },
    ],
    [
      'deletes an element with its extensions',
      operation('delete', 'Appointment.description'),
      { description: undefined, _description: undefined },
    ],
    [
      'adds an element that has parts',
      operation('add', 'Appointment', name('participant'), {
        name: 'value',
        part: [
          { name: 'type', valueCodeableConcept: { text: 'one' } },
          { name: 'type', valueCodeableConcept: { text: 'two' } },
          { name: 'period', part: [{ name: 'start', valueDateTime: '2027' }] },
          { name: 'constructor', valueCode: 'x' },
          { name: '__proto__', valueCode: 'x' },
          { name: 'nothing' },
          'x',
        ],
      }),
      { participant: [huber, kim, { type: [{ text: 'one' }, { text: 'two' }], period: { start: '2027' } }] },
    ],
  ])('%s', (_, sent, changes) => {
    const expected = Object.entries({ ...before, ...changes }).filter(([, one]) => one !== undefined);
    expect(applied(sent)).toEqual(Object.fromEntries(expected));
  });

  const [none, notWhole] = [
    'leads to 0 elements; it must lead to exactly one.',
    'must lead to an existing list as a whole.',
  ];
  it.each<[object, string]>([
    [operation('add', 'Appointment', name('status'), text('c')), 'Appointment.status already exists; use replace.'],
    [operation('replace', 'Appointment.comment', text('c')), none],
    [operation('delete', 'Appointment.comment'), none],
    [
      operation('replace', 'Appointment.participant.actor', text('c')),
      'leads to 2 elements; it must lead to exactly one.',
    ],
    [operation('insert', 'Appointment.reasonCode', at('index', 0), text('c')), notWhole],
    [operation('insert', 'Appointment.extension[0]', at('index', 0), text('c')), notWhole],
    [operation('insert', 'Appointment.participant.actor', at('index', 0), text('c')), notWhole],
    [operation('insert', 'Appointment.status', at('index', 0), text('c')), notWhole],
    [operation('insert', 'Appointment.identifier', at('index', 2), text('c')), 'nothing can be inserted at 2.'],
    [
      operation('move', 'Appointment.participant', at('source', 2), at('destination', 0)),
      'There is nothing at participant.2.',
    ],
    [operation('delete', 'Appointment'), 'The resource as a whole cannot be changed.'],
    [operation('delete', 'Appointment.'), 'cannot be evaluated.'],
  ])('%j is refused', (sent, problem) => {
    expect(applied(sent)).toEqual([expect.stringContaining(problem)]);
  });
});

it.each<[string, unknown, string]>([
  ['nothing', null, 'Every parameter of a patch must be named operation.'],
  ['another type', operation('toString', 'Appointment.status'), 'type must be a valueCode'],
  ['no path', { name: 'operation', part: [{ name: 'type', valueCode: 'delete' }] }, 'path must be a valueString.'],
  ['nothing to add', operation('add', 'Appointment'), 'add needs one name and one value, of the right type.'],
  [
    'two values',
    operation('add', 'Appointment', name('x'), text('a'), text('b')),
    'add needs one value, of the right type.',
  ],
  [
    'a name that is none',
    operation('add', 'Appointment', name('a.b'), text('a')),
    'add needs one name, of the right type.',
  ],
  [
    'no position',
    operation('insert', 'Appointment.slot', at('index', -1), text('a')),
    'insert needs one index, of the right type.',
  ],
  [
    'a value without content',
    operation('replace', 'Appointment.status', { name: 'value' }),
    'replace needs one value, of the right type.',
  ],
])('%s is no operation of FHIRPath Patch', (_, sent, diagnostics) => {
  expect(readFhirPathOperation(sent, 1)).toEqual({
    code: 'patch-invalid',
    diagnostics: expect.stringContaining(diagnostics),
    expression: 'Parameters.parameter[1]',
  });
});

it('costs each step of a path once for each entry of a list, in the document and in new values', () => {
  const remove = (path: string) => ({ type: 'delete' as const, path });
  const replace = { ...remove('Appointment.list'), type: 'replace' as const, value: { value: [1, 2, 3], type: 'x' } };
  const list = [remove('Appointment.list')];
  expect(costOf({ list: [1, 2] }, [])).toBe(0);
  expect(costOf({ list: [1, { inner: [2] }] }, list) - costOf({}, list)).toBe(2 * 3);
  expect(costOf({}, [replace]) - costOf({}, list)).toBe(2 * 3);
  expect(costOf({}, [remove('Appointment.a.b.c')])).toBe(2 * costOf({}, list));
});
