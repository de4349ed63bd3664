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
 * `requested`: a run starts from the beginning. `accepted`: the nearest days are due. `in-progress`: the nearest days
 * are published, the rest is due. `completed`: published until `due`. `failed`: the opening hours are invalid.
 * `cancelled`: the Schedule was deleted, or publishing was stopped.
 */
const statuses = ['requested', 'accepted', 'in-progress', 'completed', 'failed', 'cancelled'] as const;

type RowStatus = (typeof statuses)[number];

/** The progress of the publication of a Schedule. Each Schedule has one, stored in a Task: its publication row. */
export interface Publication {
  readonly schedule: string;
  readonly status: RowStatus;
  /** The earliest start of a run, in milliseconds since 1970 UTC. A cancelled publication is never due. */
  readonly due?: number | undefined;
  /** The time up to which everything is published, in milliseconds since 1970 UTC; absent before the first run. */
  readonly from?: number | undefined;
  /** Identifies the inputs. If they differ, the Schedule must be published again. */
  readonly inputs?: string | undefined;
  /** The last check of all its Slots, or the last search without new busy Slots; milliseconds since 1970 UTC. */
  readonly began?: number | undefined;
  /** Ids of the Schedule's services at that time, for `publicationWithServices`. */
  readonly services?: readonly string[] | undefined;
  readonly problems?: readonly CalendarProblem[];
}

/**
 * The sweep over all Schedules, which finds changed inputs. An installation has one, stored in a Task. The Task is also
 * the throttle of the queue: one run at a time works on due publications.
 */
export interface Sweep {
  readonly status: 'requested' | 'accepted';
  readonly due: number;
  /** Milliseconds since 1970 UTC. */
  readonly began: number;
  /** The number of Schedules checked so far; absent once all were checked. */
  readonly offset: number | undefined;
  /** The lease of the run that works on the queue; milliseconds since 1970 UTC. */
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

export function sweepTask(sweep: Sweep, config: PublicConfig): Task {
  const { began, offset, busyUntil } = sweep;
  const seen = offset !== undefined ? [{ type: { text: 'offset' }, valueUnsignedInt: offset }] : [];
  return rowTask('publish-all', sweep, [...moment('began', began), ...seen, ...moment('busy', busyUntil)], config);
}

const dueIn = ({ restriction }: Task): number | undefined => parseInstant(restriction?.period?.start);

/** Reads the publication from a row; `undefined` if the row has none. */
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

/** Reads the sweep from a row; `undefined` if the row has none. */
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

/** The search for the publication row of a Schedule, with the services that the row names. */
export const publicationWithServices = (schedule: string, config: PublicConfig): string =>
  rowSearch(['publish'], { focus: `Schedule/${schedule}`, _include: 'Task:based-on' }, config);

/**
 * The transaction entry that writes a row if it still has the version that was read. It always changes the description,
 * because an unchanged row would keep its version and lock nothing.
 *
 * Each transaction that creates Slots where there may be none writes the Schedule's row like this, with the version
 * that was read before the Slots: publishing and guards do. If a guard writes the row during a run of publishing, the
 * run reads again and continues. Reservations stay in the row until they expire.
 */
export function rowEntry(stored: Task, now: number, config: PublicConfig, changed: Task = stored): BundleEntry {
  const changes = Number(/^Change (\d{1,15})$/.exec(stored.description ?? '')?.[1] ?? 0) + 1;
  const row = { ...changed, id: stored.id, meta: stored.meta, description: `Change ${changes}` };
  return updateEntry(stored, withReservations(row, reservationsIn(stored, now, config), config));
}

/** The transaction entry that writes a row with other reservations, if it still has the version that was read. */
export function reservationEntry(
  stored: Task,
  reservations: readonly Reservation[],
  config: PublicConfig,
): BundleEntry {
  return updateEntry(stored, withReservations(stored, reservations, config));
}

/** The longest window, in days. */
const WINDOW = 14;

/** The largest number of Slots in one decision: Medplum does nothing else in the meantime. */
const MAX_WINDOW_SLOTS = 1_500;

/** The length of a window, in milliseconds: the more Slots a day, the shorter. */
function windowLength(publishing: Publishing | undefined): number {
  const calendars = publishing?.kind === 'on' ? publishing.calendars : [];
  const perDay = calendars.reduce(
    (sum, { parameters }) => sum + slotsADay(parameters.alignment, parameters.capacity),
    0,
  );
  return Math.max(1, Math.min(WINDOW, Math.floor(MAX_WINDOW_SLOTS / Math.max(1, perDay)))) * DAY;
}

/** The windows in which a period of a calendar is published, in order. */
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
