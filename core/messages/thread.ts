import type { Appointment, Task } from '@medplum/fhirtypes';
import { isWaiting } from '../booking/appointment/expiry.ts';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';
import { idIn } from '../fhir/reference.ts';
import { moment, momentIn, newRow, rowSearch, valueIn } from '../rows/row.ts';

/** What a message can be about. */
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

/** What a message is about. */
export type MessageKind = (typeof messageKinds)[number];

const knownStatuses = ['offered', 'pending', 'booked', 'cancelled'] as const;

/** What a person knows of one appointment; times are milliseconds since 1970 UTC. */
export interface KnownStep {
  /** Its id. */
  readonly appointment: string;
  readonly start: number;
  readonly end: number;
  /** Reference to the Location; empty if none takes part. */
  readonly place: string;
}

/** What a person knows of an appointment, or of a whole visit. */
export interface Known {
  readonly status: (typeof knownStatuses)[number];
  /** In the order of time; one, unless it is a visit. */
  readonly steps: readonly KnownStep[];
}

/** A message that was claimed: it is being sent, or has to be sent again. */
interface Claimed {
  readonly kind: MessageKind;
  /** How often it was begun to be sent. */
  readonly attempts: number;
  /** Whether somebody is sending it, or has died doing so; else the last attempt was refused. */
  readonly isUnderWay: boolean;
}

/** The messages about one appointment, or one whole visit: what was said last, and when to look at it again. */
export interface Thread {
  /** Id of the appointment; of a visit of that which was its first step when the first message was made. */
  readonly appointment: string;
  /** What the appointments of the visit have in common (`visitGroupOf`); `undefined` if it is about one appointment alone. */
  readonly group: string | undefined;
  /** Reference to the Patient. */
  readonly patient: string;
  /** The secret of the links in its messages. A change has another one: the links of earlier messages end. */
  readonly key: string;
  /** How many messages there were: each is identified by its number. */
  readonly count: number;
  /** When one was last sent. */
  readonly sent: number | undefined;
  /** What the person knows, or will know once the claimed message has arrived. */
  readonly known: Known | undefined;
  readonly claimed: Claimed | undefined;
  /** By when the person was asked to say that they come; without an answer the time is somebody else's. */
  readonly answerBy: number | undefined;
  /** Whether the person has said so. */
  readonly isComing: boolean;
  /** When to look at it again; `undefined` if it is over. */
  readonly due: number | undefined;
}

const isOff = ({ status }: Appointment): boolean => status === 'cancelled' || status === 'entered-in-error';

/** Whether nothing is left of some appointments: they are cancelled, or deleted. */
export const areOff = (appointments: readonly Appointment[]): boolean => appointments.every(isOff);

function stepIn(appointment: Appointment, config: PublicConfig) {
  const { id = '', status: stored, start, end, participant } = appointment;
  const status = isWaiting('offer', appointment, config) ? 'offered' : stored;
  const [from, to] = [parseInstant(start), parseInstant(end)];
  const place = participant.map(({ actor }) => actor?.reference ?? '').find((one) => one.startsWith('Location/'));
  return (status === 'pending' || status === 'booked' || status === 'offered') && from !== undefined && to !== undefined
    ? { status, step: { appointment: id, start: from, end: to, place: place ?? '' } }
    : undefined;
}

/** In the order of time. */
export const inOrder = (knownStep: KnownStep, other: KnownStep): number =>
  knownStep.start - other.start || (knownStep.appointment < other.appointment ? -1 : 1);

/**
 * What a person will know who is told of an appointment, or of those of a visit; `undefined` if there is nothing to know yet,
 * or any more.
 *
 * @param before - what the person knows: it stays so of the steps that are taking place
 */
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

/** What of it has not begun. */
export const ahead = (known: Known, now: number): Known => ({
  ...known,
  steps: known.steps.filter(({ start }) => start > now),
});

const formatStep = ({ status }: Known, { appointment, start, end, place }: KnownStep): string =>
  [status, formatInstant(start), formatInstant(end), place, appointment].join(' ');

function parseKnown(texts: readonly string[]): Known | undefined {
  const steps = texts.flatMap((text): KnownStep[] => {
    const [, from, to, place = '', appointment] = text.split(' ');
    const [start, end] = [parseInstant(from), parseInstant(to)];
    return start !== undefined && end !== undefined && appointment ? [{ appointment, start, end, place }] : [];
  });
  const status = knownStatuses.find((one) => one === texts[0]?.split(' ')[0]);
  return status && steps.length > 0 ? { status, steps } : undefined;
}

/**
 * The row in which the messages about an appointment are kept.
 *
 * @param stored - the row that it replaces, if there is one
 */
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

/** The messages that a row keeps. */
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

/** The search for the row of an appointment. */
export const threadSearch = (appointment: string, config: PublicConfig): string =>
  rowSearch(['message'], { focus: `Appointment/${appointment}` }, config);

/** The search for the rows of several appointments, as many as a series can have. */
export const threadsSearch = (appointments: readonly string[], config: PublicConfig): string =>
  rowSearch(['message'], { focus: appointments.map((id) => `Appointment/${id}`).join(','), _count: '1000' }, config);

/** The search for the row of a visit. */
export const visitThreadSearch = (group: string, config: PublicConfig): string =>
  rowSearch(['message'], { 'group-identifier': `${artefactUri(config, 'LocalVisitGroup')}|${group}` }, config);

/** The search for the rows that are due. */
export const dueThreads = (now: number, config: PublicConfig): string =>
  rowSearch(['message'], { status: 'ready,in-progress', period: `le${formatInstant(now)}` }, config);
