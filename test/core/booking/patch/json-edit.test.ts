import { describe, expect, it } from '@jest/globals';
import { type Location, removeAt } from '../../../../core/booking/patch/json-edit.ts';

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
