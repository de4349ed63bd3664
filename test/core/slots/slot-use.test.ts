import { describe, expect, it } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import { isHeld, type SlotUse, slotIdsOf, slotStatusOf, strongestUse } from '../../../core/slots/slot-use.ts';

/** From the weakest to the strongest: whether the slot is held, and the status that it must have. */
const uses: readonly (readonly [SlotUse, boolean, string | undefined])[] = [
  ['given-back', false, undefined],
  ['held', true, undefined],
  ['requested', true, 'busy-tentative'],
  ['confirmed', true, 'busy'],
];

describe('the use of a slot', () => {
  it.each(uses)('%s: held %s, status %s', (use, held, status) => {
    expect([isHeld(use), slotStatusOf(use)]).toEqual([held, status]);
  });

  it('of several the strongest counts, in whatever order; of none there is none', () => {
    for (const [index, [weaker]] of uses.entries()) {
      for (const [stronger] of uses.slice(index)) {
        expect([strongestUse(weaker, stronger), strongestUse(stronger, weaker)]).toEqual([stronger, stronger]);
      }
      expect(strongestUse(undefined, weaker, undefined)).toBe(weaker);
    }
    expect(strongestUse(undefined)).toBeUndefined();
    expect([isHeld(undefined), slotStatusOf(undefined)]).toEqual([false, undefined]);
  });

  it('is that of the slots that an appointment refers to', () => {
    const slot = [{ reference: 'Slot/a' }, { display: 'b' }, { reference: 'Schedule/c' }, { reference: 'Slot/d' }];
    expect(slotIdsOf({ resourceType: 'Appointment', status: 'booked', participant: [], slot })).toEqual(['a', 'd']);
    expect([slotIdsOf(undefined), slotIdsOf({} as Appointment)]).toEqual([[], []]);
  });
});
