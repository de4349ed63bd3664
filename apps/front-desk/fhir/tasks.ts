import type { Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';

/** Codes of the CodeSystem LocalTask: Tasks for staff, and messages to people. */
type TaskCode = 'confirm' | 'undelivered' | 'affected' | 'absence' | 'outboxes' | 'message';

/** The value of a search parameter for a code of LocalTask. */
export const taskToken = (code: TaskCode, config: PublicConfig): string =>
  `${artefactUri(config, 'LocalTask')}|${code}`;

/** Whether a Task has a code of LocalTask. */
export const isTask = ({ code }: Task, wanted: TaskCode, config: PublicConfig): boolean =>
  code?.coding?.some(({ system, code: its }) => `${system}|${its}` === taskToken(wanted, config)) ?? false;

/** The value of `status` in a search for open Tasks. Staff may accept them or put them on hold. */
export const OPEN = 'draft,requested,received,accepted,ready,in-progress,on-hold';
