import type { MedplumClient } from '@medplum/core';
import type { Schedule, Task } from '@medplum/fhirtypes';
import { outdated } from '../../../core/calendar/publish/due.ts';
import {
  publicationIn,
  publicationOf,
  publicationTask,
  type Sweep,
  sweepIn,
  sweepTask,
} from '../../../core/calendar/publish/publication.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { idIn, servesAll, serviceIdsOf } from '../../../core/fhir/reference.ts';
import { rowSearch } from '../../../core/rows/row.ts';
import { config } from '../config.ts';
import { sendBundle } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { RUN_LIMIT } from '../rows.ts';
import { readOpeningHoursOf } from './opening-hours.ts';
import { publishTurn, writeRow } from './publication.ts';
import { requestEntry, requestSweep } from './request.ts';

/** Number of Schedules that a run publishes at the same time. */
const CONCURRENCY = 2;

/** How long a run locks the queue unless it releases it, in milliseconds: a crashed run loses it after that. */
const BUSY = 2 * RUN_LIMIT;

const SWEEP_EVERY = 10 * 60_000;

const PAGE = 100;

const MARKED = 20;

/** Whether a Schedule names services, and so may have opening hours. */
const takesPart = (schedule: Schedule): boolean => servesAll(schedule) || serviceIdsOf(schedule).length > 0;

async function rowsOf(medplum: MedplumClient, schedules: readonly Schedule[]): Promise<Map<string | undefined, Task>> {
  const focus = schedules.map(({ id }) => `Schedule/${id}`).join(',');
  const query = rowSearch(['publish'], { focus, _count: '1000' }, config);
  const [found] = await readInBatch(medplum, schedules.length > 0 ? [query] : []);
  return new Map(ofType('Task', found).map((row) => [idIn(row.focus, 'Schedule'), row]));
}

/**
 * Marks the publication rows of Schedules as due if the opening hours, services or closed days have changed since.
 * @returns the marked rows
 * @throws Error when the server could not be read or written
 */
export async function markOutdated(medplum: MedplumClient, schedules: readonly Schedule[]): Promise<Task[]> {
  const rows = await rowsOf(medplum, schedules);
  const known = schedules.filter((schedule) => takesPart(schedule) || rows.has(schedule.id));
  const hours = known.length > 0 ? await readOpeningHoursOf(medplum, known) : [];
  const now = Date.now();
  const entries = hours.flatMap(({ schedule, services, inputs }) => {
    const row = rows.get(schedule.id);
    const state = { publication: row && publicationIn(row), takesPart: takesPart(schedule), inputs };
    const publication = outdated(schedule.id, state, now);
    const query = publicationOf(schedule.id, config);
    const named = services.flatMap(({ id }) => id ?? []);
    return publication ? [requestEntry(row, publicationTask({ ...publication, services: named }, config), query)] : [];
  });
  const marked: Task[] = [];
  for (let first = 0; first < entries.length; first += MARKED) {
    // A batch, not a transaction: a row that was changed in the meantime is skipped.
    const entry = entries.slice(first, first + MARKED);
    const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry });
    if (answer.kind !== 'done') {
      throw new Error(`The publications that are due could not be written (${answer.kind}).`);
    }
    marked.push(...(answer.bundle.entry ?? []).flatMap(({ resource }) => ofType('Task', resource ? [resource] : [])));
  }
  return marked;
}

/** Marks the changed Schedules of one page of the sweep, and stores where the sweep continues. */
async function sweepPage(medplum: MedplumClient, row: Task, sweep: Sweep): Promise<void> {
  const { began, offset } =
    sweep.offset === undefined ? { began: Date.now(), offset: 0 } : { ...sweep, offset: sweep.offset };
  const [page] = await readInBatch(medplum, [`Schedule?_sort=_id&_count=${PAGE}&_offset=${offset}`]);
  const schedules = ofType('Schedule', page);
  await markOutdated(medplum, schedules);
  const isOver = schedules.length < PAGE;
  const next = isOver ? { due: began + SWEEP_EVERY, offset: undefined } : { due: Date.now(), offset: offset + PAGE };
  // If another sweep was requested in the meantime, this write fails and the sweep starts again.
  await writeRow(medplum, row, sweepTask({ ...sweep, began, ...next }, config));
}

interface Queue {
  /** Rows whose nearest days are due; if there are none, the other due rows. The earliest due date comes first. */
  readonly rows: readonly Task[];
  /** `undefined` before the first sweep, and if somebody has cancelled or changed the row. */
  readonly sweep: { readonly row: Task; readonly value: Sweep } | undefined;
}

/** @param skipped - ids of rows that are left to other runs */
async function readQueue(medplum: MedplumClient, skipped: ReadonlySet<string | undefined>): Promise<Queue> {
  const due = { 'due-date': `le${formatInstant(Date.now())}`, _sort: 'due-date', _count: `${PAGE}` };
  const [sweeps, ...found] = await readInBatch(medplum, [
    rowSearch(['publish-all'], {}, config),
    rowSearch(['publish'], { status: 'requested,accepted', ...due }, config),
    rowSearch(['publish'], { status: 'in-progress,completed,failed', ...due }, config),
  ]);
  const [row] = ofType('Task', sweeps);
  const value = row && row.status !== 'cancelled' ? sweepIn(row) : undefined;
  const waiting = found.map((resources) => ofType('Task', resources).filter(({ id }) => !skipped.has(id)));
  return { rows: waiting.find(({ length }) => length > 0) ?? [], sweep: row && value && { row, value } };
}

/** A lock far in the future is ignored: the clock of its run was ahead. */
const isBusy = ({ busyUntil = 0 }: Sweep, now: number): boolean => busyUntil > now && busyUntil <= now + 2 * BUSY;

/** Publishes a slice of a row; `false` if it was not written. A failure is only logged: the row stays due. */
const publishSlice = (medplum: MedplumClient, row: Task, until: number): Promise<boolean> =>
  publishTurn(medplum, row, until).catch((reason: unknown) => {
    console.log(String(reason));
    return false;
  });

/**
 * Publishes due rows until the time limit of a run: first one slice of each row in `own`, then the queue, which only
 * one run at a time works on. If due rows are left, it starts the next run.
 * @param own - the rows that were requested or have just been marked
 * @throws Error when the server could not be read or written
 */
export async function publishDue(medplum: MedplumClient, own: readonly Task[]): Promise<void> {
  const until = Date.now() + RUN_LIMIT;
  for (const row of own) {
    await (Date.now() < until && publishSlice(medplum, row, until));
  }
  let hasLock = false;
  const skipped = new Set<string | undefined>();
  for (;;) {
    const { rows, sweep } = await readQueue(medplum, skipped);
    const now = Date.now();
    if (!sweep) {
      await requestSweep(medplum);
      continue;
    }
    const { row, value } = sweep;
    const isSwept = value.due > now;
    const hasWork = rows.length > 0 || !isSwept;
    if (!hasLock && (isBusy(value, now) || !hasWork)) {
      return;
    }
    if (!hasWork || now >= until) {
      // A request in the meantime has changed the row: then this write fails, and the queue is read again.
      const status = hasWork ? 'requested' : 'accepted';
      const unlocked = await writeRow(medplum, row, sweepTask({ ...value, status, busyUntil: undefined }, config));
      if (unlocked || now >= until + RUN_LIMIT / 2) {
        return;
      }
    } else if (!hasLock) {
      const locked = sweepTask({ ...value, status: 'accepted', busyUntil: now + BUSY }, config);
      hasLock = (await writeRow(medplum, row, locked)) !== undefined;
    } else if (!isSwept) {
      await sweepPage(medplum, row, value);
    } else {
      const tasks = rows.slice(0, CONCURRENCY);
      const done = await Promise.all(tasks.map((task) => publishSlice(medplum, task, until)));
      for (const [index, { id }] of tasks.entries()) {
        if (!done[index]) {
          skipped.add(id);
        }
      }
    }
  }
}
