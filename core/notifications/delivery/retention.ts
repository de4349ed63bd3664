import type { Communication, Task } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { newRow, rowSearch } from '../../rows/row.ts';
import { eventNumbersOf } from '../events/event.ts';
import type { Outbox } from './outbox.ts';

/** The overlap of two runs, in milliseconds: changes were being written at the checkpoint, and clocks may differ. */
export const OVERLAP = 2 * 60_000;

/** The largest number of changed appointments in one run. */
export const MAX_CHANGED = 1000;

/** The progress of recording events: moments in milliseconds since 1970 UTC. */
export interface Recorded {
  /** Appointments whose last change was earlier have all their events. */
  readonly until: number;
  /** All earlier changes have their events, including those of appointments that have changed since. */
  readonly settled: number | undefined;
}

/** The Task that stores the progress of recording events. */
export function checkpointTask({ until, settled }: Recorded, config: PublicConfig, stored?: Task): Task {
  const more = {
    description:
      'All changes up to the start of this period have their events, and all appointments that have not changed since its end',
    executionPeriod: { ...(settled !== undefined && { start: formatInstant(settled) }), end: formatInstant(until) },
  };
  return newRow('event-all', { status: 'in-progress', ...more }, config, stored);
}

/** The moment before which all changes have their events; `undefined` until a run has recorded everything. */
export const settledAt = (stored: Task | undefined): number | undefined => parseInstant(stored?.executionPeriod?.start);

/**
 * The moment before which no change needs a check, overlap included; `listening` is the start of the first
 * Subscription.
 */
export const unsettledSince = (stored: Task | undefined, listening: number): number =>
  Math.max(listening, (settledAt(stored) ?? Number.NEGATIVE_INFINITY) - OVERLAP);

export const checkpointSearch = (config: PublicConfig): string => rowSearch(['event-all'], {}, config);

/** The search for appointments to check. Without a checkpoint, it looks back by the overlap only. */
export function changedQuery(stored: Task | undefined, now: number): string {
  const from = Math.min(parseInstant(stored?.executionPeriod?.end) ?? now, now) - OVERLAP;
  return `Appointment?_lastUpdated=ge${formatInstant(from)}&_sort=_lastUpdated&_count=${MAX_CHANGED}`;
}

const DAY = 24 * 60 * 60_000;

/**
 * The moment after which changes can be events. The event of an earlier change may have been deleted and must not be
 * recorded again. `since` is the start of the Subscription.
 */
export function recordedSince(since: number, now: number, { notifications }: BookingConfig): number {
  return Math.max(since, now - notifications.keepEventsDays * DAY);
}

/** The search value for old changes, whose events can be deleted: a day longer than changes can still become events. */
function deletableBefore(now: number, { notifications }: BookingConfig): string {
  return `lt${formatInstant(now - (notifications.keepEventsDays + 1) * DAY)}`;
}

/** The search for events to delete; `now` in milliseconds since 1970 UTC. */
export function oldEventsQuery(now: number, config: BookingConfig): string {
  const query = new URLSearchParams([
    ['identifier', `${artefactUri(config, 'LocalEvent')}|`],
    ['sent', deletableBefore(now, config)],
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
