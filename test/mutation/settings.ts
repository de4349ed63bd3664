/** What a run of mutation testing tries. */
export interface Settings {
  /** How many mutants. */
  readonly size: number;
  /** Another seed, another sample. */
  readonly seed: string;
}

/** Enough for a confidence interval of about ten points. */
const SIZE = 150;

/**
 * Reads the settings from the environment: `SAMPLE`, a number or `all` (default 150), and `SEED` (default 1).
 *
 * @throws Error naming the variable that cannot be used
 */
export function settingsFrom({ SAMPLE, SEED }: Readonly<Record<string, string | undefined>>): Settings {
  const size = SAMPLE === 'all' ? Number.POSITIVE_INFINITY : Number(SAMPLE || SIZE);
  if (!(size > 0)) {
    throw new Error(`SAMPLE must be a positive number or "all", not ${SAMPLE}.`);
  }
  return { size, seed: SEED || '1' };
}
