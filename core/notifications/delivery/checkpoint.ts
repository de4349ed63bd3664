import type { Task } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { newRow, rowSearch } from '../../rows/row.ts';

/**
 * The overlap of two runs, in milliseconds: changes were being written at the checkpoint, and clocks may differ.
 */
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
  return newRow('announce', { status: 'in-progress', ...more }, config, stored);
}

/** The moment before which all changes have their events; `undefined` until a run has recorded everything. */
export const settledAt = (stored: Task | undefined): number | undefined => parseInstant(stored?.executionPeriod?.start);

/**
 * The moment before which no change needs a check, overlap included; `listening` is the start of the first
 * Subscription.
 */
export const unsettledSince = (stored: Task | undefined, listening: number): number =>
  Math.max(listening, (settledAt(stored) ?? Number.NEGATIVE_INFINITY) - OVERLAP);

/** The search for the checkpoint. */
export const checkpointSearch = (config: PublicConfig): string => rowSearch(['announce'], {}, config);

/**
 * The search for the appointments whose changes a run must check. Without a checkpoint, it looks back by the overlap
 * only.
 */
export function changedQuery(stored: Task | undefined, now: number): string {
  const from = Math.min(parseInstant(stored?.executionPeriod?.end) ?? now, now) - OVERLAP;
  return `Appointment?_lastUpdated=ge${formatInstant(from)}&_sort=_lastUpdated&_count=${MAX_CHANGED}`;
}
