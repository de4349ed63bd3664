import type { MedplumClient } from '@medplum/core';
import type { Task } from '@medplum/fhirtypes';
import { nearestUntil, nextDay } from '../../../core/calendar/publish/due.ts';
import { FURTHEST, publishedPeriod } from '../../../core/calendar/publish/offers.ts';
import {
  claimedAs,
  type Publication,
  publicationIn,
  publicationTask,
  rowEntry,
  windowsFrom,
} from '../../../core/calendar/publish/publication.ts';
import { formatInstant, parseInstant } from '../../../core/fhir/instant.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { config } from '../config.ts';
import { MOST_ATTEMPTS } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { writeRows } from '../rows.ts';
import { goneHours, type KeyedHours, readOpeningHours } from './opening-hours.ts';
import { publicationRow } from './request.ts';
import { publishWindow, type WindowResult, type Writing } from './window.ts';

/** A run that has claimed a row, and not given it back after this time, counts as dead; in milliseconds. */
export const LEASE = 30_000;

/** How long a run works on one Schedule whose nearest days are published, before it is another's turn; milliseconds. */
const TURN = 1_000;

/** How many Slots are written in one transaction: enough to be quick, few enough that bookings do not wait for it. */
const PORTION = 20;

/** How far back Slots are looked for that were taken while clocks differ, in milliseconds. */
const TOLERANCE = 60_000;

/** How many of the last Slots are asked for: for one alone PostgreSQL looks at those of all Schedules, the last first. */
const LAST = 20;

/** What became of a row: `done` until it is due again, `unfinished`, or `overtaken` by another run or a request. */
type Turn = { readonly kind: 'done' | 'overtaken' } | { readonly kind: 'unfinished'; readonly row: Task };

const overtaken: Turn = { kind: 'overtaken' };

/** Writes a row of publishing unless it was changed in the meantime, as `writeRows` does. */
export const writeRow = (medplum: MedplumClient, row: Task, changed: Task): Promise<Task | undefined> =>
  writeRows(medplum, [rowEntry(row, changed)], `Task/${row.id}`);

/** The end of what is to be published by now, in milliseconds since 1970 UTC; `undefined` if nothing is. */
function publishedUntil({ schedule, publishing }: KeyedHours, now: number): number | undefined {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const ends = calendars.flatMap(
    ({ parameters }) =>
      publishedPeriod(schedule, parameters.timeZone, now, config.calendar.horizonWeeks).value?.end ?? [],
  );
  return ends.length > 0 ? Math.max(...ends) : undefined;
}

/** The search for the last Slots from the end of what is to be published. */
const lastSlots = ({ schedule }: KeyedHours, end: number): string =>
  `Slot?${new URLSearchParams({
    schedule: `Schedule/${schedule.id}`,
    'status:not': 'entered-in-error',
    start: `ge${formatInstant(end)}`,
    _sort: '-start',
    _count: `${LAST}`,
  })}`;

/** The search that finds something if a Slot of the Schedule was taken since an instant. */
const takenSlots = ({ schedule }: KeyedHours, since: number): string =>
  `Slot?${new URLSearchParams({
    schedule: `Schedule/${schedule.id}`,
    status: 'busy,busy-tentative,busy-unavailable',
    _lastUpdated: `gt${formatInstant(since - TOLERANCE)}`,
    _count: '1',
    _fields: 'id',
  })}`;

/** A row that a run has claimed. */
interface Claim {
  /** What the row says from its next write on. */
  readonly publication: Publication;
  /** Allows Slots to be written only while the row is this run's. */
  readonly writing: (until: number) => Writing;
  /** Whether it is still this run's, although something else was changed: then what follows is read anew. */
  readonly isKept: () => Promise<boolean>;
  /** Gives the row back. */
  readonly release: (changes: Partial<Publication>) => Promise<Turn>;
}

function claimOf(medplum: MedplumClient, written: Task, publication: Publication): Claim {
  // In the version that was read or written last.
  let row = written;
  return {
    publication,
    writing: (until) => ({
      portion: PORTION,
      row: () => row,
      entry: () => [rowEntry(row, publicationTask(publication, config))],
      written: ({ entry = [] }) => {
        const next = entry.at(-1)?.resource;
        row = isResource(next, 'Task') ? next : row;
        return Date.now() < until;
      },
    }),
    isKept: async () => {
      row = (await publicationRow(medplum, publication.schedule)) ?? row;
      const found = publicationIn(row);
      return found?.status === publication.status && found.due === publication.due;
    },
    release: async (changes) => {
      const released = { ...publication, ...changes };
      const next = await writeRow(medplum, row, publicationTask(released, config));
      const waits = released.status === 'accepted' || released.status === 'in-progress';
      return next ? (waits ? { kind: 'unfinished', row: next } : { kind: 'done' }) : overtaken;
    },
  };
}

/** Publishes a window; a booking or a guard that changes something meanwhile has it read again, some times. */
async function publishPersistently(
  medplum: MedplumClient,
  hours: KeyedHours,
  window: Interval,
  claim: Claim,
  until: number,
): Promise<WindowResult | undefined> {
  for (let count = 1; ; count++) {
    const result = await publishWindow(medplum, hours, window, claim.writing(until));
    if (result.kind !== 'overtaken') {
      return result;
    }
    if (!(await claim.isKept())) {
      return undefined;
    }
    if (count >= MOST_ATTEMPTS || Date.now() >= until) {
      return { ...result, kind: 'unfinished' };
    }
  }
}

/**
 * Publishes the windows of a calendar one after the other: the nearest days, or for a while what follows.
 *
 * @param to - the end of what is to be published by now, and that of the Slots that there are
 */
async function publishWindows(
  medplum: MedplumClient,
  claim: Claim,
  hours: KeyedHours,
  to: { readonly now: number; readonly end: number; readonly last: number },
  until: number,
): Promise<Turn> {
  const { now } = to;
  const start = Math.max(claim.publication.from ?? 0, now - DAY);
  const nearest = Math.min(nearestUntil(now), to.last);
  const isNearest = start < nearest;
  const stop = isNearest ? nearest : to.last;
  const turn = isNearest ? until : Math.min(until, Date.now() + TURN);
  const leave = (from: number): Promise<Turn> =>
    claim.release({ status: from < nearest ? 'accepted' : 'in-progress', due: Date.now(), from });
  // Of this moment, like the end: if midnight comes meanwhile, the day that it brings is due at once.
  const atMidnight = nextDay(hours.publishing, now, config.timeZone);
  let problems = hours.publishing.kind === 'kept' ? hours.publishing.problems : [];
  for (const [index, window] of windowsFrom(start, stop, hours.publishing).entries()) {
    if (index > 0 && Date.now() >= turn) {
      return leave(window.start);
    }
    const result = await publishPersistently(medplum, hours, window, claim, turn);
    if (!result) {
      return overtaken;
    }
    problems = result.problems.length > 0 ? result.problems : problems;
    if (result.kind === 'unfinished') {
      return leave(window.start);
    }
    if (result.kind === 'refused') {
      return claim.release({ status: 'failed', due: atMidnight, problems });
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
    return claim.release({ status: 'cancelled', due: undefined, from: undefined });
  }
  const status = problems.length > 0 ? 'failed' : 'completed';
  return claim.release({ status, due: atMidnight, from: to.end, problems });
}

/**
 * Publishes the opening hours of a Schedule for a turn: its nearest days, or, when those are done, some of what follows. It
 * begins again if what they are made from has changed; once it was all published, if a Slot was taken since then that
 * nobody may have followed. A run that dies leaves the row claimed, and it is due when the claim ends.
 *
 * @param row - the publication row
 * @param until - nothing more is begun after it; milliseconds since 1970 UTC
 * @throws Error when the server could not be read or written
 */
export async function publishTurn(medplum: MedplumClient, row: Task, until: number): Promise<Turn> {
  const publication = publicationIn(row);
  // A row that cannot be read stays due: it is not taken up again in this run.
  if (!publication) {
    return overtaken;
  }
  // Claimed before anything is read: what changes later finds a run that has read something else.
  const now = Date.now();
  const claimed: Publication = { ...publication, status: claimedAs(publication.status), due: now + LEASE };
  const written = await writeRow(medplum, row, publicationTask(claimed, config));
  if (!written) {
    return overtaken;
  }
  const { schedule, status, from, inputs, began } = publication;
  const { hours = goneHours(schedule) } = await readOpeningHours(medplum, schedule);
  const end = publishedUntil(hours, now) ?? now;
  const isOver = status === 'completed' || status === 'failed';
  const [found, taken = []] = await readInBatch(medplum, [
    lastSlots(hours, end),
    ...(isOver && began !== undefined ? [takenSlots(hours, began)] : []),
  ]);
  const isSame = inputs === hours.inputs && status !== 'failed' && taken.length === 0;
  const claim = claimOf(medplum, written, {
    ...claimed,
    from: isSame ? from : undefined,
    inputs: hours.inputs,
    services: hours.services.flatMap(({ id }) => id ?? []),
    began: isSame && !isOver ? began : now,
  });
  const start = parseInstant(ofType('Slot', found)[0]?.start);
  const last = Math.min(now + FURTHEST, start === undefined ? end : start + DAY);
  return publishWindows(medplum, claim, hours, { now, end, last }, until);
}
