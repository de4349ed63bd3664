import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { candidatesIn } from '../../../core/booking/booking/alternatives.ts';
import { slot } from './support.ts';

const day = Date.parse('2027-01-04T00:00:00Z');
const minute = 60_000;
const moment = (time: string): number => Date.parse(`2027-01-04T${time}:00Z`);
const clock = (time: number): string => new Date(time).toISOString().slice(11, 16);
const anyTime = { earliest: Number.NEGATIVE_INFINITY, latest: Number.POSITIVE_INFINITY };

const group = (slots: readonly Slot[], bounds = anyTime) => ({ slots, bounds });
const at = (from: string, to: string) => ({ start: moment(from), end: moment(to) });

/** Each as `slots start-end`. */
const told = (...parameters: Parameters<typeof candidatesIn>): string[] =>
  candidatesIn(...parameters).map(({ slots, start, end }) => `${slots.join('+')} ${clock(start)}-${clock(end)}`);

describe('times instead of one that was refused', () => {
  it('of a long slot are those around what was wanted, and its last one', () => {
    const long = slot('long', '08:00', '18:10');
    expect(told([[group([long])]], at('12:00', '12:30'), ['long'])).toEqual([
      'long 11:30-12:00',
      'long 12:30-13:00',
      'long 13:00-13:30',
      'long 17:40-18:10',
    ]);
  });

  it('begin within the bounds of every schedule, which count', () => {
    const slots = ['08:00', '09:00', '10:00', '11:00'].map((from, index) =>
      slot(`${index}`, from, `${from.slice(0, 3)}30`),
    );
    const bounds = { earliest: moment('09:00'), latest: moment('10:00') };
    expect(told([[group(slots, bounds)]], at('06:00', '06:30'), [])).toEqual(['1 09:00-09:30', '2 10:00-10:30']);
    const inRoom = slots.map((one) => ({ ...one, id: `room-${one.id}` }));
    const narrow = { earliest: moment('09:01'), latest: moment('11:00') };
    expect(told([[group(slots, bounds), group(inRoom, narrow)]], at('06:00', '06:30'), [])).toEqual([
      '2+room-2 10:00-10:30',
    ]);
  });

  it('take no more slots than one appointment may', () => {
    const pieces = (count: number) =>
      Array.from({ length: count }, (_, index) => ({
        ...slot(`${index}`, '00:00', '00:00'),
        start: new Date(day + index * minute).toISOString(),
        end: new Date(day + (index + 1) * minute).toISOString(),
      }));
    const wanted = (count: number) => ({ start: day - 60 * minute, end: day - 60 * minute + count * minute });
    expect(candidatesIn([[group(pieces(50))]], wanted(50), [])).toHaveLength(1);
    expect(candidatesIn([[group(pieces(51))]], wanted(51), [])).toEqual([]);
  });

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
