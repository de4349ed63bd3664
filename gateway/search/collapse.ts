import { atMost } from '../at-most.ts';

/** Carries out the same work once for all who want it at the same time. */
export interface Collapsing<T> {
  /**
   * Gives the result of work that began after this call: of work that others wait for as well, as long as it has not begun.
   *
   * @param key - says what is to be done and for whom; who gives the same key gets the same result
   */
  readonly share: (key: string, work: () => Promise<T>) => Promise<T>;
}

interface Flight<T> {
  /** Fulfilled when the latest work that has begun is over, however it ended. */
  readonly ended: Promise<void>;
  /** The work that begins after it. */
  readonly next?: Promise<T>;
}

/**
 * Lets those who want the same while it is under way wait for one more run together. Nothing is kept: each result is of a
 * run that began after the request for it, so that everybody sees what they wrote before.
 *
 * @param longest - after so many milliseconds the next run begins, though the one before has not ended
 * @see https://www.rfc-editor.org/rfc/rfc9111#section-4 ("collapse requests")
 */
export function createCollapsing<T>(longest: number): Collapsing<T> {
  const flights = new Map<string, Flight<T>>();
  const begin = (key: string, work: () => Promise<T>): Promise<T> => {
    // Also what is thrown at once is a result.
    const result = (async () => work())();
    const end = (): void => {
      if (flights.get(key) === flight) {
        flights.delete(key);
      }
    };
    const flight: Flight<T> = { ended: result.then(end, end) };
    flights.set(key, flight);
    return result;
  };
  return {
    share: (key, work) => {
      const flight = flights.get(key);
      if (!flight) {
        return begin(key, work);
      }
      if (flight.next !== undefined) {
        return flight.next;
      }
      const next = atMost(longest, [flight.ended]).then(() => begin(key, work));
      flights.set(key, { ended: flight.ended, next });
      return next;
    },
  };
}
