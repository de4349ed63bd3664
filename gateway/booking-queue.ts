import { isObject } from '../core/fhir/resource.ts';
import { atMost } from './at-most.ts';

/** Lets actions on the same things take turns. */
export interface BookingQueue {
  /**
   * Runs an action once the earlier ones that share a key with it have ended, or have taken too long.
   *
   * @param keys - the things that the action is about; without keys it runs at once
   */
  readonly take: <T>(keys: readonly string[], action: () => Promise<T>) => Promise<T>;
}

/**
 * Makes a queue for each key, first come first served. The queue only saves work: the transaction alone guarantees that a
 * slot is booked once. Without it, bookings of one slot that run at the same time overtake each other and have to decide
 * again; when they take turns, each needs one attempt.
 *
 * @param longest - the longest that an action waits for its turn, in milliseconds
 */
export function createBookingQueue(longest: number): BookingQueue {
  const last = new Map<string, Promise<void>>();
  return {
    take: async (keys, action) => {
      const earlier = keys.flatMap((key) => last.get(key) ?? []);
      const { promise: done, resolve } = Promise.withResolvers<void>();
      for (const key of keys) {
        last.set(key, done);
      }
      try {
        if (earlier.length > 0) {
          await atMost(longest, earlier);
        }
        return await action();
      } finally {
        resolve();
        for (const key of keys.filter((one) => last.get(one) === done)) {
          last.delete(key);
        }
      }
    },
  };
}

const reference = /\b(?:Slot|Schedule|Appointment)\/[A-Za-z0-9.-]{1,64}/g;
const mostKeys = 50;

/** The appointments that a body sends again, each named by its own id. */
function appointmentsSent(body: unknown): string[] {
  const parameters = isObject(body) && Array.isArray(body.parameter) ? body.parameter.filter(isObject) : [];
  return [body, ...parameters.map(({ resource }) => resource)].flatMap((resource) =>
    isObject(resource) && resource.resourceType === 'Appointment' && typeof resource.id === 'string'
      ? [`Appointment/${resource.id}`]
      : [],
  );
}

/** The first references in a text. */
function referencesIn(text: string): string[] {
  const found: string[] = [];
  for (const [name] of text.matchAll(reference)) {
    if (found.push(name) >= mostKeys) {
      break;
    }
  }
  return found;
}

/**
 * The slots, schedules and appointments that a booking names: those over which it could collide with another booking.
 *
 * @param body - of `$book`, in any shape
 */
export function queueKeys(body: unknown): string[] {
  return [...new Set([...appointmentsSent(body), ...referencesIn(JSON.stringify(body ?? null))])];
}
