import { describe, expect, it } from '@jest/globals';
import { readFhirPathPatch } from '../../../../core/booking/patch/fhirpath-operations.ts';
import { applyFhirPathOperation, type Evaluate } from '../../../../core/booking/patch/fhirpath-patch.ts';
import { isObject } from '../../../../core/fhir/resource.ts';

/** An engine that knows names and positions: it gives the elements that a path leads to, lists as their entries. */
const evaluate: Evaluate = (path, resource) => {
  if (path.includes('%')) {
    throw new Error('not understood');
  }
  let found: readonly (readonly [string, unknown])[] = [['Appointment', resource]];
  for (const [, name = '', position] of path.matchAll(/\.([^.[\]]+)(?:\[(\d+)\])?/g)) {
    found = found.flatMap(([at, value]) => {
      const names = isObject(value) ? Object.keys(value) : [];
      const key = names.find((one) => one === name) ?? names.find((one) => name === 'value' && /^value[A-Z]/.test(one));
      const next: unknown = key && isObject(value) ? value[key] : undefined;
      const entries = Array.isArray(next)
        ? next.map((one, index) => [`${at}.${name}[${index}]`, one] as const)
        : next === undefined
          ? []
          : [[`${at}.${name}`, next] as const];
      return position === undefined ? entries : entries.slice(Number(position), Number(position) + 1);
    });
  }
  return found.map(([at]) => at);
};

type Part = Readonly<Record<string, unknown>>;

/** An operation in the form of FHIRPath Patch. */
const operation = (type: string, path: string, ...part: Part[]): object => ({
  name: 'operation',
  part: [{ name: 'type', valueCode: type }, { name: 'path', valueString: path }, ...part],
});
const value = (valueString: string): Part => ({ name: 'value', valueString });
const name = (valueString: string): Part => ({ name: 'name', valueString });
const at = (part: string, valueInteger: unknown): Part => ({ name: part, valueInteger });

/** The document after one operation, or why it is not applied. */
function applied(document: object, sent: object): unknown {
  const operations = readFhirPathPatch([sent]);
  if ('issues' in operations) {
    return operations.issues;
  }
  const [first] = operations;
  const edited = first && applyFhirPathOperation(document, first, evaluate);
  return edited && ('problem' in edited ? edited.problem : edited.document);
}

const stored = {
  status: 'booked',
  participant: [{ actor: { reference: 'Patient/1' } }, { actor: { reference: 'Patient/2' } }],
  extension: [{ url: 'a', valueCode: 'x' }],
  _start: { extension: [{ url: 'b' }] },
};

describe('an operation of FHIRPath Patch', () => {
  it.each<[string, object, object]>([
    ['adds an element', operation('add', 'Appointment', name('comment'), value('c')), { comment: 'c' }],
    ['adds the first entry of a list', operation('add', 'Appointment', name('slot'), value('c')), { slot: ['c'] }],
    [
      'adds a further entry of a list',
      operation('add', 'Appointment', name('extension'), value('c')),
      { extension: [...stored.extension, 'c'] },
    ],
    [
      'adds the first entry of a list in a participant',
      operation('add', 'Appointment.participant[1]', name('type'), value('c')),
      { participant: [stored.participant[0], { ...stored.participant[1], type: ['c'] }] },
    ],
    [
      'adds an element to a participant',
      operation('add', 'Appointment.participant[0]', name('slot'), value('c')),
      { participant: [{ ...stored.participant[0], slot: 'c' }, stored.participant[1]] },
    ],
    [
      'adds a coding anywhere',
      operation('add', 'Appointment.participant[0].actor', name('coding'), value('c')),
      { participant: [{ actor: { reference: 'Patient/1', coding: ['c'] } }, stored.participant[1]] },
    ],
    [
      'gives an extension a value of its type',
      operation('add', 'Appointment.extension[0]', name('value'), { name: 'value', valueBoolean: true }),
      { extension: [{ ...stored.extension[0], valueBoolean: true }] },
    ],
    ['adds a value by its name elsewhere', operation('add', 'Appointment', name('value'), value('c')), { value: 'c' }],
    ['replaces', operation('replace', 'Appointment.status', value('c')), { status: 'c' }],
    [
      'replaces a value by one of another type',
      operation('replace', 'Appointment.extension[0].value', { name: 'value', valueBoolean: false }),
      { extension: [{ url: 'a', valueBoolean: false }] },
    ],
    [
      'replaces a value by one of the same type',
      operation('replace', 'Appointment.extension[0].value', { name: 'value', valueCode: 'y' }),
      { extension: [{ url: 'a', valueCode: 'y' }] },
    ],
    [
      'replaces an entry of a list',
      operation('replace', 'Appointment.participant[0]', value('c')),
      { participant: ['c', stored.participant[1]] },
    ],
    [
      'inserts',
      operation('insert', 'Appointment.participant', at('index', 1), value('c')),
      { participant: [stored.participant[0], 'c', stored.participant[1]] },
    ],
    [
      'moves',
      operation('move', 'Appointment.participant', at('source', 1), at('destination', 0)),
      { participant: [stored.participant[1], stored.participant[0]] },
    ],
    ['deletes an entry', operation('delete', 'Appointment.participant[0]'), { participant: [stored.participant[1]] }],
    ['deletes the last entry with its list', operation('delete', 'Appointment.extension[0]'), { extension: undefined }],
    [
      'reaches the extension of an element without a value',
      operation('replace', 'Appointment.start.extension[0].url', value('c')),
      { _start: { extension: [{ url: 'c' }] } },
    ],
    [
      'adds an element that has parts',
      operation('add', 'Appointment', name('comment'), {
        name: 'value',
        part: [
          { name: 'type', valueCode: 'one' },
          { name: 'type', valueCode: 'two' },
          { name: 'period', part: [{ name: 'start', valueDateTime: '2027' }] },
          { name: 'constructor', valueCode: 'x' },
          { name: 'prototype', valueCode: 'x' },
          { name: '__proto__', valueCode: 'x' },
          { name: 'nothing' },
          { valueCode: 'x' },
          'x',
        ],
      }),
      { comment: { type: ['one', 'two'], period: { start: '2027' } } },
    ],
  ])('%s', (_, sent, changes) => {
    expect(applied(stored, sent)).toEqual({ ...stored, ...changes });
  });

  it.each<[string, object, string]>([
    [
      'adds what is there',
      operation('add', 'Appointment', name('status'), value('c')),
      'Appointment.status already exists; use replace.',
    ],
    [
      'replaces nothing',
      operation('replace', 'Appointment.comment', value('c')),
      'The path Appointment.comment leads to 0 elements; it must lead to exactly one.',
    ],
    [
      'replaces two elements',
      operation('replace', 'Appointment.participant.actor', value('c')),
      'The path Appointment.participant.actor leads to 2 elements; it must lead to exactly one.',
    ],
    [
      'adds to nothing',
      operation('add', 'Appointment.slot', name('x'), value('c')),
      'The path Appointment.slot leads to 0 elements; it must lead to exactly one.',
    ],
    [
      'deletes nothing',
      operation('delete', 'Appointment.slot'),
      'The path Appointment.slot leads to 0 elements; it must lead to exactly one.',
    ],
    [
      'inserts into nothing',
      operation('insert', 'Appointment.slot', at('index', 0), value('c')),
      'The path Appointment.slot must lead to an existing list as a whole.',
    ],
    [
      'inserts into a part of a list',
      operation('insert', 'Appointment.extension[0]', at('index', 0), value('c')),
      'The path Appointment.extension[0] must lead to an existing list as a whole.',
    ],
    [
      'inserts into the elements of a list',
      operation('insert', 'Appointment.participant.actor', at('index', 0), value('c')),
      'The path Appointment.participant.actor must lead to an existing list as a whole.',
    ],
    [
      'inserts into what is no list',
      operation('insert', 'Appointment.status', at('index', 0), value('c')),
      'The path Appointment.status must lead to an existing list as a whole.',
    ],
    [
      'inserts behind the end',
      operation('insert', 'Appointment.participant', at('index', 3), value('c')),
      'The list has 2 entries; nothing can be inserted at 3.',
    ],
    [
      'moves within nothing',
      operation('move', 'Appointment.slot', at('source', 0), at('destination', 0)),
      'The path Appointment.slot must lead to an existing list as a whole.',
    ],
    [
      'moves nothing',
      operation('move', 'Appointment.participant', at('source', 2), at('destination', 0)),
      'There is nothing at participant.2.',
    ],
  ])('that %s is refused', (_, sent, problem) => {
    expect(applied(stored, sent)).toBe(problem);
  });

  it('whose path the engine refuses is refused', () => {
    const sent = { type: 'delete' as const, path: '%x' };
    expect(applyFhirPathOperation(stored, sent, evaluate)).toEqual({ problem: 'The path %x cannot be evaluated.' });
  });
});

describe('what is no operation of FHIRPath Patch', () => {
  const types = 'type must be a valueCode, one of add, insert, delete, replace, move.';
  const path = { name: 'path', valueString: 'Appointment.status' };
  it.each<[string, unknown, string]>([
    ['nothing', null, 'Every parameter of a patch must be named operation.'],
    [
      'another parameter',
      { ...operation('delete', 'Appointment.status'), name: 'x' },
      'Every parameter of a patch must be named operation.',
    ],
    ['one without parts', { name: 'operation' }, types],
    ['one without a type', { name: 'operation', part: [path] }, types],
    ['one of another type', operation('toString', 'Appointment.status'), types],
    ['one whose type is a number', { name: 'operation', part: [{ name: 'type', valueInteger: 1 }, path] }, types],
    [
      'one without a path',
      { name: 'operation', part: [{ name: 'type', valueCode: 'delete' }] },
      'path must be a valueString.',
    ],
    [
      'an add without anything',
      operation('add', 'Appointment'),
      'add needs one name and one value, of the right type.',
    ],
    [
      'an add with two values',
      operation('add', 'Appointment', name('x'), value('a'), value('b')),
      'add needs one value, of the right type.',
    ],
    [
      'an add with a name that is none',
      operation('add', 'Appointment', name('a.b'), value('a')),
      'add needs one name, of the right type.',
    ],
    [
      'an add with a number for a name',
      operation('add', 'Appointment', at('name', 1), value('a')),
      'add needs one name, of the right type.',
    ],
    [
      'an insert at no position',
      operation('insert', 'Appointment.slot', at('index', -1), value('a')),
      'insert needs one index, of the right type.',
    ],
    [
      'an insert between positions',
      operation('insert', 'Appointment.slot', at('index', 1.5), value('a')),
      'insert needs one index, of the right type.',
    ],
    [
      'a move to text',
      operation('move', 'Appointment.slot', at('source', 0), { name: 'destination', valueString: '0' }),
      'move needs one destination, of the right type.',
    ],
    [
      'a replace by nothing',
      operation('replace', 'Appointment.status', { name: 'value' }),
      'replace needs one value, of the right type.',
    ],
  ])('%s', (_, sent, diagnostics) => {
    const good = operation('delete', 'Appointment.comment');
    expect(readFhirPathPatch([good, sent])).toEqual({
      issues: [{ code: 'patch-invalid', diagnostics, expression: 'Parameters.parameter[1]' }],
    });
  });
});
