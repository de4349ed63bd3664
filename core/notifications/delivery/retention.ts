import type { Communication } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { eventNumbersOf } from '../events/event.ts';
import type { Outbox } from './outbox.ts';

const DAY = 24 * 60 * 60_000;

/**
 * The moment from which on changes can be events. An earlier change may have had an event that is no longer kept, and
 * must not get a second one.
 *
 * @param since - when the subscriber began to listen; milliseconds since 1970 UTC, like `now`
 */
export function recordedSince(since: number, now: number, { notifications }: BookingConfig): number {
  return Math.max(since, now - notifications.keepEventsDays * DAY);
}

/**
 * The search value for changes so long ago that their events can go: a day longer than changes can still become events.
 */
function before(now: number, { notifications }: BookingConfig): string {
  return `lt${formatInstant(now - (notifications.keepEventsDays + 1) * DAY)}`;
}

/**
 * The search for events that are no longer kept.
 *
 * @param now - milliseconds since 1970 UTC
 */
export function oldEventsQuery(now: number, config: BookingConfig): string {
  const query = new URLSearchParams([
    ['identifier', `${artefactUri(config, 'LocalEvent')}|`],
    ['sent', before(now, config)],
    ['_fields', 'id,identifier,meta'],
  ]);
  return `Communication?${query}`;
}

/** Whether a Subscription still waits for an event: it is not over, and has not got it yet. */
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
