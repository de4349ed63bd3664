/** The parts of the sources that mutation testing breaks, by their folders; those of `test/` are to notice. */
export const rooms: readonly string[] = [
  'core/notifications',
  'core/calendar',
  'core/fhir',
  'core/booking',
  'gateway',
  'bots',
];

/** Pattern of the unit tests of a room. */
export const testsOf = (room: string): string => `test/${room}/**/*.test.ts`;

/** The room that a folder is, or is in. */
export const roomOf = (folder: string): string | undefined => rooms.find((room) => `${folder}/`.startsWith(`${room}/`));
