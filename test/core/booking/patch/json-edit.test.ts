import { describe, expect, it } from '@jest/globals';
import { isEqual, type Location, removeAt } from '../../../../core/booking/patch/json-edit.ts';

describe('removing the last entry of a list', () => {
  it.each<[string, unknown, Location, unknown]>([
    ['a list', { list: ['x'] }, ['list', 0], {}],
    ['a list within an object', { inner: { list: ['x'], kept: 1 } }, ['inner', 'list', 0], { inner: { kept: 1 } }],
    ['a list within a list', { outer: [{ list: ['x'] }, 1] }, ['outer', 0, 'list', 0], { outer: [{}, 1] }],
  ])('removes %s as well, where asked to', (_, document, location, expected) => {
    expect(removeAt(document, location, true)).toEqual({ document: expected });
  });

  it('leaves the list empty otherwise', () => {
    expect(removeAt({ list: ['x'] }, ['list', 0])).toEqual({ document: { list: [] } });
  });

  it('is not meant where others stay', () => {
    expect(removeAt({ list: ['x', 'y'] }, ['list', 0], true)).toEqual({ document: { list: ['y'] } });
  });
});

it.each<[string, unknown, unknown, boolean]>([
  ['the same in another order', { a: 1, b: [2, { c: 3 }] }, { b: [2, { c: 3 }], a: 1 }, true],
  ['another value', { a: 1 }, { a: 2 }, false],
  ['another name', { a: 1 }, { b: 1 }, false],
  ['one more', { a: 1 }, { a: 1, b: 2 }, false],
  ['a list in another order', [1, 2], [2, 1], false],
  ['a longer list', [1], [1, 2], false],
  ['a list for an object', [], {}, false],
  ['null for an object', null, {}, false],
])('values are compared: %s', (_, one, other, expected) => {
  expect([isEqual(one, other), isEqual(other, one)]).toEqual([expected, expected]);
});
