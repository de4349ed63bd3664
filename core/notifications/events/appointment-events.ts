import type { Appointment, Bundle } from '@medplum/fhirtypes';
import { isHold, isPersonalOffer } from '../../booking/appointment/expiry.ts';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { isResource } from '../../fhir/resource.ts';
import { belongsTo, changedBy } from '../../fhir/tags.ts';
import { type FormerOf, matchesFilter } from '../subscription/filter.ts';
import type { SubscriptionParameters } from '../subscription/subscription-parameters.ts';
import { type Topic, type TopicName, type Transition, topics } from '../subscription/topics.ts';
import { type Event, type EventFacts, eventKey } from './event.ts';

/** A version of an appointment: what changed with it, and who made it. */
export interface Change extends Transition {
  /** Id of the profile. */
  readonly by: string | undefined;
}

/** The subscriber to notify. */
export interface Subscriber {
  /** Id of the profile that owns the Subscription. */
  readonly owner: string;
  readonly settings: SubscriptionParameters;
  /** Changes after this moment are events; milliseconds since 1970 UTC. */
  readonly since: number;
  /** The merged patients whom the subscriber may know. */
  readonly formerOf?: FormerOf;
}

/** An entry of a history: a version, or when the appointment was deleted, as an instant. */
export type Version = Appointment | { readonly deleted: string };

/** Whether an entry of a history is a deletion. */
export const isDeletion = (version: Version | undefined): version is { readonly deleted: string } =>
  version !== undefined && 'deleted' in version;

/** The history gives the time of a deletion as text, in whole seconds. */
const SECOND = 1_000;

/**
 * The entries of a history, the newest first. Depending on its version, Medplum marks a deletion by the method, or by
 * status 410 alone.
 *
 * @param now - milliseconds since 1970 UTC
 */
export function versionsIn({ entry = [] }: Bundle, now: number): Version[] {
  return entry.flatMap(({ request, response, resource }): Version[] => {
    if (isResource(resource, 'Appointment')) {
      return [resource];
    }
    const outcome: unknown = response?.outcome;
    const text = isResource(outcome, 'OperationOutcome') ? outcome.issue[0]?.details?.text : undefined;
    const [, told = ''] = /^Deleted on (.+)$/.exec(text ?? '') ?? [];
    const deleted = Math.min(now, (Date.parse(told) || now) + SECOND - 1);
    const isGone = request?.method === 'DELETE' || response?.status.startsWith('410');
    return isGone ? [{ deleted: formatInstant(deleted) }] : [];
  });
}

/**
 * The changes that an appointment has gone through, the oldest first. Who made a deletion is not known.
 *
 * @param versions - of one appointment, the newest first, as a FHIR history lists them
 * @param isCut - whether there are older ones: then it is not known what the oldest of these changed
 */
export function changesOf(versions: readonly Version[], config: PublicConfig, isCut = false): Change[] {
  const oldest = isCut ? versions.length - 1 : undefined;
  return versions
    .flatMap((version, index): Change[] => {
      const before = versions[index + 1];
      const previous = isDeletion(before) ? undefined : before;
      if (index === oldest) {
        return [];
      }
      if (!isDeletion(version)) {
        return [{ previous, current: version, by: changedBy(version.meta, previous?.meta?.versionId, config) }];
      }
      return previous ? [{ previous, current: previous, by: undefined, deleted: version.deleted }] : [];
    })
    .reverse();
}

/** Whether a profile is the requestor of an appointment. */
function isRequestor(by: string | undefined, appointment: Appointment, config: PublicConfig): boolean {
  return by !== undefined && belongsTo(appointment, by, config);
}

/**
 * Whether a change is one that a topic is about. Holds are not notified; only the booking that follows one is. An offer has a
 * topic of its own, and is told by no other.
 */
function isOfTopic(change: Change, name: TopicName, config: PublicConfig): boolean {
  const { previous, current } = change;
  const topic: Topic = topics[name];
  const wasHold = previous === undefined || isHold(previous, config);
  const isOfHold = isHold(current, config) && wasHold;
  return name === 'appointment-offer' ? isPersonalOffer(current, config) : !isOfHold && topic.covers(change);
}

/**
 * Whether a subscriber must be told of a change, rights aside. A requestor's booking is not a change of an appointment.
 * Every change after it, and whatever the repository creates, is told to every subscriber except its author, and to the
 * author too if it wishes.
 *
 * @see specification section 6
 */
function isEventFor(change: Change, { owner, settings, since, formerOf }: Subscriber, config: PublicConfig): boolean {
  const { previous, current, by, deleted } = change;
  const time = Date.parse(deleted ?? current.meta?.lastUpdated ?? '');
  const isFirst = previous === undefined || isHold(previous, config);
  const isBooking = isFirst && isRequestor(by, current, config);
  const isEcho = by === owner && !settings.wantsOwnChanges;
  const isInTime = time > since && (settings.end === undefined || time <= settings.end);
  return (
    isInTime &&
    !isBooking &&
    !isEcho &&
    isOfTopic(change, settings.topic, config) &&
    matchesFilter(current, settings.conditions, formerOf)
  );
}

/** The event that a change is, without its number. */
function eventFor({ previous, current, deleted }: Change): EventFacts {
  const kind = previous === undefined ? 'create' : 'update';
  return {
    timestamp: deleted ?? current.meta?.lastUpdated ?? '',
    appointment: current.id ?? '',
    version: current.meta?.versionId ?? '',
    kind: deleted === undefined ? kind : 'delete',
  };
}

/**
 * The events of a subscriber that are not recorded yet.
 *
 * @param changes - of one appointment, the oldest first
 * @param known - the events that the subscriber has already, by `eventKey`
 * @param last - number of the subscriber's last event
 */
export function newEvents(
  changes: readonly Change[],
  subscriber: Subscriber,
  known: ReadonlySet<string>,
  last: number,
  config: PublicConfig,
): Event[] {
  return changes
    .filter((change) => isEventFor(change, subscriber, config))
    .map(eventFor)
    .filter((event) => !known.has(eventKey(event)))
    .map((event, index) => ({ ...event, number: last + index + 1 }));
}
