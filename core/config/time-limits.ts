import type { BookingConfig } from './config.ts';

/** How long each part of an answer may take, as a share of `BookingConfig.timeout`; each fits into the one before. */
const shares = {
  /** From the beginning of a request at the gateway until its headers must have been read. */
  headers: 2 / 3,
  /** From the beginning of a request at the gateway until the whole of it must have been read. */
  request: 2,
  /** One answer of Medplum to the gateway, with all that a Bot does for it. */
  answer: 1,
  /** One run of a Bot. */
  bot: 2 / 3,
  /** How long a Bot keeps deciding again about a booking that others have overtaken. */
  decide: 8 / 15,
  /**
   * How long the decision about a booking may have taken if other times are still to be proposed. To seek them costs more than
   * a booking: where many want the same times at once, it would make everybody wait.
   */
  propose: 1 / 30,
  /** One answer of Medplum to a Bot. */
  exchange: 2 / 5,
  /** How long a request waits for others of the same client. */
  place: 2 / 3,
  /** How long a booking waits for earlier ones of the same slot. */
  turn: 1 / 3,
} as const;

/**
 * A stranger without a token can keep a connection open until its headers have arrived: a minute at most, in
 * milliseconds.
 */
const MAX_HEADERS_LENGTH = 60_000;

/** The time limits, in milliseconds, that follow from the one that an installation sets. */
export function timeLimits({ timeout }: Pick<BookingConfig, 'timeout'>): Readonly<Record<keyof typeof shares, number>> {
  const limits = Object.entries(shares).map(([part, share]) => [part, Math.round(timeout * 1_000 * share)]);
  const all = Object.fromEntries(limits) as Record<keyof typeof shares, number>;
  return { ...all, headers: Math.min(all.headers, MAX_HEADERS_LENGTH) };
}
