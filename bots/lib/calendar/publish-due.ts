import type { MedplumClient } from '@medplum/core';
import type { Schedule, Task } from '@medplum/fhirtypes';
import { offersAllServices } from '../../../core/calendar/parameters/schedule-calendar.ts';
import {
  isPaced,
  type Line,
  nextOf,
  outdated,
  QUIET_AFTER,
  shareOfMinute,
} from '../../../core/calendar/publish/due.ts';
import {
  claimedAs,
  type Look,
  lookIn,
  lookTask,
  publicationIn,
  publicationOf,
  publicationTask,
} from '../../../core/calendar/publish/publication.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { idIn, serviceIdsOf } from '../../../core/fhir/reference.ts';
import { rowSearch } from '../../../core/rows/row.ts';
import { config } from '../config.ts';
import { sendBundle } from '../medplum.ts';
import { ofType, readInBatch } from '../read.ts';
import { RUN_LIMIT } from '../rows.ts';
import { readOpeningHoursOf } from './opening-hours.ts';
import { LEASE, publishTurn, writeRow } from './publication.ts';
import { requestEntry } from './request.ts';

/** How many Schedules are published at the same time: by one run, and by all that are under way. */
const BY_ONE_RUN = 2;
const BY_ALL = 4;

/** How often all Schedules are looked at without a known change, in milliseconds. */
const LOOK_EVERY = 10 * 60_000;

/** How many rows of the line are read at a time, and how many Schedules a look reads. */
const PAGE = 200;

/** How many rows are marked in one batch. */
const MARKED = 20;

/** How many resources one search returns at most. */
const COUNT = 1000;

/** Whether a Schedule names services, and so may have opening hours. */
const takesPart = (schedule: Schedule): boolean => offersAllServices(schedule) || serviceIdsOf(schedule).length > 0;

/** The rows of Schedules by the Schedule's id. */
async function rowsOf(medplum: MedplumClient, schedules: readonly Schedule[]): Promise<Map<string | undefined, Task>> {
  const focus = schedules.map(({ id }) => `Schedule/${id}`).join(',');
  const query = rowSearch(['publish'], { focus, _count: `${COUNT}` }, config);
  const [found] = await readInBatch(medplum, schedules.length > 0 ? [query] : []);
  return new Map(ofType('Task', found).map((row) => [idIn(row.focus, 'Schedule'), row]));
}

/** The rows that were marked as due, and whether time ran out before all were. */
interface Marked {
  readonly rows: readonly Task[];
  readonly isUnfinished: boolean;
}

/**
 * Marks the rows of those Schedules as due whose opening hours, services or closed days are no longer those that were
 * published, some at a time.
 *
 * @param until - nothing more is marked after it; milliseconds since 1970 UTC
 * @throws Error when the server could not be read or written
 */
export async function markOutdated(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
  until = Date.now() + RUN_LIMIT,
): Promise<Marked> {
  const rows = await rowsOf(medplum, schedules);
  const known = schedules.filter((schedule) => takesPart(schedule) || rows.has(schedule.id));
  const hours = known.length > 0 ? await readOpeningHoursOf(medplum, known) : [];
  const now = Date.now();
  const entries = hours.flatMap(({ schedule, services, inputs }) => {
    const row = rows.get(schedule.id);
    const standing = { publication: row && publicationIn(row), takesPart: takesPart(schedule), inputs };
    const publication = outdated(schedule.id, standing, now);
    const query = publicationOf(schedule.id, config);
    const named = services.flatMap(({ id }) => id ?? []);
    return publication ? [requestEntry(row, publicationTask({ ...publication, services: named }, config), query)] : [];
  });
  const marked: Task[] = [];
  for (let first = 0; first < entries.length; first += MARKED) {
    if (first > 0 && Date.now() >= until) {
      return { rows: marked, isUnfinished: true };
    }
    // Each by itself: one that something else changes in the meantime is left alone.
    const entry = entries.slice(first, first + MARKED);
    const answer = await sendBundle(medplum, { resourceType: 'Bundle', type: 'batch', entry });
    if (answer.kind !== 'done') {
      throw new Error(`The publications that are due could not be written (${answer.kind}).`);
    }
    marked.push(...(answer.bundle.entry ?? []).flatMap(({ resource }) => ofType('Task', resource ? [resource] : [])));
  }
  return { rows: marked, isUnfinished: false };
}

/** A look where it was; one that is over, and due again, begins anew. */
const continued = ({ status, began, offset }: Look): Pick<Look, 'began' | 'offset'> =>
  status === 'completed' ? { began: Date.now(), offset: 0 } : { began, offset };

/** Looks at all Schedules, page by page. What it finds, and itself if it is not over, is what the run does next. */
async function lookOn(medplum: MedplumClient, row: Task, until: number): Promise<Task[] | undefined> {
  const look = lookIn(row);
  const claimed =
    look &&
    (await writeRow(
      medplum,
      row,
      lookTask({ ...look, status: claimedAs(look.status), due: Date.now() + LEASE }, config),
    ));
  if (!claimed) {
    return undefined;
  }
  const marked: Task[] = [];
  const { began, offset: first } = continued(look);
  let offset = first;
  while (offset !== undefined) {
    const [page] = await readInBatch(medplum, [`Schedule?_sort=_id&_count=${PAGE}&_offset=${offset}`]);
    const schedules = ofType('Schedule', page);
    const { rows, isUnfinished } = await markOutdated(medplum, schedules, until);
    marked.push(...rows);
    const next: number | undefined = schedules.length < PAGE ? undefined : offset + PAGE;
    offset = isUnfinished ? offset : next;
    if (offset !== undefined && (isUnfinished || Date.now() >= until)) {
      const left = await writeRow(
        medplum,
        claimed,
        lookTask({ status: 'accepted', due: Date.now(), began, offset }, config),
      );
      return left ? [left, ...marked] : marked;
    }
  }
  await writeRow(medplum, claimed, lookTask({ status: 'completed', due: began + LOOK_EVERY, began, offset }, config));
  return marked;
}

/** The rows that are due, and how many Schedules are being published. */
async function readLine(medplum: MedplumClient): Promise<Line & { readonly busy: number }> {
  const now = Date.now();
  const due = { 'due-date': `le${formatInstant(now)}`, _sort: 'due-date', _count: `${PAGE}` };
  const [nearest, others, claimed, booked = []] = await readInBatch(medplum, [
    rowSearch(['publish', 'publish-all'], { status: 'requested,accepted', ...due }, config),
    rowSearch(['publish', 'publish-all'], { status: 'in-progress,completed,failed', ...due }, config),
    rowSearch(
      ['publish', 'publish-all'],
      {
        status: 'accepted,in-progress',
        'due-date': `gt${formatInstant(now)}`,
        _sort: 'due-date',
        _count: `${BY_ALL}`,
      },
      config,
    ),
    `Appointment?${new URLSearchParams({ _lastUpdated: `gt${formatInstant(now - QUIET_AFTER)}`, _count: '1', _fields: 'id' })}`,
  ]);
  const claims = ofType('Task', claimed);
  // Longer than a claim lasts is the claim of a run whose clock was ahead.
  const dead = claims.filter(({ restriction }) => Date.parse(restriction?.period?.start ?? '') > now + 2 * LEASE);
  return {
    nearest: [...ofType('Task', nearest), ...dead],
    others: ofType('Task', others),
    busy: claims.length - dead.length,
    isBooked: booked.length > 0,
  };
}

/** Medplum starts a run for a row that is requested. One that was done begins again: whether it must is no longer seen. */
async function handOver(medplum: MedplumClient, row: Task): Promise<void> {
  const [look, publication] = [lookIn(row), publicationIn(row)];
  const requested = { status: 'requested', due: Date.now() } as const;
  if (look) {
    const { began, offset } = continued(look);
    await writeRow(medplum, row, lookTask({ ...requested, began, offset }, config));
  } else if (publication) {
    const { schedule, status } = publication;
    const isDone = status === 'completed' || status === 'failed';
    const changed = { ...(isDone ? { schedule } : publication), ...requested };
    await writeRow(medplum, row, publicationTask(changed, config));
  }
}

/** Works on rows for a turn each, two at a time; some may turn out to be others', or impossible to write. */
function worker(medplum: MedplumClient) {
  const given = new Set<string>();
  const nameOf = ({ id, meta }: Task): string => `${id} ${meta?.versionId}`;

  /** What a turn leaves, and what a look has found. */
  async function turn(row: Task, until: number): Promise<readonly Task[] | undefined> {
    if (lookIn(row)) {
      return lookOn(medplum, row, until);
    }
    const result = await publishTurn(medplum, row, until);
    return result.kind === 'overtaken' ? undefined : result.kind === 'unfinished' ? [result.row] : [];
  }

  async function work(row: Task, until: number): Promise<readonly Task[]> {
    // One that cannot be written does not hold up the others: it is due again when its claim ends.
    const left = await turn(row, until).catch((reason: unknown) => console.log(String(reason)));
    if (!left) {
      given.add(nameOf(row));
    }
    return left ?? [];
  }

  return {
    /** Whether a version of a row was not given up. */
    isOpen: (row: Task): boolean => !given.has(nameOf(row)),
    /**
     * Works on rows until the time is over.
     *
     * @param isShared - whether it ends when others turn out to be about the same rows
     */
    async workOn(rows: readonly Task[], until: number, isShared = false): Promise<Task[]> {
      const left: Task[] = [];
      const before = given.size;
      for (let first = 0; first < rows.length && Date.now() < until; first += BY_ONE_RUN) {
        if (isShared && given.size > before) {
          break;
        }
        const turns = rows.slice(first, first + BY_ONE_RUN).map((row) => work(row, until));
        left.push(...(await Promise.all(turns)).flat());
      }
      return left;
    },
  };
}

/**
 * Publishes what is due until the time of a run is over: first the rows that it was started for, then those that wait
 * longest. The nearest days of each come first. While bookings are being made, only a few are published at once, and the
 * runs of the clock take their share of the time for the rest (`nextOf`). If time runs out, the next run is requested.
 * Where enough runs are under way, what is due is left to them.
 *
 * @param own - the rows that were requested, or have just been marked
 * @param isClock - whether Medplum's clock has started it
 * @throws Error when the server could not be read or written
 */
export async function publishDue(medplum: MedplumClient, own: readonly Task[], isClock = false): Promise<void> {
  const began = Date.now();
  const deadline = began + RUN_LIMIT;
  const { publishingShare: share } = config.calendar;
  const paced = Math.min(deadline, began + (isClock ? shareOfMinute(share) : 0));
  const { isOpen, workOn } = worker(medplum);
  let line = await readLine(medplum);
  if (line.busy >= BY_ALL) {
    return;
  }
  for (let rows = own; rows.length > 0 && Date.now() < deadline; ) {
    const left = await workOn(rows, deadline);
    // While somebody books, what follows the nearest days is for the clock.
    rows = isPaced(line.isBooked, share, RUN_LIMIT) ? left.filter(({ status }) => status !== 'in-progress') : left;
  }
  for (let isRead = own.length === 0; ; isRead = false) {
    line = isRead ? line : await readLine(medplum);
    const open = { ...line, nearest: line.nearest.filter(isOpen), others: line.others.filter(isOpen) };
    const { rows, isAtOnce } = nextOf(open, share, RUN_LIMIT);
    const [first] = rows;
    const until = isAtOnce ? deadline : paced;
    if (!first || Date.now() >= until) {
      await (first && isAtOnce && handOver(medplum, first));
      return;
    }
    await workOn(rows, until, true);
  }
}
