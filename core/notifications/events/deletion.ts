import type { Task } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';

/** Code of the Tasks that remember appointments which are about to be deleted, in the CodeSystem LocalTask. */
export const DELETION = 'deletion';

/** The milliseconds after which a deletion that was not processed counts as left over. */
const OVERDUE = 5_000;

/**
 * After how many milliseconds an appointment that is still there was not deleted: the write after the check has failed.
 */
const FAILED = 10 * 60_000;

/** How many deletions that were left over are followed in one go. */
const AT_ONCE = '20';

/**
 * The Task that is written before an appointment is deleted. Medplum finds nothing deleted again: without it a deletion
 * whose job is lost would be told to nobody.
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
 * The search for deletions that should have been followed by now, the oldest first.
 *
 * @param now - milliseconds since 1970 UTC
 */
export const overdueDeletions = (now: number, config: ArtefactConfig): string =>
  search(config, { _lastUpdated: `lt${formatInstant(now - OVERDUE)}`, _sort: '_lastUpdated', _count: AT_ONCE });

/** The id of the appointment that a Task remembers. */
export const deletedId = ({ focus }: Task): string => focus?.reference?.split('/')[1] ?? '';

/** Whether a deletion has failed after it was checked, if its appointment is still there. */
export function hasFailed({ meta }: Task, now: number): boolean {
  return Date.parse(meta?.lastUpdated ?? '') < now - FAILED;
}
