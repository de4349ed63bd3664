import { expect, test } from '@jest/globals';
import { applyDifferential } from '../../profiles/snapshot.ts';

const ids = (elements: { id?: string }[], within: string): (string | undefined)[] =>
  elements.map(({ id }) => id).filter((id) => id?.startsWith(within));

test('an element of a data type is listed with all its siblings, below its parent', () => {
  const elements = applyDifferential('Slot', [{ id: 'Slot.schedule.reference', min: 1 }]);
  expect(ids(elements, 'Slot.schedule')).toEqual([
    'Slot.schedule',
    'Slot.schedule.id',
    'Slot.schedule.extension',
    'Slot.schedule.reference',
    'Slot.schedule.type',
    'Slot.schedule.identifier',
    'Slot.schedule.display',
  ]);
  expect(elements.find(({ id }) => id === 'Slot.schedule.reference')).toMatchObject({
    path: 'Slot.schedule.reference',
    min: 1,
    base: { path: 'Reference.reference', min: 0 },
  });
});

test('a slice follows the element that it slices, and the slices before it', () => {
  const elements = applyDifferential('Schedule', [
    { id: 'Schedule.extension', slicing: { rules: 'open', discriminator: [{ type: 'value', path: 'url' }] } },
    { id: 'Schedule.extension:a', max: '1' },
    { id: 'Schedule.extension:a.url', fixedUri: 'urn:a' },
    { id: 'Schedule.extension:b', max: '1' },
  ]);
  const listed = ids(elements, 'Schedule.extension');
  expect(listed.indexOf('Schedule.extension:b')).toBe(listed.length - 1);
  expect(listed.indexOf('Schedule.extension:a.url')).toBeGreaterThan(listed.indexOf('Schedule.extension:a'));
  expect(elements.find(({ id }) => id === 'Schedule.extension:a')).toMatchObject({
    path: 'Schedule.extension',
    sliceName: 'a',
    min: 0,
    max: '1',
  });
});

test("constraints are added to the base definition's", () => {
  const added = { key: 'x-1', severity: 'error' as const, human: 'x', expression: 'true' };
  const [root] = applyDifferential('Slot', [{ id: 'Slot', constraint: [added] }]);
  expect(root?.constraint?.map(({ key }) => key)).toEqual(expect.arrayContaining(['dom-2', 'x-1']));
});

test('an element that the type does not have is an error', () => {
  expect(() => applyDifferential('Slot', [{ id: 'Slot.schedule.colour', min: 1 }])).toThrow('Slot.schedule.colour');
  expect(() => applyDifferential('Slott', [])).toThrow('Slott');
});
