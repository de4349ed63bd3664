/**
 * What a booking costs against Medplum's quota, in points: six writes of 100 each, the most that an ordinary booking makes
 * (appointment, slot, the two remainders of the slot, patient, answers). The Bot makes all of them, so one Bot's quota
 * covers all portals.
 */
const POINTS_PER_BOOKING = 600;

/** The quota of each member of a project per minute, in points: a setting that super administrators change. */
export const USER_QUOTA = 'userFhirQuota';

/** Medplum's own default of that quota. */
export const DEFAULT_QUOTA = 50_000;

/** The quota, in points per minute, that a number of bookings per minute needs. */
export function quotaFor(bookingsPerMinute: number): number {
  return Math.max(DEFAULT_QUOTA, Math.ceil(bookingsPerMinute) * POINTS_PER_BOOKING);
}

/** How many bookings per minute a quota allows. */
export function bookingsWithin(quota: number): number {
  return Math.floor(quota / POINTS_PER_BOOKING);
}
