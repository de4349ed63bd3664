import type { Appointment, Parameters, ParametersParameter, Patient, Schedule, Task } from '@medplum/fhirtypes';
import {
  type Absence,
  type AffectedStatus,
  absenceOf,
  affectedOf,
  NO_REASON,
  proposalPart,
  type Reach,
  statusOfRow,
} from '../../../core/absence/rows.ts';
import { artefactUri, type PublicConfig } from '../../../core/fhir/artefacts.ts';
import { formatInstant } from '../../../core/fhir/instant.ts';
import { idIn, isSameService, servesService } from '../../../core/fhir/reference.ts';
import { isResource } from '../../../core/fhir/resource.ts';
import { type Interval, overlaps } from '../../../core/time/interval.ts';
import { addDays, instantAt, intervalOf, type LocalDay, localDayOf } from '../../../core/time/local-day.ts';
import { groupOf } from '../../../packages/web/appointments.ts';
import { listOf } from '../../../packages/web/elements.ts';
import { timeOf } from '../day/entries.ts';
import { isTask, taskToken } from '../fhir/tasks.ts';

/** Values of the parameter `silence` of `$absence`: the outcome for an appointment whose patient does not reply. */
export const silences = ['keep', 'cancel', 'move'] as const;

/** A value of the parameter `silence` of `$absence`. */
export type Silence = (typeof silences)[number];

/** A replacement for an appointment that cannot take place: a time in a calendar, and the Slots of that time. */
export type Proposal = NonNullable<Absence['plan'][number]['proposal']>;

/** An absence that is not over. */
export interface OpenAbsence extends Absence {
  readonly id: string;
  /** Whether staff have confirmed the plan. */
  readonly isConfirmed: boolean;
}

/** The status of the Task, `planned` before staff confirm the plan, or `called` after a phone call. */
type Step = 'planned' | AffectedStatus | 'called';

/** An appointment, by its id, that cannot take place. */
export interface Line {
  readonly appointment: string;
  readonly reach: Reach;
  readonly proposal: Proposal | undefined;
  readonly step: Step;
}

/** The search for the absences that are not over. */
export const absenceSearch = (config: PublicConfig) =>
  ({
    type: 'Task',
    query: [
      ['code', taskToken('absence', config)],
      ['status', 'draft,in-progress'],
    ],
  }) as const;

/** The search for the Tasks about the appointments of absences. */
export const affectedSearch = (ids: readonly string[], config: PublicConfig) =>
  ({
    type: 'Task',
    query: [
      ['code', taskToken('affected', config)],
      ['part-of', ids.map((id) => `Task/${id}`).join(',')],
    ],
  }) as const;

/** The absences among search results, sorted by start. Unconfirmed plans for past periods are left out. */
export function absencesIn(resources: readonly unknown[], now: number, config: PublicConfig): OpenAbsence[] {
  return resources
    .filter((one) => isResource(one, 'Task'))
    .filter((row) => isTask(row, 'absence', config))
    .map((row): OpenAbsence => {
      const absence = absenceOf(row);
      const reason = absence.reason === NO_REASON ? '' : absence.reason;
      return { ...absence, reason, id: row.id ?? '', isConfirmed: row.status !== 'draft' };
    })
    .filter(({ isConfirmed, period }) => isConfirmed || period.end > now)
    .toSorted((openAbsence, other) => openAbsence.period.start - other.period.start);
}

function stepOf(row: Task): Step {
  const status = statusOfRow(row);
  return status === 'call' && row.status === 'completed' ? 'called' : status;
}

/** The affected appointments of an absence: from the plan, unless a Task has their status already. */
export function linesOf({ id, plan, isConfirmed }: OpenAbsence, resources: readonly unknown[]): Line[] {
  const rows = resources
    .filter((one) => isResource(one, 'Task'))
    .filter(({ partOf }) => listOf(partOf).some((reference) => idIn(reference, 'Task') === id));
  const known = rows.flatMap((row): Line[] => {
    const affected = affectedOf(row);
    return affected ? [{ ...affected, step: stepOf(row) }] : [];
  });
  const looked = new Set(known.map(({ appointment }) => appointment));
  return [
    ...plan
      .filter(({ appointment }) => !looked.has(appointment))
      .map((entry): Line => ({ ...entry, step: isConfirmed ? 'waiting' : 'planned' })),
    ...known,
  ];
}

/** The affected appointments and their patients, by id. */
export interface Concerned {
  readonly appointments: ReadonlyMap<string, Appointment>;
  readonly patients: ReadonlyMap<string, Patient>;
}

/** Picks the appointments and patients out of search results. */
export function concernedIn(resources: readonly unknown[]): Concerned {
  const appointments = resources.filter((one) => isResource(one, 'Appointment'));
  const patients = resources.filter((one) => isResource(one, 'Patient'));
  return {
    appointments: new Map(appointments.map((appointment) => [appointment.id ?? '', appointment])),
    patients: new Map(patients.map((patient) => [patient.id ?? '', patient])),
  };
}

/** Lines sorted by the start of their appointments. Appointments that were not found come last. */
export function inOrderOfTime(lines: readonly Line[], { appointments }: Concerned): Line[] {
  const startOf = ({ appointment }: Line): number => {
    const found = appointments.get(appointment);
    return (found && timeOf(found)?.start) ?? Number.MAX_SAFE_INTEGER;
  };
  return lines.toSorted((line, other) => startOf(line) - startOf(other));
}

/** Counters of affected appointments: `waiting` for those without an outcome, then one for each outcome. */
export const counted = ['waiting', 'moved', 'declined', 'call', 'done'] as const;

type Counted = (typeof counted)[number];

const countedAs: Readonly<Record<Step, Counted>> = {
  planned: 'waiting',
  waiting: 'waiting',
  offered: 'waiting',
  moved: 'moved',
  declined: 'declined',
  call: 'call',
  called: 'done',
  over: 'done',
};

/** Counts affected appointments by outcome. */
export function countsOf(lines: readonly Line[]): Record<Counted, number> {
  const counts = { waiting: 0, moved: 0, declined: 0, call: 0, done: 0 };
  for (const { step } of lines) {
    counts[countedAs[step]] += 1;
  }
  return counts;
}

/** Whether the proposal keeps the time of the appointment, in the calendar of a substitute. */
export function isSameTime({ proposal }: Line, appointment: Appointment | undefined): boolean {
  return proposal !== undefined && appointment !== undefined && timeOf(appointment)?.start === proposal.start;
}

/** A choice of staff in place of the proposal: another time, or a phone call. */
export type Wanted = Proposal | 'call';

const AHEAD = 28 * 86_400_000;
const MAX_TIMES = 100;

/** The search for free Slots of the absent calendars and of their substitutes, up to four weeks ahead. */
export const otherTimesSearch = ({ schedules, substitutes }: OpenAbsence, now: number) =>
  ({
    type: 'Slot',
    query: [
      ['schedule', [...schedules, ...substitutes].map((id) => `Schedule/${id}`).join(',')],
      ['status', 'free'],
      ['start', `gt${formatInstant(now)}`],
      ['start', `lt${formatInstant(now + AHEAD)}`],
      ['_sort', 'start'],
    ],
  }) as const;

/** Whether staff can choose another time. In a visit or with several Slots, times depend on each other. */
export const isChoosable = (appointment: Appointment, config: PublicConfig): boolean =>
  appointment.slot?.length === 1 && groupOf(appointment, artefactUri(config, 'LocalVisitGroup')) === undefined;

/** The free times for an appointment, the earliest first. `used`: ids of Slots that are proposed for others. */
export function otherTimes(
  found: readonly unknown[],
  appointment: Appointment,
  { schedules, period }: OpenAbsence,
  calendars: ReadonlyMap<string, Schedule>,
  used: ReadonlySet<string>,
  config: PublicConfig,
): Proposal[] {
  const time = timeOf(appointment);
  if (!time || !isChoosable(appointment, config)) {
    return [];
  }
  return found
    .filter((one) => isResource(one, 'Slot'))
    .flatMap((resource): Proposal[] => {
      const [id = '', schedule = '', slot] = [resource.id, idIn(resource.schedule, 'Schedule'), timeOf(resource)];
      const end = (slot?.start ?? 0) + time.end - time.start;
      const offered = resource.serviceType ?? calendars.get(schedule)?.serviceType ?? [];
      return slot &&
        end <= slot.end &&
        !used.has(id) &&
        !(schedules.includes(schedule) && overlaps({ start: slot.start, end }, period)) &&
        servesService(appointment.serviceType ?? [], offered, true)
        ? [{ schedule, start: slot.start, end, slots: [id] }]
        : [];
    })
    .slice(0, MAX_TIMES);
}

/** The calendars that may substitute: active, not absent, and not known to have other services than every absent one. */
export function possibleSubstitutes(schedules: readonly Schedule[], absent: readonly string[]): Schedule[] {
  const isOpenFor = ({ actor }: Schedule) =>
    listOf(actor).some((reference) => idIn(reference, 'HealthcareService') !== undefined);
  const wanted = schedules.filter(({ id = '' }) => absent.includes(id));
  return schedules.filter((schedule) => {
    const own = listOf(schedule.serviceType);
    // If a HealthcareService is an actor, only the booking service can compare what is offered.
    const canOffer = wanted.some((other) => {
      const types = listOf(other.serviceType);
      return (
        own.length === 0 ||
        types.length === 0 ||
        isOpenFor(schedule) ||
        isOpenFor(other) ||
        types.some((type) => own.some((offered) => isSameService(type, offered)))
      );
    });
    return schedule.active !== false && !absent.includes(schedule.id ?? '') && canOffer;
  });
}

interface Said {
  readonly schedules: readonly string[];
  readonly substitutes: readonly string[];
  readonly period: Interval;
  readonly reason: string;
}

const referring = (name: string, reference: string): ParametersParameter => ({ name, valueReference: { reference } });

/** The body of `$absence` that blocks the time and makes a plan. */
export function announcement(
  { schedules, substitutes, period: { start, end }, reason }: Said,
  more: readonly ParametersParameter[] = [],
): Parameters {
  return {
    resourceType: 'Parameters',
    parameter: [
      ...schedules.map((id) => referring('schedule', `Schedule/${id}`)),
      { name: 'period', valuePeriod: { start: formatInstant(start), end: formatInstant(end) } },
      ...(reason.trim() ? [{ name: 'reason', valueString: reason.trim() }] : []),
      ...substitutes.map((id) => referring('substitute', `Schedule/${id}`)),
      ...more,
    ],
  };
}

/** The body of `$absence` that confirms a plan. `wanted`: choices of staff in place of proposals, by appointment id. */
export const confirmation = (absence: Said, silence: Silence, wanted: Readonly<Record<string, Wanted>>): Parameters =>
  announcement(absence, [
    { name: 'silence', valueCode: silence },
    ...Object.entries(wanted).map(([id, one]) => ({
      name: 'plan',
      part: [referring('appointment', `Appointment/${id}`), ...(one === 'call' ? [] : [proposalPart(one)])],
    })),
  ]);

/** The body of `$absence` that ends an absence early. */
export const ending = (absence: Said, end: number): Parameters =>
  announcement(absence, [{ name: 'end', valueInstant: formatInstant(end) }]);

/** The id of the absence in a response of `$absence`. */
export const absenceIn = ({ parameter = [] }: Parameters): string | undefined =>
  idIn(parameter.find(({ name }) => name === 'absence')?.valueReference, 'Task');

/** The default period of an absence: from now, or the beginning of a later day, to the last minute of the day. */
export function usualPeriod(day: LocalDay, now: number, timeZone: string): Interval {
  const today = localDayOf(now, timeZone);
  const own = day > today ? day : today;
  const start = own === today ? Math.floor(now / 60_000) * 60_000 : intervalOf(own, timeZone).start;
  const end = instantAt(own, '23:59', timeZone);
  return { start, end: end > start ? end : instantAt(addDays(own, 1), '23:59', timeZone) };
}
