import type { Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';

/** What the Tasks for staff are about, and the messages to people: codes of the CodeSystem LocalTask. */
type TaskCode = 'confirm' | 'undelivered' | 'affected' | 'absence' | 'outboxes' | 'message';

/** The value of a search parameter for such a code. */
export const taskToken = (code: TaskCode, config: PublicConfig): string =>
  `${artefactUri(config, 'LocalTask')}|${code}`;

/** Whether a Task has such a code. */
export const isTask = ({ code }: Task, wanted: TaskCode, config: PublicConfig): boolean =>
  code?.coding?.some(({ system, code: its }) => `${system}|${its}` === taskToken(wanted, config)) ?? false;

/** The value of the search parameter `status` for Tasks that are open: staff take them and set them aside as they like. */
export const OPEN = 'draft,requested,received,accepted,ready,in-progress,on-hold';
