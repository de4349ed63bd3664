/** A part of the sources that mutation testing breaks, and the tests that are to notice. */
export interface Room {
  /** Pattern of its unit tests. */
  readonly unit: string;
  /** Pattern of tests that speak to an installation. */
  readonly contract?: string;
}

/** The contract tests that wait for long. */
export const SLOW =
  'test/contract/**/{burst,delivery,isolation-of-searches,limit,publishing,simultaneous,table}.test.ts';

const unit = (room: string): string => `test/${room}/**/*.test.ts`;

/** A room whose sources an installation runs: the tests over HTTP notice, too, but for those that race or wait. */
const installed = (room: string, contracts: string): Room => ({
  unit: unit(room),
  contract: `test/contract/{${contracts}}/*.test.ts`,
});

const bookings = 'asynchronous,book,calendar,holds,patch,patients-who-go,policy,resubmission,status';

/** The rooms, by their folders. */
export const rooms: Readonly<Record<string, Room>> = {
  'core/notifications': { unit: unit('core/notifications') },
  'core/calendar': { unit: unit('core/calendar') },
  'core/fhir': { unit: unit('core/fhir') },
  'core/booking': installed('core/booking', bookings),
  gateway: { unit: unit('gateway') },
  bots: installed('bots', `${bookings},notifications`),
};

/** The room that a folder is, or is in. */
export function roomOf(folder: string): Room | undefined {
  const name = Object.keys(rooms).find((one) => `${folder}/`.startsWith(`${one}/`));
  return name === undefined ? undefined : rooms[name];
}
