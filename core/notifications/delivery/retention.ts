import type { Communication } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { eventNumbersOf } from '../events/event.ts';
import type { Outbox } from './outbox.ts';

const DAY = 24 * 60 * 60_000;

/**
 * The moment after which changes can be events. The event of an earlier change may have been deleted and must not be
 * recorded again. `since` is the start of the Subscription.
 */
export function recordedSince(since: number, now: number, { notifications }: BookingConfig): number {
  return Math.max(since, now - notifications.keepEventsDays * DAY);
}

/** The search value for old changes, whose events can be deleted: a day longer than changes can still become events. */
function before(now: number, { notifications }: BookingConfig): string {
  return `lt${formatInstant(now - (notifications.keepEventsDays + 1) * DAY)}`;
}

/** The search for events to delete; `now` in milliseconds since 1970 UTC. */
export function oldEventsQuery(now: number, config: BookingConfig): string {
  const query = new URLSearchParams([
    ['identifier', `${artefactUri(config, 'LocalEvent')}|`],
    ['sent', before(now, config)],
    ['_fields', 'id,identifier,meta'],
  ]);
  return `Communication?${query}`;
}

/** Whether an open Subscription still waits for an event. */
export function isAwaited(
  stored: Communication,
  outboxes: ReadonlyMap<string, Outbox>,
  config: BookingConfig,
): boolean {
  return [...eventNumbersOf(stored, config)].some(([id, number]) => {
    const outbox = outboxes.get(id);
    return outbox !== undefined && outbox.status !== 'cancelled' && number > outbox.delivered;
  });
}
