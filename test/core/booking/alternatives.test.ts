import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { candidatesIn } from '../../../core/visits/alternatives.ts';
import { slot } from './support.ts';

const day = Date.parse('2027-01-04T00:00:00Z');
const minute = 60_000;
const anyTime = { earliest: Number.NEGATIVE_INFINITY, latest: Number.POSITIVE_INFINITY };

const group = (slots: readonly Slot[], bounds = anyTime) => ({ slots, bounds });
describe('times instead of one that was refused', () => {
  it('always lie in their slots, have the length, and come in order', () => {
    const slots = fc.uniqueArray(
      fc.record({ start: fc.integer({ min: 0, max: 40 }), length: fc.integer({ min: 1, max: 20 }) }),
      { maxLength: 6, selector: ({ start }) => start },
    );
    fc.assert(
      fc.property(slots, fc.integer({ min: 0, max: 40 }), fc.integer({ min: 1, max: 8 }), (free, from, length) => {
        const stored = free.map(({ start, length: size }, index) => ({
          ...slot(`${index}`, '00:00', '00:00'),
          start: new Date(day + start * minute).toISOString(),
          end: new Date(day + (start + size) * minute).toISOString(),
        }));
        const wanted = { start: day + from * minute, end: day + (from + length) * minute };
        const found = candidatesIn([[group(stored)]], wanted, []);
        const distances = found.map(({ start }) => Math.abs(start - wanted.start));
        expect(distances).toEqual(distances.toSorted((one, other) => one - other));
        for (const { slots: ids, start, end } of found) {
          const used = ids.map((id) => stored[Number(id)]);
          expect(end - start).toBe(length * minute);
          expect(Math.min(...used.map((one) => Date.parse(one?.start ?? '')))).toBeLessThanOrEqual(start);
          expect(Math.max(...used.map((one) => Date.parse(one?.end ?? '')))).toBeGreaterThanOrEqual(end);
        }
        const isExact = free.some(({ start, length: size }) => start === from && size >= length);
        expect(found.some(({ start }) => start === wanted.start) || !isExact).toBe(true);
      }),
    );
  });
});
