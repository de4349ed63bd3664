import { describe, expect, it } from '@jest/globals';
import { applyEdit } from '../../../../core/booking/patch/edit.ts';
import { readJsonOperation } from '../../../../core/booking/patch/patch.ts';

const document = { status: 'booked', list: ['a', 'b', 'c'], inner: { 'a/b': 1, 'm~n': 2 } };

function applied(...sent: object[]): unknown {
  let current: unknown = document;
  for (const [index, one] of sent.entries()) {
    const operation = readJsonOperation(one, index);
    if ('code' in operation) {
      return operation.code;
    }
    const edited = applyEdit(current, operation);
    if ('problem' in edited) {
      return edited.problem;
    }
    current = edited.document;
  }
  return current;
}

describe('JSON Patch (RFC 6902)', () => {
  it.each<[string, object[], object]>([
    ['add to the end', [{ op: 'add', path: '/list/-', value: 'd' }], { list: ['a', 'b', 'c', 'd'] }],
    ['add before', [{ op: 'add', path: '/list/0', value: 'd' }], { list: ['d', 'a', 'b', 'c'] }],
    ['add replaces a member', [{ op: 'add', path: '/status', value: 'x' }], { status: 'x' }],
    ['remove', [{ op: 'remove', path: '/list/1' }], { list: ['a', 'c'] }],
    ['remove the last', Array(3).fill({ op: 'remove', path: '/list/0' }), { list: [] }],
    ['replace', [{ op: 'replace', path: '/list/1', value: 'x' }], { list: ['a', 'x', 'c'] }],
    ['move to the end', [{ op: 'move', from: '/list/0', path: '/list/-' }], { list: ['b', 'c', 'a'] }],
    ['move forward', [{ op: 'move', from: '/list/2', path: '/list/0' }], { list: ['c', 'a', 'b'] }],
    ['copy', [{ op: 'copy', from: '/status', path: '/list/0' }], { list: ['booked', 'a', 'b', 'c'] }],
    ['escaped names', [{ op: 'replace', path: '/inner/a~1b', value: 3 }], { inner: { 'a/b': 3, 'm~n': 2 } }],
    ['an escaped tilde', [{ op: 'remove', path: '/inner/m~0n' }], { inner: { 'a/b': 1 } }],
    ['test of an object', [{ op: 'test', path: '/inner', value: { 'm~n': 2, 'a/b': 1 } }], {}],
  ])('%s', (_, operations, change) => {
    expect(applied(...operations)).toEqual({ ...document, ...change });
    expect(document.list).toEqual(['a', 'b', 'c']);
  });

  it.each<[string, object, string]>([
    ['remove of nothing', { op: 'remove', path: '/none' }, 'nothing at none'],
    ['remove of the end', { op: 'remove', path: '/list/-' }, 'nothing at list.-'],
    ['replace of nothing', { op: 'replace', path: '/none', value: 1 }, 'nothing at none'],
    ['copy of nothing', { op: 'copy', from: '/none', path: '/status' }, 'nothing at none'],
    ['into nothing', { op: 'add', path: '/none/a', value: 1 }, 'nothing at none'],
    ['into a text', { op: 'add', path: '/status/0', value: 1 }, 'nothing at status.0'],
    ['behind the end', { op: 'add', path: '/list/4', value: 1 }, 'has 3 entries'],
    ['a leading zero', { op: 'add', path: '/list/01', value: 1 }, 'needs its position'],
    ['a name in a list', { op: 'add', path: '/list/length', value: 0 }, 'needs its position'],
    ['into itself', { op: 'move', from: '/inner', path: '/inner/a' }, 'into itself'],
    ['a failing test', { op: 'test', path: '/status', value: 'x' }, 'is different'],
    ['the prototype', { op: 'add', path: '/__proto__', value: 1 }, 'not an element'],
    ['the constructor', { op: 'add', path: '/constructor/prototype/x', value: 1 }, 'not an element'],
    ['the whole', { op: 'replace', path: '', value: 1 }, 'as a whole'],
    ['no op', { path: '/status' }, 'patch-invalid'],
    ['an unknown op', { op: 'merge', path: '/status' }, 'patch-invalid'],
    ['no path', { op: 'remove' }, 'patch-invalid'],
    ['no pointer', { op: 'remove', path: 'status' }, 'patch-invalid'],
    ['a broken escape', { op: 'remove', path: '/a~2' }, 'patch-invalid'],
    ['no value', { op: 'add', path: '/status' }, 'patch-invalid'],
    ['no from', { op: 'move', path: '/status' }, 'patch-invalid'],
  ])('%s is refused', (_, operation, problem) => {
    expect(applied(operation)).toEqual(expect.stringContaining(problem));
  });
});
