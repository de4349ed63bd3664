import type { BookingConfig } from './config.ts';

/** The time limits of parts of a response, as shares of `BookingConfig.timeout`. */
const shares = {
  /** Time from the start of a request at the gateway until its headers have been read. */
  headers: 2 / 3,
  /** Time from the start of a request at the gateway until all of it has been read. */
  request: 2,
  /** A response of Medplum to the gateway, including the run of a Bot. */
  answer: 1,
  bot: 2 / 3,
  /** The repeated decisions of a Bot about a booking after conflicts with others. */
  decide: 8 / 15,
  /**
   * The limit for proposing alternatives. Their search would delay everybody where many want the same times at once.
   */
  propose: 1 / 30,
  /** A response of Medplum to a Bot. */
  exchange: 2 / 5,
  /** The wait of a request for others of the same client. */
  place: 2 / 3,
  /** The wait of a booking for earlier ones of the same slot. */
  turn: 1 / 3,
} as const;

/** The longest time for headers, in milliseconds: until then, a client without a token can keep a connection open. */
const MAX_HEADERS_LENGTH = 60_000;

/** The time limits, in milliseconds, by the installation's `timeout`. */
export function timeLimits({ timeout }: Pick<BookingConfig, 'timeout'>): Readonly<Record<keyof typeof shares, number>> {
  const limits = Object.entries(shares).map(([part, share]) => [part, Math.round(timeout * 1_000 * share)]);
  const all = Object.fromEntries(limits) as Record<keyof typeof shares, number>;
  return { ...all, headers: Math.min(all.headers, MAX_HEADERS_LENGTH) };
}
