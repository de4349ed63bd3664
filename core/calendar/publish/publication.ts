import type { Task } from '@medplum/fhirtypes';
import { type ArtefactConfig, artefactUri } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference/reference.ts';
import type { Interval } from '../../time/interval.ts';
import { DAY } from '../../time/time-zone.ts';
import { slotsADay } from '../parameters/bounds.ts';
import type { Publishing } from '../parameters/schedule-calendar.ts';
import type { CalendarProblem } from '../problem.ts';

/** Code of the Tasks that publish the opening hours of a Schedule, in the CodeSystem LocalTask. */
export const PUBLISH_TASK = 'publish';

type PublicationConfig = ArtefactConfig;

/** The progress of the publication of a Schedule. Each Schedule has one, stored in a Task. */
export interface Publication {
  /** Id of the Schedule. */
  readonly schedule: string;
  /**
   * `requested`: the calendar is to be published from `from` on, at once. `accepted`: the same, when its turn comes.
   * `in-progress`: a run is publishing it. `completed`: all of it is published. `failed`: the opening hours are
   * invalid.
   */
  readonly status: 'requested' | 'accepted' | 'in-progress' | 'completed' | 'failed';
  /** The time up to which everything is published, in milliseconds since 1970 UTC; absent before the first run. */
  readonly from?: number | undefined;
  /** Identifies what it was made from: if it differs, the Schedule must be published again. */
  readonly inputs?: string | undefined;
  /** The problems that made it fail. */
  readonly problems?: readonly CalendarProblem[];
}

const statuses: readonly string[] = [
  'requested',
  'accepted',
  'in-progress',
  'completed',
  'failed',
] satisfies Publication['status'][];

function isPublicationStatus(status: Task['status']): status is Publication['status'] {
  return statuses.includes(status);
}

/** The Task in which a publication is kept. */
export function publicationTask(
  { schedule, status, from, inputs, problems = [] }: Publication,
  config: PublicationConfig,
): Task {
  const input = [
    ...(from !== undefined ? [{ type: { text: 'from' }, valueInstant: formatInstant(from) }] : []),
    ...(inputs !== undefined ? [{ type: { text: 'inputs' }, valueString: inputs }] : []),
  ];
  const sentences = problems.map(({ diagnostics, expression }) => `${expression}: ${diagnostics}`);
  return {
    resourceType: 'Task',
    status,
    intent: 'order',
    code: { coding: [{ system: artefactUri(config, 'LocalTask'), code: PUBLISH_TASK }] },
    focus: { reference: `Schedule/${schedule}` },
    ...(input.length > 0 && { input }),
    ...(sentences.length > 0 && {
      statusReason: { text: sentences.join('\n') },
      output: problems.map(({ code, diagnostics }) => ({ type: { text: code }, valueString: diagnostics })),
    }),
  };
}

/** The publication that a Task keeps, or `undefined` if it does not keep one. */
export function publicationIn({ focus, status, input = [] }: Task): Publication | undefined {
  const schedule = idIn(focus, 'Schedule');
  const from = parseInstant(input.find(({ type }) => type.text === 'from')?.valueInstant);
  const inputs = input.find(({ type }) => type.text === 'inputs')?.valueString;
  return schedule !== undefined && isPublicationStatus(status) ? { schedule, status, from, inputs } : undefined;
}

/**
 * The publications that are in line, in the order of their turns: all have their nearest days published before any has
 * the rest.
 */
export function turnsOf(tasks: readonly Task[]): Task[] {
  const isBegun = (task: Task): boolean => publicationIn(task)?.from !== undefined;
  return [...tasks.filter((task) => !isBegun(task)), ...tasks.filter(isBegun)];
}

/** The search for the publications, narrowed by more parameters. */
export function publicationQuery(more: Readonly<Record<string, string>>, config: PublicationConfig): string {
  const code = `${artefactUri(config, 'LocalTask')}|${PUBLISH_TASK}`;
  return `Task?${new URLSearchParams({ code, ...more })}`;
}

/** How much of a calendar is read and written at once at most, in days. */
const WINDOW = 14;

/** How many Slots one decision covers at most: Medplum does nothing else in the meantime. */
const AT_ONCE = 1_500;

/** How much of a calendar is published at once, in milliseconds: the more Slots a day it has, the less. */
function windowLength(publishing: Publishing): number {
  const calendars = publishing.kind === 'on' ? publishing.calendars : [];
  const perDay = calendars.reduce(
    (sum, { parameters }) => sum + slotsADay(parameters.alignment, parameters.capacity),
    0,
  );
  return Math.max(1, Math.min(WINDOW, Math.floor(AT_ONCE / Math.max(1, perDay)))) * DAY;
}

/**
 * The windows in which the rest of a calendar is published, one after the other. Their bounds are fixed, so that a
 * change does not restart windows that others have finished.
 *
 * @param publishing - of the Schedule
 * @param from - where to begin
 * @param to - the end of the published period; the time after it is one last window, in which all Slots are withdrawn
 */
export function windowsFrom(from: number, to: number, publishing: Publishing): Interval[] {
  const length = windowLength(publishing);
  const windows: Interval[] = [];
  for (let start = from; start < to; ) {
    const end = (Math.floor(start / length) + 1) * length;
    windows.push({ start, end });
    start = end;
  }
  return windows;
}
