import { expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { planSlots } from '../../../core/calendar/publish/publish.ts';
import { at, config, minutes, publish, service, slot, stateOf } from './support.ts';

const clock = (quarter: number): string =>
  at('00:00').replace(/T.*/, new Date(Date.parse(at('00:00')) + quarter * 900_000).toISOString().slice(10));

const stored = (id: string, from: number, length: number, status: Slot['status']): Slot => ({
  ...slot(id, '09:00', '09:30', status),
  start: clock(from),
  end: clock(from + length),
});

const byHand = fc.record({
  from: fc.integer({ min: 34, max: 50 }),
  length: fc.integer({ min: 1, max: 6 }),
  status: fc.constantFrom<Slot['status']>('free', 'busy', 'busy-unavailable'),
});

it('publishing finds nothing left to do when it has been done, whatever staff have made by hand', () => {
  const buffers = fc.constantFrom(0, 5, 15);
  fc.assert(
    fc.property(
      fc.array(byHand, { maxLength: 6 }),
      buffers,
      buffers,
      fc.constantFrom(1, 2),
      (made, before, after, capacity) => {
        const services = [
          service([
            minutes('bufferBefore', before),
            minutes('bufferAfter', after),
            minutes('alignmentInterval', 15),
            { url: 'slotCapacity', valuePositiveInt: capacity },
          ]),
        ];
        const slots = made.map(({ from, length, status }, index) => stored(`hand-${index}`, from, length, status));
        const once = publish(stateOf(slots, {}, services));
        expect(planSlots(stateOf(once, {}, services), config).changes).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
});
