import { deepEquals } from '@medplum/core';
import type { Project } from '@medplum/fhirtypes';

/**
 * Points of a booking in Medplum's quota: six writes of 100 each, the maximum of an ordinary booking (appointment,
 * slot, the two remainders of the slot, patient, questionnaire response). All writes come from one Bot, so that its
 * quota applies to all portals together.
 */
const POINTS_PER_BOOKING = 600;

/** The project's setting for the quota of each member per minute, in points. Super administrators change it. */
export const USER_QUOTA = 'userFhirQuota';

/** Medplum's own default of that quota. */
export const DEFAULT_QUOTA = 50_000;

/** The quota, in points per minute, for a number of bookings per minute. */
export function quotaFor(bookingsPerMinute: number): number {
  return Math.max(DEFAULT_QUOTA, Math.ceil(bookingsPerMinute) * POINTS_PER_BOOKING);
}

/** Number of bookings per minute that a quota allows. */
export function bookingsWithin(quota: number): number {
  return Math.floor(quota / POINTS_PER_BOOKING);
}

/** The project's features that the service uses, each with its purpose. */
export const projectFeatures = {
  bots: 'the Bots carry out the bookings',
  'transaction-bundles': 'without it Medplum silently runs a transaction as a batch, and a slot could be booked twice',
  cron: 'heartbeats of notifications are sent by a Bot that runs every minute',
  'websocket-subscriptions': 'notifications over websockets',
  email: 'without it Medplum sends no messages to people',
} as const satisfies Partial<Record<NonNullable<Project['features']>[number], string>>;

/** Setting of the project, and of the server, that enables pre-commit Bots. */
export const PRE_COMMIT = 'preCommitSubscriptionsEnabled';

/** Requirements on a project besides the features. */
export interface ProjectWishes {
  /** Bookings per minute that the project's quota must allow; without it the quota stays as it is. */
  readonly bookingsPerMinute?: number | undefined;
}

type Setting = NonNullable<Project['setting']>[number];

function put(settings: readonly Setting[] | undefined, setting: Setting): Setting[] {
  return [...(settings ?? []).filter(({ name }) => name !== setting.name), setting];
}

/** The quota is raised, never lowered. */
function quota(project: Project, bookingsPerMinute: number): Setting[] | undefined {
  const desired = quotaFor(bookingsPerMinute);
  const current = project.systemSetting?.find(({ name }) => name === USER_QUOTA)?.valueInteger ?? 0;
  return current >= desired
    ? project.systemSetting
    : put(project.systemSetting, { name: USER_QUOTA, valueInteger: desired });
}

/**
 * Adds missing features and settings to a project. Others stay unchanged.
 *
 * @returns the same object if nothing is missing
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
