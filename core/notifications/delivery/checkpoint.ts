import type { Task } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { newRow, rowSearch } from '../../rows/row.ts';

/**
 * How far a run looks back beyond the moment up to which all changes have their events, in milliseconds: a change that
 * was under way then is in the history by now, and clocks may differ a little.
 */
export const OVERLAP = 2 * 60_000;

/** How many changed appointments one run reads. */
export const MAX_CHANGED = 1000;

/** How far the events are recorded: moments in milliseconds since 1970 UTC. */
export interface Recorded {
  /** Appointments whose last change was earlier have all their events. */
  readonly until: number;
  /** All changes that were made earlier have their events, including those of appointments that have changed since. */
  readonly settled: number | undefined;
}

/** The Task that keeps track of how far the events of all changes are recorded. */
export function checkpointTask({ until, settled }: Recorded, config: PublicConfig, stored?: Task): Task {
  const more = {
    description:
      'All changes up to the start of this period have their events, and all appointments that have not changed since its end',
    executionPeriod: { ...(settled !== undefined && { start: formatInstant(settled) }), end: formatInstant(until) },
  };
  return newRow('announce', { status: 'in-progress', ...more }, config, stored);
}

/**
 * The moment before which all changes have their events.
 *
 * @param stored - the checkpoint
 * @returns milliseconds since 1970 UTC; `undefined` as long as no run has recorded everything
 */
export const settledAt = (stored: Task | undefined): number | undefined => parseInstant(stored?.executionPeriod?.start);

/**
 * The moment before which no change needs to be checked, overlap included.
 *
 * @param stored - the checkpoint
 * @param listening - when the first of the subscribers concerned began to listen
 */
export const unsettledSince = (stored: Task | undefined, listening: number): number =>
  Math.max(listening, (settledAt(stored) ?? Number.NEGATIVE_INFINITY) - OVERLAP);

/** The search for the checkpoint. */
export const checkpointSearch = (config: PublicConfig): string => rowSearch(['announce'], {}, config);

/**
 * The search for the appointments whose changes a run has to look at.
 *
 * @param stored - the checkpoint; absent in the first run, which looks back no further than the overlap
 * @param now - milliseconds since 1970 UTC
 */
export function changedQuery(stored: Task | undefined, now: number): string {
  const from = Math.min(parseInstant(stored?.executionPeriod?.end) ?? now, now) - OVERLAP;
  return `Appointment?_lastUpdated=ge${formatInstant(from)}&_sort=_lastUpdated&_count=${MAX_CHANGED}`;
}
