import { describe, expect, it } from '@jest/globals';
import { atOnce, MANY, paceOf } from '../../../core/calendar/publish/pace.ts';

/** The share of the time in which something is written. */
const share = ({ rest }: { readonly rest: number }): number => 1 / (1 + rest);

describe('the pace of publishing', () => {
  it('is the greatest where nobody books, however many are in line', () => {
    for (const waiting of [1, MANY]) {
      expect(paceOf({ isBooked: false, waiting, isFirst: false })).toEqual(atOnce);
    }
    expect(share(atOnce)).toBe(1);
  });

  it('takes less than a twentieth of the time as long as many are in line and somebody books', () => {
    const pace = paceOf({ isBooked: true, waiting: MANY, isFirst: false });
    expect(share(pace)).toBeLessThan(0.05);
    expect(pace.turn).toBeLessThan(atOnce.turn);
  });

  it.each([
    ['few are in line', { isBooked: true, waiting: MANY - 1, isFirst: false }],
    ['a Schedule shows nothing yet of what has changed', { isBooked: true, waiting: MANY, isFirst: true }],
  ])('shows changes soon, and leaves bookings most of the time: %s', (_, occasion) => {
    expect(share(paceOf(occasion))).toBeCloseTo(0.25);
  });
});
