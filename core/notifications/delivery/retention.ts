import { artefactUri, type BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { outboxCodeQuery } from './outbox.ts';

const DAY = 24 * 60 * 60_000;

type RetentionConfig = Pick<BookingConfig, 'uris' | 'notifications'>;

/**
 * The moment from which on changes can be events. An earlier change may have had an event that is no longer kept, and
 * must not get a second one.
 *
 * @param since - when the subscriber began to listen; milliseconds since 1970 UTC, like `now`
 */
export function recordedSince(
  since: number,
  now: number,
  { notifications }: Pick<BookingConfig, 'notifications'>,
): number {
  return Math.max(since, now - notifications.keepEventsDays * DAY);
}

/**
 * The search value for changes so long ago that their events can go: a day longer than changes can still become events.
 */
function before(now: number, { notifications }: RetentionConfig): string {
  return `lt${formatInstant(now - (notifications.keepEventsDays + 1) * DAY)}`;
}

/**
 * The search for delivered events that are no longer kept, the oldest first.
 *
 * @param now - milliseconds since 1970 UTC
 * @param count - the most that are wanted
 */
export function oldEventsQuery(now: number, count: number, config: RetentionConfig): string {
  const query = new URLSearchParams([
    ['identifier', `${artefactUri(config, 'LocalEvent')}|`],
    ['status', 'completed'],
    ['sent', before(now, config)],
    ['_sort', 'sent'],
    ['_count', String(count)],
    ['_fields', 'id'],
  ]);
  return `Communication?${query}`;
}

/** How a Subscription ended. */
export type Ending = 'deleted' | 'off';

/**
 * The searches for leftovers of an ended Subscription that are no longer needed: everything if it was deleted; otherwise
 * the message of its websockets, which has no time, and events that were never delivered and are no longer kept.
 */
export const leftoverQueries: Readonly<
  Record<Ending, (subscriptionId: string, now: number, count: number, config: RetentionConfig) => string[]>
> = {
  deleted: (id, _, count) => [`Communication?part-of=Subscription/${id}&_count=${count}&_fields=id`],
  off: (id, now, count, config) => [
    `Communication?part-of=Subscription/${id}&sent:missing=true&_count=${count}&_fields=id`,
    `Communication?part-of=Subscription/${id}&sent=${before(now, config)}&_count=${count}&_fields=id`,
  ],
};

/** The search for all outboxes, a page of them. */
export function allOutboxesQuery(count: number, offset: number, config: RetentionConfig): string {
  return `Task?${outboxCodeQuery(config)}&_sort=_id&_count=${count}&_offset=${offset}`;
}
