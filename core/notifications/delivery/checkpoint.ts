import type { Task } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';

/** Code of the Task with the time up to which the events of all changes are recorded, in the CodeSystem LocalTask. */
export const CHECKPOINT = 'announce';

/**
 * How far a run looks back behind the moment up to which all changes have their events, in milliseconds: a change that
 * was under way then is in the history by now, and clocks may differ a little.
 */
export const OVERLAP = 2 * 60_000;

/** How many changed appointments one run reads. */
export const CHANGED_AT_ONCE = 1000;

/** The Task that keeps the moment up to which all changes have their events. */
export function checkpointTask(until: number, config: ArtefactConfig, stored?: Task): Task {
  return {
    resourceType: 'Task',
    ...(stored?.id && { id: stored.id }),
    status: 'in-progress',
    intent: 'order',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: CHECKPOINT }] },
    description: 'All changes of appointments up to the end of this period have their events',
    executionPeriod: { end: formatInstant(until) },
  };
}

/**
 * The search for the appointments whose changes a run has to look at.
 *
 * @param stored - the checkpoint; absent in the first run, which looks back no further than the overlap
 * @param now - milliseconds since 1970 UTC
 */
export function changedQuery(stored: Task | undefined, now: number): string {
  const end = Date.parse(stored?.executionPeriod?.end ?? '');
  const from = (Number.isFinite(end) ? Math.min(end, now) : now) - OVERLAP;
  return `Appointment?_lastUpdated=ge${formatInstant(from)}&_sort=_lastUpdated&_count=${CHANGED_AT_ONCE}`;
}
