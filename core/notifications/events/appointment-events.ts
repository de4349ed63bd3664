import type { Appointment, Bundle } from '@medplum/fhirtypes';
import { isHold, isPersonalOffer } from '../../booking/appointment/expiry.ts';
import type { BookingConfig } from '../../config/config.ts';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';

import { isResource, isSameJson } from '../../fhir/resource.ts';
import { belongsTo, changedBy, isByService } from '../../fhir/tags.ts';
import { type FormerOf, matchesFilter } from '../subscription/filter.ts';
import type { SubscriptionParameters } from '../subscription/subscription-parameters.ts';
import { type Topic, type TopicName, type Transition, topics } from '../subscription/topics.ts';
import { type Event, type EventFacts, eventKey } from './event.ts';

export interface Change extends Transition {
  readonly by: string | undefined;
  /** The versions of the change before its Slots followed. */
  readonly earlier?: readonly Appointment[];
}

export interface Subscriber {
  readonly owner: string;
  readonly settings: SubscriptionParameters;
  /** Changes after this moment are events; milliseconds since 1970 UTC. */
  readonly since: number;
  /** Returns the merged patients that the subscriber may know. */
  readonly formerOf?: FormerOf;
}

/** An entry of a history: a version, or the instant of the deletion. */
export type Version = Appointment | { readonly deleted: string };

export const isDeletion = (version: Version | undefined): version is { readonly deleted: string } =>
  version !== undefined && 'deleted' in version;

/** The history has the time of a deletion as text, in whole seconds. */
const SECOND = 1_000;

/**
 * The entries of a history, the newest first. Depending on its version, Medplum marks a deletion by the method or only
 * by status 410.
 */
export function versionsIn({ entry = [] }: Bundle, now: number): Version[] {
  return entry.flatMap(({ request, response, resource }): Version[] => {
    if (isResource(resource, 'Appointment')) {
      return [resource];
    }
    const outcome: unknown = response?.outcome;
    const text = isResource(outcome, 'OperationOutcome') ? outcome.issue[0]?.details?.text : undefined;
    const [, deletedOn = ''] = /^Deleted on (.+)$/.exec(text ?? '') ?? [];
    const deleted = Math.min(now, (Date.parse(deletedOn) || now) + SECOND - 1);
    const isGone = request?.method === 'DELETE' || response?.status.startsWith('410');
    return isGone ? [{ deleted: formatInstant(deleted) }] : [];
  });
}

/** Whether the service has only given an appointment other Slots: they follow the change before. */
function isFollowUp(version: Appointment, previous: Appointment, config: BookingConfig): boolean {
  const rest = (appointment: Appointment) => ({ ...appointment, slot: undefined, meta: undefined });
  const { author } = version.meta ?? {};
  const isUnmarked =
    author !== undefined &&
    changedBy(version.meta, previous.meta?.versionId, config) === author.reference?.split('/')[1];
  return isUnmarked && isByService(version.meta, config) && isSameJson(rest(version), rest(previous));
}

/**
 * The changes of an appointment, the oldest first. The author of a deletion is unknown. If older `versions` exist
 * (`isCut`), the oldest one has no known change.
 */
export function changesOf(versions: readonly Version[], config: BookingConfig, isCut = false): Change[] {
  const changes: Change[] = [];
  let previous: Appointment | undefined;
  for (const [index, version] of versions.toReversed().entries()) {
    const last = changes.at(-1);
    if (isDeletion(version)) {
      changes.push(...(previous ? [{ previous, current: previous, by: undefined, deleted: version.deleted }] : []));
    } else if (last && previous === last.current && !last.deleted && isFollowUp(version, previous, config)) {
      changes.splice(-1, 1, { ...last, current: version, earlier: [...(last.earlier ?? []), previous] });
    } else if (index > 0 || !isCut) {
      changes.push({ previous, current: version, by: changedBy(version.meta, previous?.meta?.versionId, config) });
    }
    previous = isDeletion(version) ? undefined : version;
  }
  return changes;
}

function isRequestor(by: string | undefined, appointment: Appointment, config: PublicConfig): boolean {
  return by !== undefined && belongsTo(appointment, by, config);
}

/**
 * Whether a change belongs to a topic. Holds are not notified, only their booking. A personal offer has its own topic
 * and belongs to no other.
 */
function isOfTopic(change: Change, name: TopicName, config: PublicConfig): boolean {
  const { previous, current } = change;
  const topic: Topic = topics[name];
  const wasHold = previous === undefined || isHold(previous, config);
  const isOfHold = isHold(current, config) && wasHold;
  return name === 'appointment-offer' ? isPersonalOffer(current, config) : !isOfHold && topic.covers(change);
}

/**
 * Whether a subscriber is notified of a change, access rights aside. The requestor's own booking is not an event. Later
 * changes, and appointments that the clinic creates, are events for every subscriber except the author. The author gets
 * them only on request.
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

/** The event of a change, with the version of `current`: its result or an earlier version of it. */
function eventFor({ previous, deleted }: Change, current: Appointment): EventFacts {
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
 * @param stored - the recorded events, by `eventKey`
 * @param lastNumber - number of the subscriber's last event
 */
export function newEvents(
  changes: readonly Change[],
  subscriber: Subscriber,
  stored: ReadonlySet<string>,
  lastNumber: number,
  config: PublicConfig,
): Event[] {
  return changes
    .filter((change) => isEventFor(change, subscriber, config))
    .filter((change) =>
      [change.current, ...(change.earlier ?? [])].every((version) => !stored.has(eventKey(eventFor(change, version)))),
    )
    .map((change, index) => ({ ...eventFor(change, change.current), number: lastNumber + index + 1 }));
}
