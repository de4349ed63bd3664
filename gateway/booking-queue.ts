import { asksForDryRun } from '../core/booking/request/request.ts';
import { isObject } from '../core/fhir/resource.ts';
import { within } from './within.ts';

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
 * again; when they take turns, each needs one attempt. A key names a caller: nobody waits for somebody else.
 *
 * @param longest - the longest that an action waits for its turn, in milliseconds
 */
export function createBookingQueue(longest: number): BookingQueue {
  const last = new Map<string, Promise<unknown>>();
  return {
    take: async (keys, action) => {
      const earlier = keys.flatMap((key) => last.get(key) ?? []);
      const { promise: done, resolve } = Promise.withResolvers<void>();
      for (const key of keys) {
        last.set(key, done);
      }
      try {
        if (earlier.length > 0) {
          await within<unknown>(longest, Promise.all(earlier), undefined);
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

const reference = /\b(?:Slot|Schedule|Appointment)\/[A-Za-z0-9.-]{1,64}/;
const mostKeys = 50;

/** What a value names as a whole: a reference, also an absolute or versioned one. */
function namedBy(value: unknown): string[] {
  const text = isObject(value) ? value.reference : value;
  const [name] = typeof text === 'string' && text.length <= 2_048 ? (reference.exec(text) ?? []) : [];
  return name ? [name] : [];
}

/** What an appointment asks for: its slots, and itself if it is sent again. */
function askedFor(resource: unknown): string[] {
  if (!isObject(resource) || resource.resourceType !== 'Appointment') {
    return [];
  }
  const own = typeof resource.id === 'string' ? [`Appointment/${resource.id}`] : [];
  const slots: readonly unknown[] = Array.isArray(resource.slot) ? resource.slot.slice(0, mostKeys) : [];
  return [...own, ...slots.flatMap(namedBy)];
}

/**
 * The slots, schedules and appointments that a booking asks for, 50 at most. What a body names elsewhere, in a comment for
 * instance, does not count.
 *
 * @param body - of `$book` or `$hold`, in any shape
 */
export function namedIn(body: unknown): string[] {
  const parameters = isObject(body) && Array.isArray(body.parameter) ? body.parameter.filter(isObject) : [];
  const asked = [body, ...parameters.map(({ resource }) => resource)].flatMap(askedFor);
  const named = parameters.flatMap(({ valueReference, valueUri }) => [valueReference, valueUri].flatMap(namedBy));
  return [...new Set([...asked, ...named])].slice(0, mostKeys);
}

/**
 * What a booking asks for, each with its caller: over that it could collide with another booking of the same caller.
 * Bookings of different callers never wait for each other. A dry run takes no turn.
 *
 * @param body - of `$book` or `$hold`, in any shape
 * @param caller - its name
 */
export const queueKeys = (body: unknown, caller: string): string[] =>
  asksForDryRun(body) ? [] : namedIn(body).map((key) => `${caller} ${key}`);
