import { deepEquals } from '@medplum/core';
import type { Project } from '@medplum/fhirtypes';

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

/** Features of a project that the service uses, and what for. */
export const projectFeatures = {
  bots: 'the Bots carry out the bookings',
  'transaction-bundles': 'without it Medplum silently runs a transaction as a batch, and a slot could be booked twice',
  cron: 'heartbeats of notifications are sent by a Bot that runs every minute',
  'websocket-subscriptions': 'notifications over websockets',
  email: 'without it Medplum sends no messages to people',
} as const satisfies Partial<Record<NonNullable<Project['features']>[number], string>>;

/** Setting of a project, and of the server, without which pre-commit Bots are not called. */
export const PRE_COMMIT = 'preCommitSubscriptionsEnabled';

/** What an installation wants of its project besides the features. */
export interface ProjectWishes {
  /** Bookings per minute that the project's quota must allow; without it the quota stays as it is. */
  readonly bookingsPerMinute?: number | undefined;
}

type Setting = NonNullable<Project['setting']>[number];

function put(settings: readonly Setting[] | undefined, setting: Setting): Setting[] {
  return [...(settings ?? []).filter(({ name }) => name !== setting.name), setting];
}

/** Only ever raises the quota. */
function quota(project: Project, bookingsPerMinute: number): Setting[] | undefined {
  const desired = quotaFor(bookingsPerMinute);
  const current = project.systemSetting?.find(({ name }) => name === USER_QUOTA)?.valueInteger ?? 0;
  return current >= desired
    ? project.systemSetting
    : put(project.systemSetting, { name: USER_QUOTA, valueInteger: desired });
}

/**
 * A project with all that the service needs; other features and settings stay.
 *
 * @returns the project itself if it lacks nothing
 */
export function withWishes<T extends Project>(project: T, { bookingsPerMinute }: ProjectWishes): T {
  const features = [...new Set([...(project.features ?? []), ...Object.keys(projectFeatures)])];
  const isPreCommitOn = project.setting?.some(({ name, valueBoolean }) => name === PRE_COMMIT && valueBoolean);
  const desired = {
    ...project,
    features,
    setting: isPreCommitOn ? project.setting : put(project.setting, { name: PRE_COMMIT, valueBoolean: true }),
    ...(bookingsPerMinute && { systemSetting: quota(project, bookingsPerMinute) }),
  };
  return deepEquals(desired, project) ? project : desired;
}
