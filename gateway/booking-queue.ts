import { asksForDryRun } from '../core/booking/request/request.ts';
import { isObject } from '../core/fhir/resource.ts';
import { within } from './within.ts';

/** Runs actions with a common key one after the other. */
export interface BookingQueue {
  /**
   * Runs an action after the earlier ones that share a key with it have ended or timed out.
   *
   * @param keys - without keys, the action runs at once
   */
  readonly take: <T>(keys: readonly string[], action: () => Promise<T>) => Promise<T>;
}

/**
 * Makes a queue for each key, first come first served. The queue only saves work: the transaction alone guarantees that
 * a slot is booked once. Without the queue, concurrent bookings of one slot overtake each other and must be decided
 * again. A key contains the caller, so that no caller waits for another one.
 *
 * @param longest - maximum waiting time of an action, in milliseconds
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

/** The reference in a value, also an absolute or versioned one. */
function namedBy(value: unknown): string[] {
  const text = isObject(value) ? value.reference : value;
  const [name] = typeof text === 'string' && text.length <= 2_048 ? (reference.exec(text) ?? []) : [];
  return name ? [name] : [];
}

/** The slots of an appointment, and the appointment itself if it is sent again. */
function askedFor(resource: unknown): string[] {
  if (!isObject(resource) || resource.resourceType !== 'Appointment') {
    return [];
  }
  const own = typeof resource.id === 'string' ? [`Appointment/${resource.id}`] : [];
  const slots: readonly unknown[] = Array.isArray(resource.slot) ? resource.slot.slice(0, mostKeys) : [];
  return [...own, ...slots.flatMap(namedBy)];
}

/**
 * Returns the slots, schedules and appointments that a booking asks for, 50 at most. References in other elements, such
 * as a comment, do not count.
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
 * Returns the queue keys of a booking: each resource that it asks for, with the caller. Bookings of different callers
 * never wait for each other. A dry run does not wait.
 *
 * @param body - of `$book` or `$hold`, in any shape
 */
export const queueKeys = (body: unknown, caller: string): string[] =>
  asksForDryRun(body) ? [] : namedIn(body).map((key) => `${caller} ${key}`);
