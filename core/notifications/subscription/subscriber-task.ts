import type { Task } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';

/** Code of the Task that stands for a subscriber, in the CodeSystem LocalTask. */
const SUBSCRIBER = 'subscriber';

type TaskConfig = ArtefactConfig;

const STARTED = 'started';

/**
 * The Task that stands for a subscriber: the one row that is changed, with `ifMatch`, by every transaction that creates
 * one of its Subscriptions or starts one anew. Thus no two of these transactions count the same Subscriptions, and the
 * limit holds.
 *
 * @param subscriber - id of the profile
 * @param stored - the Task as it was read, if there is one; the new one differs from it
 */
export function subscriberTask(subscriber: string, config: TaskConfig, stored?: Task): Task {
  const before = stored?.output?.find(({ type }) => type.text === STARTED)?.valueInteger;
  return {
    resourceType: 'Task',
    ...(stored?.id && { id: stored.id }),
    status: 'in-progress',
    intent: 'order',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: SUBSCRIBER }] },
    description: 'Keeps the number of Subscriptions of one subscriber within its limit',
    groupIdentifier: { system: artefactUri(config, 'LocalRequestor'), value: subscriber },
    output: [{ type: { text: STARTED }, valueInteger: before === undefined ? 0 : before + 1 }],
  };
}

/** The search for the Task of a subscriber, without the resource type. */
export function subscriberTaskSearch(subscriber: string, config: TaskConfig): string {
  const query = new URLSearchParams([
    ['code', `${artefactUri(config, 'LocalTask')}|${SUBSCRIBER}`],
    ['group-identifier', `${artefactUri(config, 'LocalRequestor')}|${subscriber}`],
  ]);
  return String(query);
}
