/** A part of the sources that mutation testing breaks, and the tests that are to notice. */
export interface Room {
  /** Patterns of test files. */
  readonly tests: readonly string[];
  /** Patterns of those among them that wait for long. */
  readonly without?: readonly string[];
  /** Whether they speak to an installation. */
  readonly isInstalled?: true;
}

const unitTests = (room: string): Room => ({ tests: [`test/${room}/**/*.test.ts`] });

/** The rooms, by their folders. The rules in `core` must be kept by unit tests alone, Bots by tests over HTTP. */
export const rooms: Readonly<Record<string, Room>> = {
  'core/notifications': unitTests('core/notifications'),
  'core/booking': unitTests('core/booking'),
  'core/calendar': unitTests('core/calendar'),
  'core/fhir': unitTests('core/fhir'),
  gateway: unitTests('gateway'),
  bots: {
    tests: [
      'test/bots/**/*.test.ts',
      'test/contract/{asynchronous,book,calendar,holds,notifications,patch,patients-who-go,policy,resubmission,status}/*.test.ts',
    ],
    without: ['test/contract/**/{burst,simultaneous,table,limit,delivery,publishing}.test.ts'],
    isInstalled: true,
  },
};
