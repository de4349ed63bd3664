/** How fast Schedules that are in line are published. */
export interface Pace {
  /** How many Schedules are published at the same time. */
  readonly concurrency: number;
  /**
   * How long a run works on one Schedule before it is another's turn, in milliseconds; it writes at least one portion.
   */
  readonly turn: number;
  /** How many Slots are written in one transaction. */
  readonly portion: number;
  /** How many milliseconds it rests after a turn, for each millisecond that the turn took. */
  readonly rest: number;
}

/** The circumstances in which Schedules that are in line are published. */
export interface Occasion {
  /** Whether an appointment was booked or changed lately. */
  readonly isBooked: boolean;
  /**
   * When publishing will have had no more than its share of the time (`usedAfter`), in milliseconds since 1970 UTC;
   * absent if it has had none yet.
   */
  readonly madeUpAt: number | undefined;
  /** In milliseconds since 1970 UTC. */
  readonly now: number;
  /** The share of the time that publishing may take while bookings are being made, more than 0 and at most 1. */
  readonly share: number;
}

/** How long after the last change of an appointment bookings are assumed to have stopped, in milliseconds. */
export const QUIET_AFTER = 2 * 60_000;

/** How far publishing may be ahead of its share, in milliseconds: what takes little time is done at once. */
export const AHEAD = 10_000;

/**
 * At once: when no bookings are being made, and for the first turn of a Schedule that was itself changed, because the
 * clinic waits for it.
 */
export const atOnce: Pace = { concurrency: 2, turn: 2_000, portion: 20, rest: 0 };

/** While bookings are being made: most of the time the server is free for others. */
export const soon: Pace = { concurrency: 1, turn: 400, portion: 20, rest: 3 };

/**
 * The pace at which Schedules that are in line are published.
 *
 * @returns `undefined` if publishing has to wait, because it has had more than its share already
 */
export function paceOf({ isBooked, madeUpAt = 0, now, share }: Occasion): Pace | undefined {
  if (!isBooked) {
    return atOnce;
  }
  return madeUpAt - now <= AHEAD / share ? soon : undefined;
}

/**
 * When publishing will have had no more than its share of the time, after it has worked for some more.
 *
 * @param took - for how long it has worked, in milliseconds
 * @returns in milliseconds since 1970 UTC
 */
export const usedAfter = (took: number, { madeUpAt = 0, now, share }: Omit<Occasion, 'isBooked'>): number =>
  Math.round(Math.max(madeUpAt, now) + took / share);
