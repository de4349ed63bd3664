import { asksForDryRun } from '../core/booking/request/request.ts';
import { isObject } from '../core/fhir/resource.ts';
import { within } from './within.ts';

/** Runs actions with a common key one after the other. */
export interface BookingQueue {
  /**
   * Runs an action after the earlier ones that share a key with it have ended or timed out.
   *
   * @param keys - without keys, the action runs immediately
   */
  readonly take: <T>(keys: readonly string[], action: () => Promise<T>) => Promise<T>;
}

/**
 * Makes a queue for each key, first come first served. The queue only saves work: the transaction alone guarantees that
 * a slot is booked once. Without the queue, concurrent bookings of one slot overtake each other and must be decided
 * again. A key contains the caller, so that no caller waits for another one.
 *
 * @param maxWaitMs - after this time an action runs even if earlier ones have not ended
 */
export function createBookingQueue(maxWaitMs: number): BookingQueue {
  const lastOfKey = new Map<string, Promise<unknown>>();
  return {
    take: async (keys, action) => {
      const earlier = keys.flatMap((key) => lastOfKey.get(key) ?? []);
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      for (const key of keys) {
        lastOfKey.set(key, ended);
      }
      try {
        if (earlier.length > 0) {
          await within<unknown>(maxWaitMs, Promise.all(earlier), undefined);
        }
        return await action();
      } finally {
        resolve();
        for (const key of keys.filter((key) => lastOfKey.get(key) === ended)) {
          lastOfKey.delete(key);
        }
      }
    },
  };
}

const reference = /\b(?:Slot|Schedule|Appointment)\/[A-Za-z0-9.-]{1,64}/;
const mostKeys = 50;

/** The relative reference in a value, which may be absolute or versioned; none if it leads to another type. */
function referenceIn(value: unknown): string[] {
  const text = isObject(value) ? value.reference : value;
  const [found] = typeof text === 'string' && text.length <= 2_048 ? (reference.exec(text) ?? []) : [];
  return found ? [found] : [];
}

/** The slots of an appointment, and the appointment itself if it is sent again. */
function referencesOf(resource: unknown): string[] {
  if (!isObject(resource) || resource.resourceType !== 'Appointment') {
    return [];
  }
  const appointment = typeof resource.id === 'string' ? [`Appointment/${resource.id}`] : [];
  const slots: readonly unknown[] = Array.isArray(resource.slot) ? resource.slot.slice(0, mostKeys) : [];
  return [...appointment, ...slots.flatMap(referenceIn)];
}

/**
 * Returns the slots, schedules and appointments that a booking asks for, 50 at most. References in other elements, such
 * as a comment, do not count.
 *
 * @param body - of `$book` or `$hold`, in any shape
 */
export function bookedReferences(body: unknown): string[] {
  const parameters = isObject(body) && Array.isArray(body.parameter) ? body.parameter.filter(isObject) : [];
  const ofResources = [body, ...parameters.map(({ resource }) => resource)].flatMap(referencesOf);
  const ofValues = parameters.flatMap(({ valueReference, valueUri }) =>
    [valueReference, valueUri].flatMap(referenceIn),
  );
  return [...new Set([...ofResources, ...ofValues])].slice(0, mostKeys);
}

/**
 * Returns the queue keys of a booking: each resource that it asks for, with the caller. Bookings of different callers
 * never wait for each other. A dry run does not wait.
 *
 * @param body - of `$book` or `$hold`, in any shape
 */
export const queueKeys = (body: unknown, caller: string): string[] =>
  asksForDryRun(body) ? [] : bookedReferences(body).map((key) => `${caller} ${key}`);
