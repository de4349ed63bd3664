import { describe, expect, it } from '@jest/globals';
import { AHEAD, atOnce, type Occasion, paceOf, usedAfter } from '../../../core/calendar/publish/pace.ts';

const occasion: Occasion = { isBooked: true, madeUpAt: undefined, now: 1_000_000, share: 0.02 };

/**
 * Publishes for as long as a time allows, turns of half a second each.
 *
 * @returns for how many milliseconds it has worked
 */
function workedWithin(duration: number, share: number): number {
  let { madeUpAt } = occasion;
  let worked = 0;
  for (let now = occasion.now; now < occasion.now + duration; ) {
    const pace = paceOf({ ...occasion, madeUpAt, now, share });
    if (pace) {
      worked += 500;
      now += 500;
      madeUpAt = usedAfter(500, { madeUpAt, now, share });
      now += 500 * pace.rest;
    } else {
      now += 1_000;
    }
  }
  return worked;
}

describe('the pace of publishing', () => {
  it('is the greatest where nobody books, however much was published before', () => {
    expect(paceOf({ ...occasion, isBooked: false, madeUpAt: occasion.now * 2 })).toEqual(atOnce);
    expect(atOnce.rest).toBe(0);
  });

  it('leaves the server to others most of the time where somebody books', () => {
    expect(paceOf(occasion)?.rest).toBeGreaterThanOrEqual(3);
  });

  it.each([0.01, 0.02, 0.1])('takes no more than its share of the time: %p', (share) => {
    const hours = 8 * 3_600_000;
    const worked = workedWithin(hours, share);
    expect(worked).toBeLessThanOrEqual(hours * share + AHEAD + 500);
    expect(worked).toBeGreaterThan(hours * share * 0.9);
  });

  it('does what is soon over at once', () => {
    expect(workedWithin(AHEAD * 4, 0.02)).toBeGreaterThanOrEqual(AHEAD * 0.95);
  });

  it('has all of its share back after a time without publishing', () => {
    const madeUpAt = usedAfter(AHEAD, occasion);
    const later = madeUpAt + 1;
    expect(usedAfter(500, { ...occasion, madeUpAt, now: later })).toBe(later + 25_000);
  });
});
