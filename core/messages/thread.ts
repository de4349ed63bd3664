import type { Appointment, Task } from '@medplum/fhirtypes';
import { isWaiting } from '../booking/appointment/expiry.ts';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';
import { idIn } from '../fhir/reference.ts';
import { moment, momentIn, newRow, rowSearch, valueIn } from '../rows/row.ts';

const messageKinds = [
  'confirmation',
  'acceptance',
  'refusal',
  'change',
  'cancellation',
  'reminder',
  'offer',
  'assistant',
] as const;

export type MessageKind = (typeof messageKinds)[number];

const knownStatuses = ['offered', 'pending', 'booked', 'cancelled'] as const;

/** The time of one appointment as last notified; times are milliseconds since 1970 UTC. */
export interface KnownStep {
  readonly appointment: string;
  readonly start: number;
  readonly end: number;
  /** Reference to the Location; empty if none takes part. */
  readonly location: string;
}

/** The notified state of an appointment or of a whole visit. */
export interface Known {
  readonly status: (typeof knownStatuses)[number];
  /** The steps in order of time; only a visit has several. */
  readonly steps: readonly KnownStep[];
}

/** A claimed message: it is being sent, or must be sent again. */
interface Claimed {
  readonly kind: MessageKind;
  readonly attempts: number;
  /** Whether an attempt is running or has crashed; `false` if the last attempt was refused. */
  readonly isUnderWay: boolean;
}

/** The messages about one appointment or one whole visit: the last notified state, and when to check it again. */
export interface Thread {
  /** Id of the appointment; for a visit, of its first step when the first message was made. */
  readonly appointment: string;
  /** Id of the visit (`visitGroupOf`); `undefined` for a single appointment. */
  readonly group: string | undefined;
  readonly patient: string;
  /** The secret of the links in its messages. Each change replaces it, so that links of earlier messages expire. */
  readonly key: string;
  /** The number of messages so far. It identifies the last one. */
  readonly count: number;
  readonly sent: number | undefined;
  /** The notified state; with a claimed message, the state once that message has arrived. */
  readonly known: Known | undefined;
  readonly claimed: Claimed | undefined;
  /** The deadline to confirm attendance. Without a reply the appointment is released. */
  readonly answerBy: number | undefined;
  readonly isComing: boolean;
  /** The next check; `undefined` if it is over. */
  readonly due: number | undefined;
}

const isOff = ({ status }: Appointment): boolean => status === 'cancelled' || status === 'entered-in-error';

/** Whether all of some appointments are cancelled or entered-in-error. No appointments (deleted ones): true. */
export const areCancelled = (appointments: readonly Appointment[]): boolean => appointments.every(isOff);

/** The state of an appointment in messages; `undefined` unless it is offered, pending or booked and has a time. */
function stepIn(appointment: Appointment, config: PublicConfig) {
  const { id = '', status: stored, start, end, participant } = appointment;
  const status = isWaiting('offer', appointment, config) ? 'offered' : stored;
  const [from, to] = [parseInstant(start), parseInstant(end)];
  const location = participant.map(({ actor }) => actor?.reference ?? '').find((one) => one.startsWith('Location/'));
  return (status === 'pending' || status === 'booked' || status === 'offered') && from !== undefined && to !== undefined
    ? { status, step: { appointment: id, start: from, end: to, location: location ?? '' } }
    : undefined;
}

export const inOrder = (knownStep: KnownStep, other: KnownStep): number =>
  knownStep.start - other.start || (knownStep.appointment < other.appointment ? -1 : 1);

/** What to tell a person; `undefined` without open appointments. Steps that have begun stay as in `before`. */
export function knowledgeOf(
  appointments: readonly Appointment[],
  config: PublicConfig,
  before?: Known,
): Known | undefined {
  const found = appointments.map((appointment) => ({ one: appointment, open: stepIn(appointment, config) }));
  const status = (['offered', 'pending', 'booked'] as const).find((word) =>
    found.some(({ open }) => open?.status === word),
  );
  const steps = found.flatMap(
    ({ one, open }) =>
      open?.step ?? (isOff(one) ? [] : (before?.steps ?? []).filter(({ appointment }) => appointment === one.id)),
  );
  return status && { status, steps: steps.sort(inOrder) };
}

/** The steps that have not begun. */
export const ahead = (known: Known, now: number): Known => ({
  ...known,
  steps: known.steps.filter(({ start }) => start > now),
});

const formatStep = ({ status }: Known, { appointment, start, end, location }: KnownStep): string =>
  [status, formatInstant(start), formatInstant(end), location, appointment].join(' ');

/** Reads what the person knows from stored lines; `undefined` if none is valid. */
function parseKnown(texts: readonly string[]): Known | undefined {
  const steps = texts.flatMap((text): KnownStep[] => {
    const [, from, to, location = '', appointment] = text.split(' ');
    const [start, end] = [parseInstant(from), parseInstant(to)];
    return start !== undefined && end !== undefined && appointment ? [{ appointment, start, end, location }] : [];
  });
  const status = knownStatuses.find((one) => one === texts[0]?.split(' ')[0]);
  return status && steps.length > 0 ? { status, steps } : undefined;
}

/** The row of a thread of messages: `completed` if no further one is due. */
export function threadTask(thread: Thread, config: PublicConfig, stored?: Task): Task {
  const { appointment, group, patient, key, count, sent, known, claimed, answerBy, isComing, due } = thread;
  const more: Partial<Task> & Pick<Task, 'status'> = {
    status: due === undefined ? 'completed' : claimed?.isUnderWay ? 'in-progress' : 'ready',
    description: 'Messages to a person about an appointment',
    focus: { reference: `Appointment/${appointment}` },
    ...(group !== undefined && { groupIdentifier: { system: artefactUri(config, 'LocalVisitGroup'), value: group } }),
    ...(patient && { for: { reference: patient } }),
    ...(due !== undefined && { executionPeriod: { start: formatInstant(due) } }),
    input: [
      { type: { text: 'key' }, valueString: key },
      { type: { text: 'count' }, valueInteger: count },
      ...moment('sent', sent),
      ...moment('answer-by', answerBy),
      ...(isComing ? [{ type: { text: 'coming' }, valueBoolean: true }] : []),
      ...(known ? known.steps.map((step) => ({ type: { text: 'known' }, valueString: formatStep(known, step) })) : []),
      ...(claimed ? [{ type: { text: 'kind' }, valueString: claimed.kind }] : []),
      ...(claimed ? [{ type: { text: 'attempts' }, valueInteger: claimed.attempts }] : []),
    ],
  };
  return newRow('message', more, config, stored);
}

export function threadOf({ focus, groupIdentifier, input, status, executionPeriod, for: patient }: Task): Thread {
  const kind = messageKinds.find((one) => one === valueIn(input, 'kind')?.valueString);
  const attempts = valueIn(input, 'attempts')?.valueInteger ?? 0;
  const appointment = idIn(focus, 'Appointment') ?? '';
  const texts = (input ?? []).flatMap(({ type, valueString = '' }) => (type.text === 'known' ? valueString : []));
  return {
    appointment,
    group: groupIdentifier?.value,
    patient: patient?.reference ?? '',
    key: valueIn(input, 'key')?.valueString ?? '',
    count: valueIn(input, 'count')?.valueInteger ?? 0,
    sent: momentIn(input, 'sent'),
    known: parseKnown(texts),
    claimed: kind && { kind, attempts, isUnderWay: status === 'in-progress' },
    answerBy: momentIn(input, 'answer-by'),
    isComing: valueIn(input, 'coming')?.valueBoolean === true,
    due: status === 'completed' ? undefined : parseInstant(executionPeriod?.start),
  };
}

export const threadSearch = (appointment: string, config: PublicConfig): string =>
  rowSearch(['message'], { focus: `Appointment/${appointment}` }, config);

/** The search for the rows of several appointments, as many as a series can have. */
export const threadsSearch = (appointments: readonly string[], config: PublicConfig): string =>
  rowSearch(['message'], { focus: appointments.map((id) => `Appointment/${id}`).join(','), _count: '1000' }, config);

export const visitThreadSearch = (group: string, config: PublicConfig): string =>
  rowSearch(['message'], { 'group-identifier': `${artefactUri(config, 'LocalVisitGroup')}|${group}` }, config);

export const dueThreads = (now: number, config: PublicConfig): string =>
  rowSearch(['message'], { status: 'ready,in-progress', period: `le${formatInstant(now)}` }, config);
