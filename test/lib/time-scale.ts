/**
 * How many times slower than a quick machine with nothing else to do the one may be that runs the tests. Every limit of
 * the tests is multiplied by it: limits end what hangs, and tell nothing about speed. `TIME_SCALE` sets it.
 */
export const timeScale = Number(process.env.TIME_SCALE ?? 10);

if (!(timeScale > 0)) {
  throw new Error(`TIME_SCALE must be a positive number, not ${process.env.TIME_SCALE}.`);
}

/**
 * A time limit for this machine.
 *
 * @param milliseconds - the limit for a quick machine with nothing else to do
 */
export const scaled = (milliseconds: number): number => milliseconds * timeScale;

/** A limit for what the clock of the clinic does, once a minute. */
export const MINUTE_LIMIT = 60_000 + scaled(10_000);

/** The longest `timeout` that the configuration takes, in seconds. */
const MAX_TIMEOUT = 600;

/** `timeout` of the configuration for this machine: how many seconds the service may take to answer. */
export const answerTimeout = Math.min(MAX_TIMEOUT, Math.ceil(15 * timeScale));
