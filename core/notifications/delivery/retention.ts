import { artefactUri, type BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { outboxCodeQuery } from './outbox.ts';

const DAY = 24 * 60 * 60_000;

type RetentionConfig = Pick<BookingConfig, 'uris' | 'notifications'>;

/**
 * From when on changes can be events. What happened earlier may have had an event that is not kept any more, and must
 * not have a second one.
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

/** What happened so long ago that its event can go: a day longer than changes can still become events. */
function before(now: number, { notifications }: RetentionConfig): string {
  return `lt${formatInstant(now - (notifications.keepEventsDays + 1) * DAY)}`;
}

/**
 * The search for delivered events that are kept no longer, the oldest first.
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
 * The searches for what a Subscription that is over has left and nobody needs: everything if it was deleted; else the
 * message of its websockets, which has no time, and events that were never delivered and are kept no longer.
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
