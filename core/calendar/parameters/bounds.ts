import { type CalendarProblem, faulty } from '../problem.ts';
import type { Alignment } from './parameter-values.ts';

/** The most entries of opening hours that one resource can have. */
export const MOST_HOURS = 200;

/** The most closures that one resource can have. */
export const MOST_CLOSURES = 1000;

/** The most Slots that one service, and that all services of a Schedule, can ask for on a day that is open all day. */
export const MOST_SLOTS_A_DAY = { service: 3_000, schedule: 10_000 } as const;

const MINUTES_OF_A_DAY = 1440;

/** How many Slots a service asks for on a day that is open all day. */
export const slotsADay = ({ interval }: Alignment, capacity: number): number =>
  Math.ceil(MINUTES_OF_A_DAY / interval) * capacity;

/** The problem of a list that is too long; nothing else in it is checked. */
export function tooMany(count: number, most: number, what: string, path: string): readonly CalendarProblem[] {
  return count > most
    ? faulty('hours-invalid', `There can be at most ${most} ${what}, not ${count}.`, path).problems
    : [];
}

/** The problem of a service that asks for more Slots than can be published. */
export function tooManySlots(alignment: Alignment, capacity: number, path: string): readonly CalendarProblem[] {
  const count = slotsADay(alignment, capacity);
  const found = `An appointment every ${alignment.interval} minutes at ${capacity} places makes ${count} slots a day`;
  return count > MOST_SLOTS_A_DAY.service
    ? faulty(
        'slots-too-many',
        `${found}, and at most ${MOST_SLOTS_A_DAY.service} are possible. Choose a longer alignment interval or fewer places.`,
        path,
      ).problems
    : [];
}
