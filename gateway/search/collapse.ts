import { within } from '../within.ts';

/** Shares one run of identical work among concurrent callers. */
export interface Collapsing<T> {
  /**
   * Returns the result of work that starts after this call. Waiting work is shared until it starts.
   *
   * @param key - identifies the work and its caller; only calls with the same key share a result
   */
  readonly share: (key: string, work: () => Promise<T>) => Promise<T>;
}

interface Flight<T> {
  /** Fulfilled when the latest started work has ended, with or without success. */
  readonly ended: Promise<void>;
  /** The work that starts after it. */
  readonly next?: Promise<T>;
}

/**
 * Lets callers that want work that is already running wait together for one more run. Nothing is cached: each
 * result is from a run that began after it was requested, so that all callers see what they wrote before.
 *
 * @param maxWaitMs - after this many milliseconds the next run begins even if the one before has not ended
 * @see https://www.rfc-editor.org/rfc/rfc9111#section-4 ("collapse requests")
 */
export function createCollapsing<T>(maxWaitMs: number): Collapsing<T> {
  const flights = new Map<string, Flight<T>>();
  const begin = (key: string, work: () => Promise<T>): Promise<T> => {
    // An error that is thrown synchronously is a result, too.
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
      const next = within(maxWaitMs, flight.ended, undefined).then(() => begin(key, work));
      flights.set(key, { ended: flight.ended, next });
      return next;
    },
  };
}
