import type { Task } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';

/** Code of the Tasks that remember appointments which are about to be deleted, in the CodeSystem LocalTask. */
export const DELETION = 'deletion';

/** After how many milliseconds a deletion that was not processed counts as left over. */
const OVERDUE = 5_000;

/**
 * After how many milliseconds an appointment that still exists counts as not deleted: the write after the check has
 * failed.
 */
const FAILED = 10 * 60_000;

/** How many deletions that were left over are processed in one go. */
const AT_ONCE = '20';

/**
 * The Task that is written before an appointment is deleted. Medplum does not find deleted resources: without the Task, a
 * deletion whose job is lost would be told to no one.
 *
 * @param id - of the appointment
 */
export function deletionTask(id: string, config: ArtefactConfig): Task {
  return {
    resourceType: 'Task',
    status: 'requested',
    intent: 'order',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: DELETION }] },
    description: 'The slots and subscribers of an appointment follow its deletion',
    focus: { reference: `Appointment/${id}` },
  };
}

const search = (config: ArtefactConfig, more: Record<string, string>): string =>
  `Task?${new URLSearchParams({ code: `${artefactUri(config, 'LocalTask')}|${DELETION}`, ...more })}`;

/** The search for the deletions of one appointment. */
export const deletionsOf = (id: string, config: ArtefactConfig): string =>
  search(config, { focus: `Appointment/${id}` });

/**
 * The search for deletions that should have been processed by now, the oldest first.
 *
 * @param now - milliseconds since 1970 UTC
 */
export const overdueDeletions = (now: number, config: ArtefactConfig): string =>
  search(config, { _lastUpdated: `lt${formatInstant(now - OVERDUE)}`, _sort: '_lastUpdated', _count: AT_ONCE });

/** The id of the appointment that a Task remembers. */
export const deletedId = ({ focus }: Task): string => focus?.reference?.split('/')[1] ?? '';

/** Whether a deletion failed after it was checked, given that its appointment still exists. */
export function hasFailed({ meta }: Task, now: number): boolean {
  return Date.parse(meta?.lastUpdated ?? '') < now - FAILED;
}
