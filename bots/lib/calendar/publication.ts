import type { MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { publishedPeriod } from '../../../core/calendar/publish/offers.ts';
import {
  type Publication,
  publicationIn,
  publicationQuery,
  publicationTask,
  windowsFrom,
} from '../../../core/calendar/publish/publication.ts';
import { DAY } from '../../../core/calendar/time/time-zone.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { updateEntry } from '../../../core/fhir/update-entry.ts';
import { config } from '../config.ts';
import { retryOvertaken, sendTransaction } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { type OpeningHours, readOpeningHours } from './opening-hours.ts';
import { type Guard, publishWindow } from './window.ts';

/** However long a calendar is, nothing is looked for beyond this, in milliseconds. */
const FURTHEST = 2 * 366 * DAY;

/** A publication and the Task that keeps it, in the version that was read or written last. */
interface StoredPublication {
  readonly task: Task;
  readonly publication: Publication;
}

/** The end of what is published, or was. */
async function endOf(medplum: MedplumClient, { schedule, publishing }: OpeningHours, now: number): Promise<number> {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const periods = calendars.map(({ parameters }) =>
    publishedPeriod(schedule, parameters.timeZone, now, config.calendar.horizonWeeks),
  );
  const query = new URLSearchParams({
    schedule: `Schedule/${schedule.id}`,
    status: 'free',
    _sort: '-start',
    _count: '1',
  });
  const [found] = await readInBatch(medplum, [`Slot?${query}`]);
  const last = Date.parse(ofType('Slot', found)[0]?.start ?? '') || now;
  return Math.min(now + FURTHEST, Math.max(last + DAY, ...periods.map(({ value }) => value?.end ?? now)));
}

/** Writes a publication if nobody else has done so meanwhile. */
async function write(
  medplum: MedplumClient,
  { task }: StoredPublication,
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

/** Lets each portion of Slots be written only as long as nobody else is about the same Schedule. */
function guardOf(stored: StoredPublication): Guard & { readonly current: () => StoredPublication } {
  let current = stored;
  let count = 0;
  return {
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
    },
  };
}

/** Publishes the windows of a calendar one after the other; leaves the rest to the next run when its time is over. */
async function publishAll(
  medplum: MedplumClient,
  claimed: StoredPublication,
  hours: OpeningHours,
  deadline: number,
): Promise<void> {
  const now = Date.now();
  const end = await endOf(medplum, hours, now);
  let stored = claimed;
  for (const window of windowsFrom(Math.max(stored.publication.from ?? 0, now - DAY), end)) {
    if (Date.now() > deadline) {
      await write(medplum, stored, { ...stored.publication, status: 'requested', from: window.start });
      return;
    }
    const guard = guardOf(stored);
    const result = await publishWindow(medplum, hours, window, guard);
    stored = guard.current();
    if (result === 'overtaken') {
      // A concurrent booking or request changed it: the next run reads the current state.
      await write(medplum, stored, { ...stored.publication, status: 'requested', from: window.start });
      return;
    }
    if (result !== 'published') {
      throw new Error(`The Slots of Schedule/${hours.schedule.id} could not be written (${result}).`);
    }
  }
  const problems = hours.publishing.kind === 'kept' ? hours.publishing.problems : [];
  const status = problems.length > 0 ? 'failed' : 'completed';
  await write(medplum, stored, { ...stored.publication, status, from: end, problems });
}

/**
 * Publishes the opening hours of a Schedule as far as the time allows. What is left stays requested, and starts the next
 * run. A run that dies leaves it in progress, and the clock finds it.
 *
 * @param task - the publication
 * @param deadline - after it nothing more is begun, milliseconds since 1970
 * @throws Error when the server could not be read or written
 */
export async function workOn(medplum: MedplumClient, task: Task, deadline: number): Promise<void> {
  const publication = publicationIn(task);
  if (!publication) {
    return;
  }
  const hours = await readOpeningHours(medplum, publication.schedule);
  const from =
    publication.status === 'requested' || publication.status === 'in-progress' ? publication.from : undefined;
  const next: Publication = { schedule: publication.schedule, status: hours ? 'in-progress' : 'completed', from };
  const claimed = await write(medplum, { task, publication }, next);
  if (claimed && hours) {
    await publishAll(medplum, claimed, hours, deadline);
  }
}

async function requestOnce(medplum: MedplumClient, schedule: string): Promise<boolean> {
  const query = publicationQuery({ focus: `Schedule/${schedule}` }, config);
  const [found] = await readInBatch(medplum, [query]);
  const [task] = ofType('Task', found);
  const resource = publicationTask({ schedule, status: 'requested' }, config);
  if (task?.status === 'requested' && !publicationIn(task)?.from) {
    return true;
  }
  const entry = task
    ? updateEntry(task, { ...resource, id: task.id, meta: task.meta })
    : { request: { method: 'POST' as const, url: 'Task', ifNoneExist: query.replace('Task?', '') }, resource };
  const { kind } = await sendTransaction(medplum, [entry]);
  if (kind !== 'done' && kind !== 'overtaken') {
    throw new Error(`The publication of Schedule/${schedule} could not be requested (${kind}).`);
  }
  return kind === 'done';
}

/**
 * Asks for the publication of a whole calendar from now on; it begins as soon as Medplum has seen the request.
 *
 * @throws Error when it could not be requested
 */
export async function requestPublication(medplum: MedplumClient, schedule: string): Promise<void> {
  const isRequested = await retryOvertaken(
    () => requestOnce(medplum, schedule),
    (done) => !done,
    { most: config.maxAttempts },
  );
  if (!isRequested) {
    throw new Error(`The publication of Schedule/${schedule} could not be requested: others were faster each time.`);
  }
}
