import { roomOf, rooms } from './rooms.ts';

/** What a run of mutation testing tries. */
export interface Settings {
  /** Folders: rooms, or parts of one. */
  readonly rooms: readonly string[];
  /** How many mutants of each room. */
  readonly size: number;
  /** Another seed, another sample. */
  readonly seed: string;
}

/** Enough for a confidence interval of about ten points in all for a room that reaches the goal. */
const SIZE = 150;

/**
 * Reads the settings from the environment: `ROOM` (a room or a folder of one; default: all of them), `SAMPLE`, a number or
 * `all` (default 150), and `SEED` (default 1).
 *
 * @throws Error naming the variable that cannot be used
 */
export function settingsFrom({ ROOM, SAMPLE, SEED }: Readonly<Record<string, string | undefined>>): Settings {
  const size = SAMPLE === 'all' ? Number.POSITIVE_INFINITY : Number(SAMPLE || SIZE);
  if (!(size > 0)) {
    throw new Error(`SAMPLE must be a positive number or "all", not ${SAMPLE}.`);
  }
  if (ROOM && !roomOf(ROOM)) {
    throw new Error(`ROOM must be one of ${rooms.join(', ')}, or a folder in one of them, not ${ROOM}.`);
  }
  return { rooms: ROOM ? [ROOM] : rooms, size, seed: SEED || '1' };
}
