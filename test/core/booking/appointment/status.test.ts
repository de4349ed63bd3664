import { describe, expect, it } from '@jest/globals';
import type { Appointment, Slot } from '@medplum/fhirtypes';
import { isTaken, slotStatusOf, strongestUse } from '../../../../core/booking/appointment/slot-use.ts';
import {
  canBeMoved,
  holdsSlots,
  isOpen,
  neededSlotStatus,
  slotUseOf,
  statusIssues,
  statusQuery,
} from '../../../../core/booking/appointment/status.ts';

type Status = Appointment['status'];

/** What follows from each status: open, can be moved, use of its slots, what an open one needs them to be. */
const meanings: readonly [Status, boolean, boolean, string, Slot['status'] | undefined][] = [
  ['proposed', true, true, 'held', undefined],
  ['pending', true, true, 'requested', 'busy-tentative'],
  ['booked', true, true, 'confirmed', 'busy'],
  ['arrived', true, false, 'confirmed', 'busy'],
  ['checked-in', true, false, 'confirmed', 'busy'],
  ['waitlist', true, false, 'held', undefined],
  ['fulfilled', false, false, 'confirmed', undefined],
  ['noshow', false, false, 'held', undefined],
  ['cancelled', false, false, 'given-back', undefined],
  ['entered-in-error', false, false, 'given-back', undefined],
];

describe('the status of an appointment', () => {
  it.each(meanings)('%s', (status, open, movable, use, needed) => {
    const one = { status };
    expect([isOpen(one), canBeMoved(one), slotUseOf(one), neededSlotStatus(one)]).toEqual([open, movable, use, needed]);
    expect(holdsSlots(one)).toBe(use !== 'given-back');
  });

  it('statuses are searched for by what holds of them', () => {
    expect(statusQuery(isOpen).split(',').sort()).toEqual(
      meanings.flatMap(([status, open]) => (open ? [status] : [])).sort(),
    );
  });

  it.each(['gone', '', undefined, 'constructor', 7])('%p is not one', (value) => {
    expect(statusIssues(value, 'Appointment.status').map(({ code }) => code)).toEqual(['malformed-request']);
  });
});

describe('the use of a slot', () => {
  it('of several the strongest counts', () => {
    expect(strongestUse('requested', 'confirmed', 'held')).toBe('confirmed');
    expect(strongestUse('given-back', undefined, 'held')).toBe('held');
    expect(strongestUse(undefined, 'given-back')).toBe('given-back');
    expect(strongestUse(undefined)).toBeUndefined();
  });

  it('demands a status of the slot, or none', () => {
    expect((['given-back', 'held', 'requested', 'confirmed'] as const).map(slotStatusOf)).toEqual([
      undefined,
      undefined,
      'busy-tentative',
      'busy',
    ]);
    expect(slotStatusOf(undefined)).toBeUndefined();
  });

  it('a slot that the clinic has blocked is not taken for an appointment', () => {
    expect((['free', 'busy', 'busy-tentative', 'busy-unavailable'] as const).map(isTaken)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});
