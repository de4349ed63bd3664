import type { MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { FURTHEST, publishedPeriod } from '../../../core/calendar/publish/offers.ts';
import type { Pace } from '../../../core/calendar/publish/pace.ts';
import {
  type Publication,
  publicationIn,
  publicationTask,
  windowsFrom,
} from '../../../core/calendar/publish/publication.ts';
import { formatInstant, parseInstant } from '../../../core/fhir/instant.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { updateEntry } from '../../../core/fhir/update-entry.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { config } from '../config.ts';
import { sendTransaction } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { type OpeningHours, readOpeningHours } from './opening-hours.ts';
import { type Guard, publishWindow, type WindowResult } from './window.ts';

/** What a turn is like; the rest after it is up to the caller. */
type Turn = Pick<Pace, 'turn' | 'portion'>;

/** A publication and the Task that keeps it, in the version that was read or written last. */
interface StoredPublication {
  readonly task: Task;
  readonly publication: Publication;
}

/** The end of what is to be published by now, in milliseconds since 1970 UTC; `undefined` if nothing is. */
export function publishedUntil({ schedule, publishing }: OpeningHours, now: number): number | undefined {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const ends = calendars.flatMap(
    ({ parameters }) =>
      publishedPeriod(schedule, parameters.timeZone, now, config.calendar.horizonWeeks).value?.end ?? [],
  );
  return ends.length > 0 ? Math.max(...ends) : undefined;
}

/** How many of the last Slots are asked for: for one alone PostgreSQL looks at those of all Schedules, the last first. */
const LAST = 20;

/** The end of what is published, or was, and of what was offered by hand. */
async function endOf(medplum: MedplumClient, hours: OpeningHours, now: number): Promise<number> {
  const end = publishedUntil(hours, now) ?? now;
  const query = new URLSearchParams({
    schedule: `Schedule/${hours.schedule.id}`,
    'status:not': 'entered-in-error',
    start: `ge${formatInstant(end)}`,
    _sort: '-start',
    _count: `${LAST}`,
  });
  const [found] = await readInBatch(medplum, [`Slot?${query}`]);
  const last = parseInstant(ofType('Slot', found)[0]?.start);
  return Math.min(now + FURTHEST, last === undefined ? end : last + DAY);
}

/**
 * Writes a publication unless it was changed in the meantime.
 *
 * @returns `undefined` if it was changed
 */
export async function writePublication(
  medplum: MedplumClient,
  task: Task,
  publication: Publication,
): Promise<StoredPublication | undefined> {
  const { id, meta } = task;
  const resource: Task = { ...publicationTask(publication, config), id, meta };
  const answer = await sendTransaction(medplum, [updateEntry(task, resource)]);
  const written = answer.kind === 'done' ? answer.bundle.entry?.[0]?.resource : undefined;
  if (answer.kind !== 'done' && answer.kind !== 'overtaken') {
    throw new Error(`Task/${id} could not be written (${answer.kind}).`);
  }
  return isResource(written, 'Task') ? { task: written, publication } : undefined;
}

/** Allows a portion of Slots to be written only while no other run publishes the same Schedule. */
function guardOf(
  stored: StoredPublication,
  deadline: number,
  portion: number,
): Guard & { readonly current: () => StoredPublication } {
  let current = stored;
  let count = 0;
  return {
    portion,
    current: () => current,
    entry: () => {
      const resource: Task = {
        ...publicationTask(current.publication, config),
        id: current.task.id,
        meta: current.task.meta,
      };
      // A Task that is written unchanged would keep its version, and guard nothing.
      count += 1;
      return [updateEntry(current.task, { ...resource, description: `Portion ${count}` })];
    },
    written: ({ entry = [] }) => {
      const task = entry.at(-1)?.resource;
      current = isResource(task, 'Task') ? { ...current, task } : current;
      return Date.now() < deadline;
    },
  };
}

const unfinished: WindowResult = { kind: 'unfinished', problems: [] };

/** What is left of a publication when a window was not finished, or not even begun. */
function left(publication: Publication, from: number, { kind }: WindowResult): Publication {
  // A concurrent booking or request has changed something: it is read again at once.
  return { ...publication, status: kind === 'overtaken' ? 'requested' : 'accepted', from };
}

/**
 * Publishes the windows of a calendar one after the other, as far as the time allows.
 *
 * @returns whether something is left for another turn
 */
async function publishAll(
  medplum: MedplumClient,
  claimed: StoredPublication,
  hours: OpeningHours,
  { turn, portion }: Turn,
): Promise<boolean> {
  const now = Date.now();
  const deadline = now + turn;
  const end = await endOf(medplum, hours, now);
  let stored = claimed;
  let hasBegun = false;
  let problems = hours.publishing.kind === 'kept' ? hours.publishing.problems : [];
  for (const window of windowsFrom(Math.max(stored.publication.from ?? 0, now - DAY), end, hours.publishing)) {
    const guard = guardOf(stored, deadline, portion);
    const isLate = hasBegun && Date.now() > deadline;
    hasBegun = true;
    const result = isLate ? unfinished : await publishWindow(medplum, hours, window, guard);
    const { kind, problems: found } = result;
    stored = guard.current();
    problems = found.length > 0 ? found : problems;
    if (kind === 'refused') {
      await writePublication(medplum, stored.task, { ...stored.publication, status: 'failed', problems });
      return false;
    }
    if (kind === 'unfinished' || kind === 'overtaken') {
      await writePublication(medplum, stored.task, left(stored.publication, window.start, result));
      return true;
    }
    if (kind !== 'published') {
      throw new Error(`The Slots of Schedule/${hours.schedule.id} could not be written (${kind}).`);
    }
  }
  const status = problems.length > 0 ? 'failed' : 'completed';
  await writePublication(medplum, stored.task, { ...stored.publication, status, from: end, problems });
  return false;
}

/** Starts a calendar again from its beginning if the resources it is made from have changed since. */
function resumed(stored: StoredPublication, { status }: Publication, hours: OpeningHours): StoredPublication {
  const { from, inputs } = stored.publication;
  const isBegun = status !== 'completed' && status !== 'failed' && inputs === hours.inputs;
  const publication = { ...stored.publication, from: isBegun ? from : undefined, inputs: hours.inputs };
  return { ...stored, publication };
}

/**
 * Publishes the opening hours of a Schedule for one turn. What is left stays accepted. A run that dies leaves it in
 * progress, and the clock finds it.
 *
 * @param task - the publication
 * @returns whether something is left for another turn
 * @throws Error when the server could not be read or written
 */
export async function workOn(medplum: MedplumClient, task: Task, turn: Turn): Promise<boolean> {
  const publication = publicationIn(task);
  if (!publication) {
    return false;
  }
  // Claimed before anything is read: what changes later finds a run that has read something else.
  const claimed = await writePublication(medplum, task, { ...publication, status: 'in-progress' });
  if (!claimed) {
    return false;
  }
  const hours = await readOpeningHours(medplum, publication.schedule);
  if (!hours) {
    await writePublication(medplum, claimed.task, { schedule: publication.schedule, status: 'completed' });
    return false;
  }
  return publishAll(medplum, resumed(claimed, publication, hours), hours, turn);
}
