import type { Appointment, Parameters, ParametersParameter, Slot, Task, TaskInput } from '@medplum/fhirtypes';
import { patientOf } from '../booking/jobs/confirmation-task.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant, timeOf } from '../fhir/instant.ts';
import { idIn } from '../fhir/reference.ts';
import { isBuffer } from '../fhir/scheduling/slot-marks.ts';
import { moment, momentIn, newRow, rowSearch, valueIn, valuesBut } from '../rows/row.ts';
import type { Interval } from '../time/interval.ts';
import { notifiedGroupOf } from '../visits/visit.ts';
import type { Absent, Proposal } from './plan.ts';
import { type AbsenceRequest, keyOf, type Silence, silences } from './request.ts';

/** The ways in which a person is notified: by the portal, by a message, or by a call from staff. */
const reaches = ['portal', 'message', 'call'] as const;

export type Reach = (typeof reaches)[number];

/** The plan for one appointment. */
export interface Entry {
  /** Id of the appointment. */
  readonly appointment: string;
  readonly reach: Reach;
  readonly proposal: Proposal | undefined;
}

const outcomes = ['moved', 'declined', 'call'] as const;

type Outcome = (typeof outcomes)[number];

export interface Absence extends Pick<AbsenceRequest, 'period' | 'reason'> {
  readonly schedules: readonly string[];
  readonly substitutes: readonly string[];
  /** Ids of the Slots that block its time. */
  readonly blocks: readonly string[];
  readonly plan: readonly Entry[];
  /** Absent until the plan is confirmed. */
  readonly silence: Silence | undefined;
}

export const NO_REASON = 'Absence';

const encodeEntry = ({ appointment, reach, proposal }: Entry): string =>
  [
    appointment,
    reach,
    ...(proposal
      ? [
          proposal.schedule,
          formatInstant(proposal.start),
          formatInstant(proposal.end),
          proposal.slots.join(','),
          ...(proposal.isVisit ? ['visit'] : []),
        ]
      : []),
  ].join(' ');

/** Reads an entry of a plan from its text; empty if it is malformed. */
function decodeEntry(text = ''): Entry[] {
  const [appointment, reachCode, schedule, from, to, slots = '', visitMark] = text.split(' ');
  const [start, end] = [parseInstant(from), parseInstant(to)];
  const reach = reaches.find((one) => one === reachCode);
  return appointment && reach
    ? [
        {
          appointment,
          reach,
          proposal:
            schedule && start !== undefined && end !== undefined
              ? { schedule, start, end, slots: slots.split(','), ...(visitMark && { isVisit: true }) }
              : undefined,
        },
      ]
    : [];
}

const referenceInput = (text: string, reference: string): TaskInput => ({
  type: { text },
  valueReference: { reference },
});

const codeInput = (text: string, valueCode: string | undefined): TaskInput[] =>
  valueCode === undefined ? [] : [{ type: { text }, valueCode }];

const named = ({ input = [] }: Task, name: string): TaskInput[] => input.filter(({ type }) => type.text === name);

const idsNamed = (row: Task, name: string, type: 'Schedule' | 'Slot'): string[] =>
  named(row, name).flatMap(({ valueReference }) => idIn(valueReference, type) ?? []);

/**
 * The row of an absence: `draft` until its plan is confirmed, then `in-progress` until it is over.
 * @param stored - the row that it replaces, if there is one
 */
export function absenceRow(
  absence: Absence,
  status: 'draft' | 'in-progress' | 'completed' | 'cancelled',
  now: number,
  config: PublicConfig,
  stored?: Task,
): Task {
  const { schedules, substitutes, blocks, plan, silence, period, reason } = absence;
  const more: Partial<Task> & Pick<Task, 'status'> = {
    status,
    description: reason || NO_REASON,
    focus: { reference: `Schedule/${schedules[0]}` },
    authoredOn: stored?.authoredOn ?? formatInstant(now),
    executionPeriod: { start: formatInstant(period.start), end: formatInstant(period.end) },
    restriction: stored?.restriction ?? { period: { start: formatInstant(now) } },
    input: [
      ...schedules.map((id) => referenceInput('schedule', `Schedule/${id}`)),
      ...substitutes.map((id) => referenceInput('substitute', `Schedule/${id}`)),
      ...blocks.map((id) => referenceInput('block', `Slot/${id}`)),
      ...codeInput('silence', silence),
      ...plan.map((entry): TaskInput => ({ type: { text: 'plan' }, valueString: encodeEntry(entry) })),
    ],
  };
  return newRow('absence', more, config, stored);
}

export function absenceOf(row: Task): Absence {
  const { description = '', executionPeriod } = row;
  const said = valueIn(row.input, 'silence')?.valueCode;
  return {
    schedules: idsNamed(row, 'schedule', 'Schedule'),
    substitutes: idsNamed(row, 'substitute', 'Schedule'),
    blocks: idsNamed(row, 'block', 'Slot'),
    plan: named(row, 'plan').flatMap(({ valueString }) => decodeEntry(valueString)),
    silence: silences.find((one) => one === said),
    period: { start: parseInstant(executionPeriod?.start) ?? 0, end: parseInstant(executionPeriod?.end) ?? 0 },
    reason: description,
  };
}

export const openAbsences = (config: PublicConfig): string =>
  rowSearch(['absence'], { status: 'draft,in-progress' }, config);

export function isRowFor(row: Task, request: AbsenceRequest): boolean {
  const { schedules, period } = absenceOf(row);
  return keyOf({ schedules: schedules.map((id) => ({ id, path: '' })), period }) === keyOf(request);
}

/** The search for the row that serves as a lock: every writer of rows of appointments changes it. */
export const lockSearch = (config: PublicConfig): string => rowSearch(['absences'], {}, config);

/** The lock row. Its sequence number increases with each change. */
export const lockRow = (config: PublicConfig, stored?: Task): Task =>
  newRow(
    'absences',
    { status: 'in-progress', input: [{ type: { text: 'turn' }, valueInteger: turnOf(stored) + 1 }] },
    config,
    stored,
  );

const turnOf = (row: Task | undefined): number => valueIn(row?.input, 'turn')?.valueInteger ?? 0;

export interface Affected extends Entry {
  readonly silence: Silence;
  /** Id of the personal offer. */
  readonly offer: string | undefined;
  /** The number of attempts to offer a time. */
  readonly tries: number;
  /** The start of the appointment when the absence found it; milliseconds since 1970 UTC. */
  readonly start: number | undefined;
}

export type AffectedStatus = 'waiting' | 'offered' | Outcome | 'over';

/** The status of the Task by the status of the row. A row with a pending call stays open. */
const statusOf: Readonly<Record<AffectedStatus, Task['status']>> = {
  waiting: 'requested',
  offered: 'in-progress',
  moved: 'completed',
  declined: 'completed',
  call: 'ready',
  over: 'cancelled',
};

/** The row of an affected appointment, in `waiting`; `parent` is the id of the row of its absence. */
export function newAffected(
  { appointment, reach, proposal }: Entry,
  stored: Appointment | undefined,
  absence: Pick<Absence, 'silence'>,
  parent: string,
  now: number,
  config: PublicConfig,
): Task {
  const patient = stored && patientOf(stored);
  const more: Partial<Task> & Pick<Task, 'status'> = {
    status: 'requested',
    partOf: [{ reference: `Task/${parent}` }],
    focus: { reference: `Appointment/${appointment}` },
    description: stored?.start
      ? `The ${notifiedGroupOf(stored, config) === undefined ? 'appointment' : 'visit'} of ${stored.start} cannot take place`
      : 'An appointment cannot take place',
    ...(patient?.reference && {
      for: { reference: patient.reference, ...(patient.display && { display: patient.display }) },
    }),
    authoredOn: formatInstant(now),
    restriction: { period: { start: formatInstant(now) } },
    input: [
      ...codeInput('silence', absence.silence ?? 'keep'),
      { type: { text: 'plan' }, valueString: encodeEntry({ appointment, reach, proposal }) },
      ...moment('start', stored && timeOf(stored)?.start),
    ],
  };
  return newRow('affected', more, config);
}

/** Reads the row of an affected appointment; `undefined` if it is malformed. */
export function affectedOf(row: Task): Affected | undefined {
  const [entry] = decodeEntry(valueIn(row.input, 'plan')?.valueString);
  const said = valueIn(row.input, 'silence')?.valueCode;
  return (
    entry && {
      ...entry,
      silence: silences.find((one) => one === said) ?? 'keep',
      offer: idIn(valueIn(row.input, 'offer')?.valueReference, 'Appointment'),
      tries: valueIn(row.input, 'tries')?.valueInteger ?? 0,
      start: momentIn(row.input, 'start'),
    }
  );
}

/** The status of a row: its outcome; without one, whether it is over, offered or waiting. */
export function statusOfRow({ status, businessStatus, input }: Task): AffectedStatus {
  const said = businessStatus?.coding?.[0]?.code;
  const outcome = outcomes.find((one) => one === said);
  if (outcome) {
    return outcome;
  }
  return status === 'cancelled' ? 'over' : valueIn(input, 'offer') ? 'offered' : 'waiting';
}

const displays: Readonly<Record<Outcome, string>> = { moved: 'Moved', declined: 'Declined', call: 'To call' };

/**
 * The row of an appointment with a new status.
 * @param more - other changes; `offer` is a reference
 */
export function withStatus(
  row: Task,
  status: AffectedStatus,
  more: {
    readonly offer?: string;
    readonly proposal?: Proposal | undefined;
    readonly tries?: number;
    readonly end?: number;
  } = {},
): Task {
  const known = affectedOf(row);
  const outcome = outcomes.find((one) => one === status);
  const kept = valuesBut(valuesBut(valuesBut(row.input, 'offer'), 'tries'), 'plan');
  const { businessStatus: _, ...rest } = row;
  const proposal = 'proposal' in more ? more.proposal : known?.proposal;
  const offer = more.offer ?? (status === 'waiting' || !known?.offer ? undefined : `Appointment/${known.offer}`);
  return {
    ...rest,
    status: statusOf[status],
    ...(outcome && {
      businessStatus: { coding: [{ code: outcome, display: displays[outcome] }], text: displays[outcome] },
    }),
    restriction: {
      period: {
        start: row.restriction?.period?.start ?? row.authoredOn ?? '',
        ...(more.end !== undefined && { end: formatInstant(more.end) }),
      },
    },
    input: [
      ...kept,
      ...(known ? [{ type: { text: 'plan' }, valueString: encodeEntry({ ...known, proposal }) }] : []),
      ...(offer ? [referenceInput('offer', offer)] : []),
      ...(more.tries !== undefined ? [{ type: { text: 'tries' }, valueInteger: more.tries }] : named(row, 'tries')),
    ],
  };
}

export const affectedOfAbsence = (id: string, config: PublicConfig): string =>
  rowSearch(['affected'], { 'part-of': `Task/${id}` }, config);

export const openAffected = (config: PublicConfig): string =>
  rowSearch(['affected'], { status: 'requested,in-progress,ready' }, config);

/**
 * The absent times of Schedules, according to the Slots that block them. Shortening or deleting such a Slot shortens or
 * ends the absence.
 */
export function absentBy(blocks: readonly Slot[]): Absent[] {
  return blocks.flatMap((slot): Absent[] => {
    const schedule = idIn(slot.schedule, 'Schedule');
    const time = timeOf(slot);
    const isBlock = slot.status === 'busy-unavailable' && !isBuffer(slot);
    return isBlock && schedule && time ? [{ schedule, ...time }] : [];
  });
}

const isOpenStatus = ({ status }: Appointment): boolean => status === 'booked' || status === 'pending';

/** Whether an appointment cannot take place: it is open, and one of its Slots lies in an absence. */
export function isAffected(appointment: Appointment, slots: readonly Slot[], absent: readonly Absent[]): boolean {
  const time = timeOf(appointment);
  return (
    isOpenStatus(appointment) &&
    time !== undefined &&
    (appointment.slot ?? []).some((reference) => {
      const slot = slots.find(({ id }) => id === idIn(reference, 'Slot'));
      const schedule = idIn(slot?.schedule, 'Schedule');
      return absent.some((one) => one.schedule === schedule && one.start < time.end && time.start < one.end);
    })
  );
}

export type Line = Entry & { readonly outcome?: AffectedStatus | undefined };

const instantPart = (name: string, time: number): ParametersParameter => ({ name, valueInstant: formatInstant(time) });

/** A proposal in requests and responses of `$absence`. */
export const proposalPart = ({ schedule, slots, start, end }: Proposal): ParametersParameter => ({
  name: 'proposal',
  part: [
    { name: 'schedule', valueReference: { reference: `Schedule/${schedule}` } },
    ...slots.map((id) => ({ name: 'slot', valueReference: { reference: `Slot/${id}` } })),
    instantPart('start', start),
    instantPart('end', end),
  ],
});

function linePart({ appointment, reach, proposal, outcome }: Line): ParametersParameter {
  return {
    name: 'plan',
    part: [
      { name: 'appointment', valueReference: { reference: `Appointment/${appointment}` } },
      ...(proposal ? [proposalPart(proposal)] : []),
      { name: 'reach', valueCode: reach },
      ...(outcome ? [{ name: 'outcome', valueCode: outcome }] : []),
    ],
  };
}

export function absenceResponse(id: string | undefined, blocks: readonly string[], lines: readonly Line[]): Parameters {
  return {
    resourceType: 'Parameters',
    parameter: [
      ...(id === undefined ? [] : [{ name: 'absence', valueReference: { reference: `Task/${id}` } }]),
      ...blocks.map((block) => ({ name: 'block', valueReference: { reference: `Slot/${block}` } })),
      ...lines.map(linePart),
    ],
  };
}

/** The identifier system with which a Slot names its absence. */
const URI = 'urn:ietf:rfc:3986';

const UUID = 'urn:uuid:';

export const blockIdentifier = (id: string): { readonly system: string; readonly value: string } => ({
  system: URI,
  value: `${UUID}${id}`,
});

export const absenceIdsIn = ({ identifier = [] }: Slot): string[] =>
  identifier.flatMap(({ system, value }) =>
    system === URI && value?.startsWith(UUID) ? value.slice(UUID.length) : [],
  );

/** The Slot that blocks the time of a Schedule. It equals a block made by staff. */
export function blockSlot(schedule: string, { start, end }: Interval, reason: string, id: string): Slot {
  return {
    resourceType: 'Slot',
    identifier: [blockIdentifier(id)],
    schedule: { reference: `Schedule/${schedule}` },
    status: 'busy-unavailable',
    start: formatInstant(start),
    end: formatInstant(end),
    ...(reason && { comment: reason }),
  };
}
