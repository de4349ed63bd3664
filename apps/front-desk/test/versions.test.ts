import { expect, test } from '@jest/globals';
import { type SearchVersion, standsAs, versionsOf } from '../fhir/versions.ts';

const slot = (id: string, versionId: string) => ({ resourceType: 'Slot', id, meta: { versionId } });
const read = new Set(versionsOf([slot('a', '1'), slot('b', '1'), { resourceType: 'Patient', id: 'p' }, null], 'Slot'));
const stands = (total: number, ...newest: ReturnType<typeof slot>[]): SearchVersion => ({
  total,
  newest: versionsOf(newest, 'Slot'),
});

test.each([
  ['nothing was written', stands(2, slot('b', '1'), slot('a', '1')), true],
  ['something was written', stands(2, slot('b', '2'), slot('a', '1')), false],
  ['something was written that began before the newest did', stands(2, slot('b', '1'), slot('a', '2')), false],
  ['something was made', stands(3, slot('c', '1'), slot('b', '1')), false],
  ['something was deleted', stands(1, slot('a', '1')), false],
  ['the server does not say how much there is', { ...stands(2), total: undefined }, false],
])('what was read stands as the server has it, or not: %s', (_, current, isSo) => {
  expect(standsAs(read, current)).toBe(isSo);
});
