import type { FastifyInstance, FastifyRequest } from 'fastify';

/** The limits of one visitor, which the portal counts by address. Rates are per minute unless a name says otherwise. */
export const visitorLimits = {
  /** Bookings and moves, and holds at the same time; a clinic whose visitors share an address sets more. */
  bookingsPerHour: 12,
  /** Requests, and forms among them, for each booking in an hour: a visitor compares many times before one. */
  requestsPerBooking: 25,
  formsPerBooking: 5,
  /** Factor on the request limit for cheap requests: a page asks for updates every three seconds. */
  cheap: 4,
  /** Programs: calendars, readers of published files (five for a snapshot), the service, which repeats notifications. */
  feeds: 30,
  published: 60,
  notifications: 1_200,
} as const;

/** A rate limit: counts a request and returns whether the limit is exceeded. */
export type Count = ReturnType<FastifyInstance['createRateLimit']>;

/** Counts a request in all limits until one is exceeded; returns whether one is. */
export async function isTooMuch(request: FastifyRequest, counts: readonly Count[]): Promise<boolean> {
  for (const count of counts) {
    const counted = await count(request);
    if (!counted.isAllowed && counted.isExceeded) {
      return true;
    }
  }
  return false;
}
