import type { Task } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import type { Publication } from './publication.ts';

/** Code of the Task of the pass through all Schedules, in the CodeSystem LocalTask. */
export const PUBLISH_ALL_TASK = 'publish-all';

/**
 * A pass through all Schedules: it finds those whose published Slots are out of date, and publishes them one after the
 * other. There is one in an installation, kept in a Task.
 */
export interface RollForward {
  /**
   * `requested`: it is to go on. `in-progress`: a run is working on it, or the clock will take it up. `completed`:
   * nothing is left to do.
   */
  readonly status: 'requested' | 'in-progress' | 'completed';
  /** How many Schedules it has looked at; absent once it has seen all of them. */
  readonly offset: number | undefined;
  /** When this pass began, and the one before it: milliseconds since 1970 UTC. */
  readonly began: number;
  readonly lastBegan: number | undefined;
  /** When publishing will have had no more than its share of the time (`Occasion.madeUpAt`). */
  readonly madeUpAt: number | undefined;
}

/** The search for the Task of the pass. */
export const rollForwardQuery = (config: ArtefactConfig): string =>
  `Task?${new URLSearchParams({ code: `${artefactUri(config, 'LocalTask')}|${PUBLISH_ALL_TASK}` })}`;

/** The Task in which the pass is kept. */
export function rollForwardTask(
  { status, offset, began, lastBegan, madeUpAt }: RollForward,
  config: ArtefactConfig,
): Task {
  return {
    resourceType: 'Task',
    status,
    intent: 'order',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: PUBLISH_ALL_TASK }] },
    input: [
      { type: { text: 'began' }, valueInstant: formatInstant(began) },
      ...(lastBegan !== undefined ? [{ type: { text: 'last' }, valueInstant: formatInstant(lastBegan) }] : []),
      ...(offset !== undefined ? [{ type: { text: 'offset' }, valueUnsignedInt: offset }] : []),
      ...(madeUpAt !== undefined ? [{ type: { text: 'made-up' }, valueInstant: formatInstant(madeUpAt) }] : []),
    ],
  };
}

const isStatus = (status: Task['status']): status is RollForward['status'] =>
  status === 'requested' || status === 'in-progress' || status === 'completed';

/** The pass that a Task keeps, or `undefined` if it does not keep one. */
export function rollForwardIn({ code, status, input = [] }: Task): RollForward | undefined {
  const inputNamed = (name: string) => input.find(({ type }) => type.text === name);
  const isPass = code?.coding?.some((coding) => coding.code === PUBLISH_ALL_TASK);
  const began = parseInstant(inputNamed('began')?.valueInstant);
  return isPass && began !== undefined && isStatus(status)
    ? {
        status,
        began,
        lastBegan: parseInstant(inputNamed('last')?.valueInstant),
        offset: inputNamed('offset')?.valueUnsignedInt,
        madeUpAt: parseInstant(inputNamed('made-up')?.valueInstant),
      }
    : undefined;
}

/**
 * The pass that begins now.
 *
 * @param last - the one before it, finished or not
 */
export function nextPass(last: RollForward | undefined, now: number): RollForward {
  const lastBegan = last?.offset === undefined ? last?.began : last.lastBegan;
  return { status: 'requested', offset: 0, began: now, lastBegan, madeUpAt: last?.madeUpAt };
}

/** What a pass knows of one Schedule. */
export interface Standing {
  readonly publication: Publication | undefined;
  /** Whether it has opening hours now. */
  readonly takesPart: boolean;
  /** What its publication would be made from now (`Publication.inputs`). */
  readonly inputs: string;
  /** The end of what is to be published by now; absent if nothing is. */
  readonly end: number | undefined;
  /** Whether one of its Slots was taken since the last pass. */
  readonly wasTaken: boolean;
}

/**
 * What is to be published of a Schedule, if anything: all of it if what it is made from has changed or one of its Slots
 * was taken; otherwise what the horizon has gained as time passed.
 *
 * @returns `undefined` if it is up to date, waiting, or being published
 */
export function dueOf(schedule: string, standing: Standing): Publication | undefined {
  const { publication, takesPart, inputs, end, wasTaken } = standing;
  const isInLine = publication?.status === 'requested' || publication?.status === 'accepted';
  const isChanged = publication?.inputs !== inputs;
  if (publication ? isInLine : !takesPart) {
    return undefined;
  }
  if (publication?.status === 'in-progress') {
    // That run has read the state before the change; it stops at its next write.
    return isChanged ? { schedule, status: 'accepted' } : undefined;
  }
  if (!publication || isChanged || wasTaken) {
    return { schedule, status: 'accepted' };
  }
  const { from = 0 } = publication;
  return end !== undefined && from < end ? { schedule, status: 'accepted', from, inputs } : undefined;
}
