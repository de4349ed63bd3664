import type { Appointment } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { belongsTo, changedBy } from '../../fhir/tags.ts';
import { matchesFilter } from '../subscription/filter.ts';
import type { SubscriptionParameters } from '../subscription/subscription-parameters.ts';
import { type Topic, type Transition, topics } from '../subscription/topics.ts';
import type { Event } from './event.ts';

/** A version of an appointment: what changed with it, and who made it. */
export interface Change extends Transition {
  /** Id of the profile. */
  readonly by: string | undefined;
}

/** The part of the configuration that the rules about changes depend on. */
export type ChangeConfig = Pick<BookingConfig, 'profileBase' | 'names' | 'metaTagSystem'>;

/** Who is to be told. */
export interface Subscriber {
  /** Id of the profile that owns the Subscription. */
  readonly owner: string;
  readonly settings: SubscriptionParameters;
  /** Changes after this moment are events; milliseconds since 1970 UTC. */
  readonly since: number;
}

/**
 * The changes that an appointment has gone through, the oldest first.
 *
 * @param versions - of one appointment, the newest first, as a FHIR history lists them
 */
export function changesOf(versions: readonly Appointment[], config: ChangeConfig): Change[] {
  return versions
    .map((current, index) => {
      const previous = versions[index + 1];
      return { previous, current, by: changedBy(current.meta, previous?.meta?.versionId, config) };
    })
    .reverse();
}

/** Whether somebody is the requestor that an appointment belongs to. */
function isRequestor(by: string | undefined, appointment: Appointment, config: ChangeConfig): boolean {
  return by !== undefined && belongsTo(appointment, by, config);
}

/**
 * Whether a subscriber must be told of a change, rights aside. A requestor that books does not change an appointment;
 * whatever is changed afterwards, and whatever the repository makes, is told to everyone but the one who made it. The
 * latter is told too if it wishes.
 *
 * @see specification section 6
 */
export function isEventFor(change: Change, { owner, settings, since }: Subscriber, config: ChangeConfig): boolean {
  const { previous, current, by } = change;
  const topic: Topic = topics[settings.topic];
  const time = Date.parse(current.meta?.lastUpdated ?? '');
  const isBooking = previous === undefined && isRequestor(by, current, config);
  const isEcho = by === owner && !settings.wantsOwnChanges;
  const isInTime = time > since && (settings.end === undefined || time <= settings.end);
  return isInTime && !isBooking && !isEcho && topic.covers(change) && matchesFilter(current, settings.conditions);
}

/**
 * The events of a subscriber that are not written down yet.
 *
 * @param changes - of one appointment, the oldest first
 * @param known - versions of the appointment that the subscriber's events are about already
 * @param last - number of the subscriber's last event
 */
export function newEvents(
  changes: readonly Change[],
  subscriber: Subscriber,
  known: ReadonlySet<string>,
  last: number,
  config: ChangeConfig,
): Event[] {
  return changes
    .filter(({ current }) => !known.has(current.meta?.versionId ?? ''))
    .filter((change) => isEventFor(change, subscriber, config))
    .map(({ previous, current }, index) => ({
      number: last + index + 1,
      timestamp: current.meta?.lastUpdated ?? '',
      appointment: current.id ?? '',
      version: current.meta?.versionId ?? '',
      isCreation: previous === undefined,
    }));
}
