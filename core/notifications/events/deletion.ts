import type { Task } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { newRow, rowSearch } from '../../rows/row.ts';

/** After how many milliseconds a deletion is overdue for processing. */
const OVERDUE = 5_000;

/** After how many milliseconds a deletion has failed if its appointment still exists. */
const FAILED = 10 * 60_000;

/**
 * The Task that is written before an appointment is deleted. Medplum does not find deleted resources. Without the Task,
 * no subscriber would be notified of a deletion whose job is lost.
 */
export function deletionTask(id: string, config: PublicConfig): Task {
  const description = 'The slots and subscribers of an appointment follow its deletion';
  return newRow('deletion', { status: 'requested', description, focus: { reference: `Appointment/${id}` } }, config);
}

/** The search for the deletions of one appointment. */
export const deletionsOf = (id: string, config: PublicConfig): string =>
  rowSearch(['deletion'], { focus: `Appointment/${id}` }, config);

/** The search for deletions that are overdue; `now` in milliseconds since 1970 UTC. */
export const overdueDeletions = (now: number, config: PublicConfig): string =>
  rowSearch(['deletion'], { _lastUpdated: `lt${formatInstant(now - OVERDUE)}` }, config);

/** The id of the appointment in a deletion Task. */
export const deletedId = ({ focus }: Task): string => focus?.reference?.split('/')[1] ?? '';

/** Whether a deletion failed after its check, given that its appointment still exists. */
export function hasFailed({ meta }: Task, now: number): boolean {
  return Date.parse(meta?.lastUpdated ?? '') < now - FAILED;
}
