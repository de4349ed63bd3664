/** How fast calendars that are in line are published. */
export interface Pace {
  /** How long a run is about one Schedule before it is another's turn, in milliseconds; it writes one portion at least. */
  readonly turn: number;
  /** How many Slots are written in one transaction. */
  readonly portion: number;
  /** For how many milliseconds it rests after a turn, for each millisecond that the turn took. */
  readonly rest: number;
}

/** What goes on while calendars are in line. */
export interface Occasion {
  /** Whether somebody has booked or changed an appointment lately. */
  readonly isBooked: boolean;
  /** How many Schedules are in line, as far as they were counted. */
  readonly waiting: number;
  /** Whether nothing of this Schedule has been published since it changed. */
  readonly isFirst: boolean;
}

/** So long after the last change of an appointment nobody is believed to book, in milliseconds. */
export const QUIET_AFTER = 2 * 60_000;

/** With so many Schedules in line, publishing takes so long that bookings are not to feel it. */
export const MANY = 25;

/** At once, for a clinic that waits for it, or where nobody books. */
export const atOnce: Pace = { turn: 2_000, portion: 20, rest: 0 };

/** What is soon over, or shows the nearest days of a Schedule: the server is free for others most of the time. */
const soon: Pace = { turn: 200, portion: 20, rest: 3 };

/** What takes long: a small part of the time, in small portions. */
const beside: Pace = { turn: 100, portion: 8, rest: 30 };

/** The pace at which a Schedule that is in line is published. */
export function paceOf({ isBooked, waiting, isFirst }: Occasion): Pace {
  if (!isBooked) {
    return atOnce;
  }
  return isFirst || waiting < MANY ? soon : beside;
}
