import type { BookingConfig } from './config.ts';

/** How long each part of an answer may take, in milliseconds; each fits into the one before. */
interface TimeLimits {
  /** From the beginning of a request at the gateway until its headers must have been read. */
  readonly headers: number;
  /** From the beginning of a request at the gateway until the whole of it must have been read. */
  readonly request: number;
  /** One answer of Medplum to the gateway, with all that a Bot does for it. */
  readonly answer: number;
  /** One run of a Bot. */
  readonly bot: number;
  /** How long a Bot keeps deciding again about a booking that others have overtaken. */
  readonly decide: number;
  /**
   * How long the decision about a booking may have taken if other times are still to be proposed. To seek them costs more than
   * a booking: where many want the same times at once, it would make everybody wait.
   */
  readonly propose: number;
  /** One answer of Medplum to a Bot. */
  readonly exchange: number;
  /** How long a request waits for others of the same client. */
  readonly place: number;
  /** How long a booking waits for earlier ones of the same slot. */
  readonly turn: number;
}

/** The share that each has of `BookingConfig.timeout`. */
const shares: TimeLimits = {
  headers: 2 / 3,
  request: 2,
  answer: 1,
  bot: 2 / 3,
  decide: 8 / 15,
  propose: 1 / 30,
  exchange: 2 / 5,
  place: 2 / 3,
  turn: 1 / 3,
};

/**
 * A stranger without a token can keep a connection open until its headers have arrived: a minute at most, in
 * milliseconds.
 */
const LONGEST_HEADERS = 60_000;

/** The time limits that follow from the one that an installation sets. */
export function timeLimits({ timeout }: Pick<BookingConfig, 'timeout'>): TimeLimits {
  const of = (share: number): number => Math.round(timeout * 1_000 * share);
  return {
    headers: Math.min(of(shares.headers), LONGEST_HEADERS),
    request: of(shares.request),
    answer: of(shares.answer),
    bot: of(shares.bot),
    decide: of(shares.decide),
    propose: of(shares.propose),
    exchange: of(shares.exchange),
    place: of(shares.place),
    turn: of(shares.turn),
  };
}
