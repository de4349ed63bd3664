import { expect, it } from '@jest/globals';
import { costOf } from '../../../../core/booking/patch/cost.ts';
import type { FhirPathOperation } from '../../../../core/booking/patch/fhirpath-operations.ts';

const remove = (path: string): FhirPathOperation => ({ type: 'delete', path });
const replace = (path: string, value: unknown): FhirPathOperation => ({
  type: 'replace',
  path,
  value: { value, type: 'Appointment' },
});

const list = 'Appointment.list';

it('a patch without operations costs nothing', () => {
  expect(costOf({ list: [1, 2] }, [])).toBe(0);
});

it.each<[string, number, number]>([
  [
    'three entries in the document',
    costOf({ list: [1, { inner: [2] }] }, [remove(list)]),
    costOf({ list: 1 }, [remove(list)]),
  ],
  ['three entries in a new value', costOf({}, [replace(list, [1, 2, 3])]), costOf({}, [replace(list, [])])],
])('%s cost one more each, at each of the two steps of a path', (_, longer, shorter) => {
  expect(longer - shorter).toBe(6);
});

it('twice as many steps cost twice as much', () => {
  expect(costOf({}, [remove('Appointment.a.b.c')])).toBe(2 * costOf({}, [remove('Appointment.a')]));
});
