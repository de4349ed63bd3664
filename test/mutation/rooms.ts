/** A part of the sources that mutation testing breaks, and the tests that are to notice. */
export interface Room {
  /** Patterns of test files. */
  readonly tests: readonly string[];
  /** Patterns of those among them that wait for long. */
  readonly without?: readonly string[];
  /** Whether they speak to an installation. */
  readonly isInstalled?: true;
}

const unitTests = (room: string): string => `test/${room}/**/*.test.ts`;

/** A room whose sources an installation runs: the tests over HTTP notice, too, but for those that race or wait. */
function installed(room: string, contracts: string): Room {
  return {
    tests: [unitTests(room), `test/contract/{${contracts}}/*.test.ts`],
    without: ['test/contract/**/{burst,delivery,isolation-of-searches,limit,publishing,simultaneous,table}.test.ts'],
    isInstalled: true,
  };
}

const bookings = 'asynchronous,book,calendar,holds,patch,patients-who-go,policy,resubmission,status';

/** The rooms, by their folders. */
export const rooms: Readonly<Record<string, Room>> = {
  'core/notifications': { tests: [unitTests('core/notifications')] },
  'core/calendar': { tests: [unitTests('core/calendar')] },
  'core/fhir': { tests: [unitTests('core/fhir')] },
  'core/booking': installed('core/booking', bookings),
  gateway: { tests: [unitTests('gateway')] },
  bots: installed('bots', `${bookings},notifications`),
};
