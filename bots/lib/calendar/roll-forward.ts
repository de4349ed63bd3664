import { setTimeout as wait } from 'node:timers/promises';
import type { MedplumClient } from '@medplum/core';
import type { Schedule, Task } from '@medplum/fhirtypes';
import { offersAllServices } from '../../../core/calendar/parameters/schedule-calendar.ts';
import { atOnce, type Pace, paceOf, QUIET_AFTER, soon, usedAfter } from '../../../core/calendar/publish/pace.ts';
import {
  type Publication,
  publicationIn,
  publicationQuery,
  publicationTask,
  turnsOf,
} from '../../../core/calendar/publish/publication.ts';
import {
  dueOf,
  type RollForward,
  rollForwardIn,
  rollForwardTask,
} from '../../../core/calendar/publish/roll-forward.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { idIn } from '../../../core/fhir/reference/reference.ts';
import { serviceIdsOf } from '../../../core/fhir/reference/service-reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { updateEntry } from '../../../core/fhir/update-entry.ts';
import { config } from '../config.ts';
import { sendBundle, sendTransaction } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { readOpeningHoursOf } from './opening-hours.ts';
import { publishedUntil, workOn } from './publication.ts';

/** How many Schedules are read at a time. */
const LOOK = 50;

/** How many Schedules are put in line at a time, with rests in between while bookings are being made. */
const PORTION = 10;

/** How many Schedules of the line are read at a time. */
const PAGE = 200;

/** How many resources one search returns at most. */
const COUNT = 1000;

/** Whether a Schedule names services, and so may have opening hours. */
export const takesPart = (schedule: Schedule): boolean =>
  offersAllServices(schedule) || serviceIdsOf(schedule).length > 0;

/** The search that finds something if an appointment was booked or changed lately. */
const bookedLately = (): string =>
  `Appointment?${new URLSearchParams({ _lastUpdated: `gt${formatInstant(Date.now() - QUIET_AFTER)}`, _count: '1', _fields: 'id' })}`;

/** Those of the Schedules whose Slots were taken since an instant, or may have been. */
async function takenSince(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
  since: number | undefined,
): Promise<Set<string | undefined>> {
  if (since === undefined || schedules.length === 0) {
    return new Set();
  }
  const query = new URLSearchParams({
    schedule: schedules.map(({ id }) => `Schedule/${id}`).join(','),
    status: 'busy,busy-tentative,busy-unavailable',
    _lastUpdated: `gt${formatInstant(since)}`,
    _count: `${COUNT}`,
    _fields: 'schedule',
  });
  const [found] = await readInBatch(medplum, [`Slot?${query}`]);
  const slots = ofType('Slot', found);
  return new Set(
    slots.length < COUNT ? slots.map(({ schedule }) => idIn(schedule, 'Schedule')) : schedules.map(({ id }) => id),
  );
}

/** The Tasks that keep the publications of Schedules, or did until they were cancelled, by the Schedule's id. */
export async function publicationsOf(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
): Promise<ReadonlyMap<string | undefined, Task>> {
  const focus = schedules.map(({ id }) => `Schedule/${id}`).join(',');
  const query = publicationQuery({ focus, _count: `${COUNT}` }, config);
  const [found] = await readInBatch(medplum, schedules.length > 0 ? [query] : []);
  return new Map(ofType('Task', found).map((task) => [idIn(task.focus, 'Schedule'), task]));
}

/** Puts publications in line, each by itself: one that something else changes in the meantime is left alone. */
async function putInLine(
  medplum: MedplumClient,
  due: readonly Publication[],
  tasks: ReadonlyMap<string | undefined, Task>,
): Promise<void> {
  const entry = due.map((publication) => {
    const resource = publicationTask(publication, config);
    const task = tasks.get(publication.schedule);
    return task
      ? updateEntry(task, { ...resource, id: task.id, meta: task.meta })
      : {
          request: {
            method: 'POST' as const,
            url: 'Task',
            ifNoneExist: publicationQuery({ focus: `Schedule/${publication.schedule}` }, config).replace('Task?', ''),
          },
          resource,
        };
  });
  const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry });
  if (answer.kind !== 'done') {
    throw new Error(`The publications that are due could not be written (${answer.kind}).`);
  }
}

/** Leaves the server to others after some work, for as long as the pace says and the run has time. */
async function restAfter(began: number, { rest }: Pace, deadline: number): Promise<void> {
  const now = Date.now();
  await wait(Math.max(0, Math.min((now - began) * rest, deadline - now)));
}

/** Puts publications in line, a portion at a time with rests in between; all of them, even after the deadline. */
async function putAllInLine(
  medplum: MedplumClient,
  due: readonly Publication[],
  tasks: ReadonlyMap<string | undefined, Task>,
  pace: Pace,
  deadline: number,
): Promise<void> {
  for (let first = 0; first < due.length; first += PORTION) {
    const began = Date.now();
    await putInLine(medplum, due.slice(first, first + PORTION), tasks);
    await restAfter(began, pace, deadline);
  }
}

/**
 * Reads one page of Schedules, and puts in line those whose published Slots are out of date.
 *
 * @returns the offset of the next page, `undefined` after the last one
 */
async function lookThrough(
  medplum: MedplumClient,
  offset: number,
  since: number | undefined,
  deadline: number,
): Promise<number | undefined> {
  const [page, booked = []] = await readInBatch(medplum, [
    `Schedule?_sort=_id&_count=${LOOK}&_offset=${offset}`,
    bookedLately(),
  ]);
  const all = ofType('Schedule', page);
  const tasks = await publicationsOf(medplum, all);
  const schedules = all.filter((schedule) => takesPart(schedule) || tasks.has(schedule.id));
  const [hours, taken] = [
    schedules.length > 0 ? await readOpeningHoursOf(medplum, schedules) : [],
    await takenSince(medplum, schedules, since),
  ];
  const now = Date.now();
  const due = hours.flatMap((one) => {
    const { id } = one.schedule;
    const task = tasks.get(id);
    const standing = {
      publication: task && publicationIn(task),
      takesPart: takesPart(one.schedule),
      inputs: one.inputs,
      end: publishedUntil(one, now),
      wasTaken: taken.has(id),
    };
    return dueOf(id, standing) ?? [];
  });
  await putAllInLine(medplum, due, tasks, booked.length > 0 ? soon : atOnce, deadline);
  return all.length < LOOK ? undefined : offset + all.length;
}

async function write(medplum: MedplumClient, task: Task, pass: RollForward): Promise<Task | undefined> {
  const resource = { ...rollForwardTask(pass, config), id: task.id, meta: task.meta };
  const answer = await sendTransaction(medplum, [updateEntry(task, resource)]);
  const written = answer.kind === 'done' ? answer.bundle.entry?.[0]?.resource : undefined;
  if (answer.kind !== 'done' && answer.kind !== 'overtaken') {
    throw new Error(`Task/${task.id} could not be written (${answer.kind}).`);
  }
  return isResource(written, 'Task') ? written : undefined;
}

/** The Schedules that are in line, in the order of their turns, and whether bookings are being made. */
async function readLine(medplum: MedplumClient): Promise<{ tasks: Task[]; isBooked: boolean }> {
  const [line, booked = []] = await readInBatch(medplum, [
    publicationQuery({ status: 'accepted', _sort: '_lastUpdated', _count: `${PAGE}` }, config),
    bookedLately(),
  ]);
  return { tasks: turnsOf(ofType('Task', line)), isBooked: booked.length > 0 };
}

/** The result of the turns of a run. */
interface Turns {
  /** `unfinished`: time ran out. `ahead`: publishing has had its share, and others have the server for a while. */
  readonly result: 'finished' | 'unfinished' | 'ahead';
  readonly madeUpAt: number | undefined;
}

/** The status of the pass after each result. */
const statusAfter: Readonly<Record<Turns['result'], RollForward['status']>> = {
  finished: 'completed',
  unfinished: 'requested',
  ahead: 'in-progress',
};

/** Publishes the Schedules that are in line, in turns. */
async function workInTurns(
  medplum: MedplumClient,
  { madeUpAt: before }: RollForward,
  deadline: number,
): Promise<Turns> {
  const { publishingShare: share } = config.calendar;
  let madeUpAt = before;
  for (;;) {
    const { tasks, isBooked } = await readLine(medplum);
    if (tasks.length === 0) {
      return { result: 'finished', madeUpAt };
    }
    while (tasks.length > 0) {
      const began = Date.now();
      if (began >= deadline) {
        return { result: 'unfinished', madeUpAt };
      }
      const pace = paceOf({ isBooked, madeUpAt, now: began, share });
      if (!pace) {
        return { result: 'ahead', madeUpAt };
      }
      // One that cannot be written does not hold up the others: the clock takes it up again.
      const turns = tasks
        .splice(0, pace.concurrency)
        .map((task) => workOn(medplum, task, pace).catch((reason: unknown) => console.error(String(reason))));
      await Promise.all(turns);
      const now = Date.now();
      madeUpAt = isBooked ? usedAfter(now - began, { madeUpAt, now, share }) : madeUpAt;
      await restAfter(began, pace, deadline);
    }
  }
}

/**
 * Continues the pass through all Schedules: looks for those that are out of date, page by page, then publishes them. If
 * time runs out, what is left starts the next run. A run that dies, or has to wait, leaves the pass in progress, and the
 * clock finds it.
 *
 * @param task - the Task that keeps the pass
 * @param deadline - nothing more is begun after it; milliseconds since 1970
 * @throws Error when the server could not be read or written
 */
export async function rollForward(medplum: MedplumClient, task: Task, deadline: number): Promise<void> {
  const pass = rollForwardIn(task);
  const claimed = pass && (await write(medplum, task, { ...pass, status: 'in-progress' }));
  if (!claimed) {
    return;
  }
  let { offset } = pass;
  while (offset !== undefined && Date.now() < deadline) {
    offset = await lookThrough(medplum, offset, pass.lastBegan, deadline);
  }
  const { result, madeUpAt } =
    offset === undefined
      ? await workInTurns(medplum, pass, deadline)
      : { result: 'unfinished' as const, madeUpAt: pass.madeUpAt };
  await write(medplum, claimed, { ...pass, offset, madeUpAt, status: statusAfter[result] });
}
