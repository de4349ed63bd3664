import type { MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { FURTHEST, publishedPeriod } from '../../../core/calendar/publish/bookable-slots.ts';
import { nearestUntil, nextDay } from '../../../core/calendar/publish/due.ts';
import {
  type Publication,
  publicationIn,
  publicationTask,
  rowEntry,
  windowsFrom,
} from '../../../core/calendar/publish/publication.ts';
import { formatInstant, parseInstant } from '../../../core/fhir/instant.ts';
import { canonicalJson, isResource } from '../../../core/fhir/resource.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { config } from '../config.ts';
import { MAX_ATTEMPTS } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { writeRows } from '../rows.ts';
import { goneHours, type KeyedHours, readOpeningHours } from './opening-hours.ts';
import { publicationRow } from './request.ts';
import { publishWindow, type WindowResult } from './window.ts';

/** Tolerance of the search for Slots that became busy, in milliseconds: clocks may differ. */
const TOLERANCE = 60_000;

/** Page size of the search for the last Slot: for a page of one, PostgreSQL scans the Slots of all Schedules. */
const LAST = 20;

/** Writes a publication row unless it was changed in the meantime (`writeRows`). */
export const writeRow = (medplum: MedplumClient, row: Task, changed: Task): Promise<Task | undefined> =>
  writeRows(medplum, [rowEntry(row, Date.now(), config, changed)], `Task/${row.id}`);

/** The time that must be published by now, in milliseconds since 1970 UTC; `undefined` if publishing is off. */
function publishedTime({ schedule, publishing }: KeyedHours, now: number): Interval | undefined {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const periods = calendars.flatMap(
    ({ parameters }) => publishedPeriod(schedule, parameters.timeZone, now, config.calendar.horizonWeeks).value ?? [],
  );
  return periods.length === 0
    ? undefined
    : {
        start: Math.min(...periods.map(({ start }) => start)),
        end: Math.max(...periods.map(({ end }) => end)),
      };
}

/** The search for the last Slots after the end of the published time. */
const lastSlots = ({ schedule }: KeyedHours, end: number): string =>
  `Slot?${new URLSearchParams({
    schedule: `Schedule/${schedule.id}`,
    'status:not': 'entered-in-error',
    start: `ge${formatInstant(end)}`,
    _sort: '-start',
    _count: `${LAST}`,
  })}`;

/** The search for a Slot of the Schedule that became busy since an instant. */
const takenSlots = ({ schedule }: KeyedHours, since: number): string =>
  `Slot?${new URLSearchParams({
    schedule: `Schedule/${schedule.id}`,
    status: 'busy,busy-tentative,busy-unavailable',
    _lastUpdated: `gt${formatInstant(since - TOLERANCE)}`,
    _count: '1',
    _fields: 'id',
  })}`;

/**
 * The publication row of a run. Each transaction updates the version that was read, so that one of two concurrent runs
 * fails as a whole. The row stays due if a run crashes.
 */
class Progress {
  readonly medplum: MedplumClient;
  row: Task;
  publication: Publication;

  constructor(medplum: MedplumClient, row: Task, publication: Publication) {
    this.medplum = medplum;
    this.row = row;
    this.publication = publication;
  }

  /** Locks the row in each transaction, so that no other run publishes the Schedule at the same time. */
  writing(until: number): Parameters<typeof publishWindow>[3] {
    return {
      row: () => [rowEntry(this.row, Date.now(), config, publicationTask(this.publication, config))],
      written: ({ entry = [] }) => {
        const next = entry.at(-1)?.resource;
        this.row = isResource(next, 'Task') ? next : this.row;
        return Date.now() < until;
      },
    };
  }

  /** Reads the row again. It still belongs to this run if its progress is unchanged: guards and bookings keep that. */
  async isKept(): Promise<boolean> {
    const [before, found] = [this.row, await publicationRow(this.medplum, this.publication.schedule)];
    this.row = found ?? before;
    return found !== undefined && canonicalJson(publicationIn(found)) === canonicalJson(publicationIn(before));
  }

  /** Writes the progress; `false` if another run was faster. */
  async leave(changes: Partial<Publication>): Promise<boolean> {
    const changed = publicationTask({ ...this.publication, ...changes }, config);
    for (let count = 1; count <= MAX_ATTEMPTS; count++) {
      const written = await writeRow(this.medplum, this.row, changed);
      if (written || !(await this.isKept())) {
        return written !== undefined;
      }
    }
    return false;
  }
}

/**
 * Publishes a window; retries if a booking or a guard has changed something: `unfinished` after too many attempts or
 * after `until`. `undefined` if another run publishes the Schedule.
 */
async function publishPersistently(
  progress: Progress,
  hours: KeyedHours,
  window: Interval,
  until: number,
): Promise<WindowResult | undefined> {
  for (let count = 1; ; count++) {
    const result = await publishWindow(progress.medplum, hours, window, progress.writing(until));
    if (result.kind !== 'overtaken') {
      return result;
    }
    if (!(await progress.isKept())) {
      return undefined;
    }
    if (count >= MAX_ATTEMPTS || Date.now() >= until) {
      return { ...result, kind: 'unfinished' };
    }
  }
}

/**
 * Publishes the windows of a calendar one after the other: the nearest days, or the days after them.
 * @param to - the time to publish, and the end of the existing Slots
 * @returns whether the progress was written
 */
async function publishWindows(
  progress: Progress,
  hours: KeyedHours,
  to: { readonly now: number; readonly time: Interval; readonly last: number },
  until: number,
): Promise<boolean> {
  const { now, time } = to;
  const start = Math.max(progress.publication.from ?? 0, now - DAY);
  const nearest = Math.min(nearestUntil(time.start, now), to.last);
  const stop = start < nearest ? nearest : to.last;
  const leave = (from: number): Promise<boolean> =>
    progress.leave({ status: from < nearest ? 'accepted' : 'in-progress', due: Date.now(), from });
  // Computed at the start, like the end: if midnight passes during the run, the new day is due at once.
  const atMidnight = nextDay(hours.publishing, now, config.timeZone);
  let problems = hours.publishing.kind === 'kept' ? hours.publishing.problems : [];
  for (const [index, window] of windowsFrom(start, stop, hours.publishing).entries()) {
    if (index > 0 && Date.now() >= until) {
      return leave(window.start);
    }
    const result = await publishPersistently(progress, hours, window, until);
    if (!result) {
      return false;
    }
    problems = result.problems.length > 0 ? result.problems : problems;
    if (result.kind === 'unfinished') {
      return leave(window.start);
    }
    if (result.kind === 'refused') {
      return progress.leave({ status: 'failed', due: atMidnight, problems });
    }
    if (result.kind !== 'published') {
      throw new Error(`The Slots of Schedule/${hours.schedule.id} could not be written (${result.kind}).`);
    }
  }
  if (stop < to.last) {
    return leave(stop);
  }
  const { publishing } = hours;
  if (publishing.kind === 'off' && publishing.reason === 'gone') {
    return progress.leave({ status: 'cancelled', due: undefined, from: undefined });
  }
  const status = problems.length > 0 ? 'failed' : 'completed';
  return progress.leave({ status, due: atMidnight, from: time.end, problems });
}

/**
 * Publishes one slice of the opening hours of a Schedule: its nearest days or, when those are done, the days after
 * them. It starts again from the first day if the inputs of the opening hours have changed, if the last run failed, or
 * if a Slot became busy since the last complete run began.
 * @param row - the publication row
 * @param until - no write starts after it; milliseconds since 1970 UTC
 * @returns whether the progress was written; `false` if the row cannot be parsed, or another run was faster
 * @throws Error when the server could not be read or written
 */
export async function publishTurn(medplum: MedplumClient, row: Task, until: number): Promise<boolean> {
  const publication = publicationIn(row);
  if (!publication) {
    return false;
  }
  const now = Date.now();
  const { schedule, status, from, inputs, began } = publication;
  const { hours = goneHours(schedule) } = await readOpeningHours(medplum, schedule);
  const time = publishedTime(hours, now) ?? { start: now, end: now };
  const isOver = status === 'completed' || status === 'failed';
  const [found, taken = []] = await readInBatch(medplum, [
    lastSlots(hours, time.end),
    ...(isOver && began !== undefined ? [takenSlots(hours, began)] : []),
  ]);
  const isSame = inputs === hours.inputs && status !== 'failed' && taken.length === 0;
  const progress = new Progress(medplum, row, {
    ...publication,
    status: status === 'in-progress' && isSame ? status : 'accepted',
    due: publication.due ?? now,
    from: isSame ? from : undefined,
    inputs: hours.inputs,
    services: hours.services.flatMap(({ id }) => id ?? []),
    began: isSame && !isOver && from !== undefined ? began : now,
  });
  const start = parseInstant(ofType('Slot', found)[0]?.start);
  const last = Math.min(now + FURTHEST, start === undefined ? time.end : start + DAY);
  return publishWindows(progress, hours, { now, time, last }, until);
}
