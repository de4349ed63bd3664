import type { BundleEntry, Task, TaskInput } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference.ts';
import { updateEntry } from '../../fhir/resource.ts';
import { moment, momentIn, newRow, type RowCode, rowSearch, valueIn } from '../../rows/row.ts';
import { type Reservation, reservationsIn, withReservations } from '../../slots/reservation.ts';
import type { Interval } from '../../time/interval.ts';
import { DAY } from '../../time/time-zone.ts';
import { slotsADay } from '../parameters/parameter-values.ts';
import type { Publishing } from '../parameters/schedule-calendar.ts';
import type { CalendarProblem } from '../problem.ts';

/**
 * `requested`: to be published from its beginning, a run starts. `accepted`: the nearest days are wanted. `in-progress`: they
 * are done, and the rest is to follow. `completed`: done until `due`. `failed`: the opening hours are invalid. `cancelled`:
 * the Schedule is gone, or somebody wants nothing done.
 */
const statuses = ['requested', 'accepted', 'in-progress', 'completed', 'failed', 'cancelled'] as const;

type RowStatus = (typeof statuses)[number];

/** The progress of the publication of a Schedule. Each Schedule has one, stored in a Task: its publication row. */
export interface Publication {
  /** Id of the Schedule. */
  readonly schedule: string;
  readonly status: RowStatus;
  /** When a run may take it up, in milliseconds since 1970 UTC; a cancelled one is never due. */
  readonly due?: number | undefined;
  /** The time up to which everything is published, in milliseconds since 1970 UTC; absent before the first run. */
  readonly from?: number | undefined;
  /** Identifies what it was made from: if it differs, the Schedule must be published again. */
  readonly inputs?: string | undefined;
  /** When its Slots were last looked at from the beginning, or found not to have been taken; milliseconds since 1970. */
  readonly began?: number | undefined;
  /** Ids of the services that its Schedule had then: whoever needs them finds them with the row (`publicationWithServices`). */
  readonly services?: readonly string[] | undefined;
  /** The problems that made it fail. */
  readonly problems?: readonly CalendarProblem[];
}

/**
 * The sweep over all Schedules, which finds those whose inputs have changed. There is one in an installation, kept in a Task
 * that is also the throttle of the queue: one run at a time works on what is due.
 */
export interface Sweep {
  /** `requested`: a run starts. */
  readonly status: 'requested' | 'accepted';
  /** As that of a publication. */
  readonly due: number;
  /** When it began, in milliseconds since 1970 UTC. */
  readonly began: number;
  /** How many Schedules it has seen; absent once it has seen all of them. */
  readonly offset: number | undefined;
  /** Until when a run works on the queue, unless it dies; milliseconds since 1970 UTC. */
  readonly busyUntil?: number | undefined;
}

const isRowStatus = (status: Task['status']): status is RowStatus => statuses.some((one) => one === status);

function rowTask(
  code: RowCode,
  { status, due }: Pick<Publication, 'status' | 'due'>,
  input: TaskInput[],
  config: PublicConfig,
): Task {
  const restriction = due === undefined ? undefined : { period: { start: formatInstant(due) } };
  return newRow(code, { status, ...(restriction && { restriction }), ...(input.length > 0 && { input }) }, config);
}

/** The row in which a publication is kept. */
export function publicationTask(publication: Publication, config: PublicConfig): Task {
  const { schedule, from, inputs, began, services = [], problems = [] } = publication;
  const input = [
    ...moment('from', from),
    ...(inputs !== undefined ? [{ type: { text: 'inputs' }, valueString: inputs }] : []),
    ...moment('began', began),
  ];
  const sentences = problems.map(({ diagnostics, expression }) => `${expression}: ${diagnostics}`);
  return {
    ...rowTask('publish', publication, input, config),
    focus: { reference: `Schedule/${schedule}` },
    ...(services.length > 0 && { basedOn: services.map((id) => ({ reference: `HealthcareService/${id}` })) }),
    ...(sentences.length > 0 && {
      statusReason: { text: sentences.join('\n') },
      output: problems.map(({ code, diagnostics }) => ({ type: { text: code }, valueString: diagnostics })),
    }),
  };
}

/** The row in which the sweep is kept. */
export function sweepTask(sweep: Sweep, config: PublicConfig): Task {
  const { began, offset, busyUntil } = sweep;
  const seen = offset !== undefined ? [{ type: { text: 'offset' }, valueUnsignedInt: offset }] : [];
  return rowTask('publish-all', sweep, [...moment('began', began), ...seen, ...moment('busy', busyUntil)], config);
}

const dueIn = ({ restriction }: Task): number | undefined => parseInstant(restriction?.period?.start);

/** The publication that a row keeps, or `undefined` if it does not keep one. */
export function publicationIn(task: Task): Publication | undefined {
  const { focus, status, basedOn = [] } = task;
  const schedule = idIn(focus, 'Schedule');
  return schedule !== undefined && isRowStatus(status)
    ? {
        schedule,
        status,
        due: dueIn(task),
        from: momentIn(task.input, 'from'),
        inputs: valueIn(task.input, 'inputs')?.valueString,
        began: momentIn(task.input, 'began'),
        services: basedOn.flatMap((reference) => idIn(reference, 'HealthcareService') ?? []),
      }
    : undefined;
}

/** The sweep that a row keeps, or `undefined` if it does not keep one. */
export function sweepIn(task: Task): Sweep | undefined {
  const { code, status, input } = task;
  const [isSweep, began, due] = [
    code?.coding?.some((coding) => coding.code === 'publish-all'),
    momentIn(input, 'began'),
    dueIn(task),
  ];
  return isSweep && began !== undefined && due !== undefined
    ? {
        status: status === 'requested' ? status : 'accepted',
        due,
        began,
        offset: valueIn(input, 'offset')?.valueUnsignedInt,
        busyUntil: momentIn(input, 'busy'),
      }
    : undefined;
}

/** The search for the publication row of a Schedule, by its id. */
export const publicationOf = (schedule: string, config: PublicConfig): string =>
  rowSearch(['publish'], { focus: `Schedule/${schedule}` }, config);

/** The same search, which finds the services of the Schedule as well, as far as the row names them. */
export const publicationWithServices = (schedule: string, config: PublicConfig): string =>
  rowSearch(['publish'], { focus: `Schedule/${schedule}`, _include: 'Task:based-on' }, config);

/**
 * The entry of a transaction that writes a row, if it still has the version that was read. It always changes something: a
 * row that is written unchanged would keep its version, and lock nothing.
 *
 * Whoever creates Slots where there may be none yet writes the Schedule's row like this, with the version that was read
 * before the Slots were: so do publishing, in each of its transactions, and a guard. Reservations stay on it until they no
 * longer count; a run of publishing that a guard overtakes reads again, and goes on.
 *
 * @param stored - the row as it was read
 * @param now - milliseconds since 1970 UTC
 * @param changed - as it is to be; by default as it is
 */
export function rowEntry(stored: Task, now: number, config: PublicConfig, changed: Task = stored): BundleEntry {
  const changes = Number(/^Change (\d{1,15})$/.exec(stored.description ?? '')?.[1] ?? 0) + 1;
  const row = { ...changed, id: stored.id, meta: stored.meta, description: `Change ${changes}` };
  return updateEntry(stored, withReservations(row, reservationsIn(stored, now, config), config));
}

/** The entry of a transaction that writes a row with other reservations, if it still has the version that was read. */
export function reservationEntry(
  stored: Task,
  reservations: readonly Reservation[],
  config: PublicConfig,
): BundleEntry {
  return updateEntry(stored, withReservations(stored, reservations, config));
}

/** How much of a calendar is read and written at once at most, in days. */
const WINDOW = 14;

/** How many Slots one decision covers at most: Medplum does nothing else in the meantime. */
const CONCURRENCY = 1_500;

/** How much of a calendar is published at once, in milliseconds: the more Slots a day it has, the less. */
function windowLength(publishing: Publishing | undefined): number {
  const calendars = publishing?.kind === 'on' ? publishing.calendars : [];
  const perDay = calendars.reduce(
    (sum, { parameters }) => sum + slotsADay(parameters.alignment, parameters.capacity),
    0,
  );
  return Math.max(1, Math.min(WINDOW, Math.floor(CONCURRENCY / Math.max(1, perDay)))) * DAY;
}

/**
 * The windows in which a stretch of a calendar is published, one after the other.
 *
 * @param publishing - of the Schedule; `undefined` if it is not known whether it has many Slots a day
 */
export function windowsFrom(from: number, to: number, publishing: Publishing | undefined): Interval[] {
  const length = windowLength(publishing);
  const windows: Interval[] = [];
  for (let start = from; start < to; ) {
    const end = Math.min(to, (Math.floor(start / length) + 1) * length);
    windows.push({ start, end });
    start = end;
  }
  return windows;
}
