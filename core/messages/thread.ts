import type { Appointment, Task } from '@medplum/fhirtypes';
import { isWaiting } from '../booking/appointment/expiry.ts';
import type { ArtefactConfig } from '../config/config.ts';
import { formatInstant, parseInstant } from '../fhir/instant.ts';
import { idIn } from '../fhir/reference/reference.ts';
import { moment, momentIn, newRow, rowSearch, valueIn } from '../rows/row.ts';

/** What a message can be about. */
export const messageKinds = [
  'confirmation',
  'acceptance',
  'refusal',
  'change',
  'cancellation',
  'reminder',
  'offer',
  'consent',
] as const;

/** What a message is about. */
export type MessageKind = (typeof messageKinds)[number];

const knownStatuses = ['offered', 'pending', 'booked', 'cancelled'] as const;

/** What a person knows of an appointment; times are milliseconds since 1970 UTC. */
export interface Known {
  readonly status: (typeof knownStatuses)[number];
  readonly start: number;
  readonly end: number;
  /** Reference to the Location; empty if none takes part. */
  readonly place: string;
}

/** A message that was claimed: it is being sent, or has to be sent again. */
export interface Claimed {
  readonly kind: MessageKind;
  /** How often it was begun to be sent. */
  readonly attempts: number;
  /** Whether somebody is sending it, or has died doing so; else the last attempt was refused. */
  readonly isUnderWay: boolean;
}

/** The messages about one appointment: what was said last, and when to look at it again. */
export interface Thread {
  /** Id of the appointment. */
  readonly appointment: string;
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

/** What a person will know who is told of an appointment; `undefined` if there is nothing to know yet, or any more. */
export function knowledgeOf(appointment: Appointment, config: ArtefactConfig): Known | undefined {
  const { status: stored, start, end, participant } = appointment;
  const status = isWaiting('offer', appointment, config) ? 'offered' : stored;
  const [from, to] = [parseInstant(start), parseInstant(end)];
  const place = participant.map(({ actor }) => actor?.reference ?? '').find((one) => one.startsWith('Location/'));
  return (status === 'pending' || status === 'booked' || status === 'offered') && from !== undefined && to !== undefined
    ? { status, start: from, end: to, place: place ?? '' }
    : undefined;
}

const formatKnown = ({ status, start, end, place }: Known): string =>
  [status, formatInstant(start), formatInstant(end), place].join(' ');

function parseKnown(text = ''): Known | undefined {
  const [word, from, to, place = ''] = text.split(' ');
  const status = knownStatuses.find((one) => one === word);
  const [start, end] = [parseInstant(from), parseInstant(to)];
  return status && start !== undefined && end !== undefined ? { status, start, end, place } : undefined;
}

/**
 * The row in which the messages about an appointment are kept.
 *
 * @param stored - the row that it replaces, if there is one
 */
export function threadTask(thread: Thread, config: ArtefactConfig, stored?: Task): Task {
  const { appointment, patient, key, count, sent, known, claimed, answerBy, isComing, due } = thread;
  const more: Partial<Task> & Pick<Task, 'status'> = {
    status: due === undefined ? 'completed' : claimed?.isUnderWay ? 'in-progress' : 'ready',
    description: 'Messages to a person about an appointment',
    focus: { reference: `Appointment/${appointment}` },
    ...(patient && { for: { reference: patient } }),
    ...(due !== undefined && { executionPeriod: { start: formatInstant(due) } }),
    input: [
      { type: { text: 'key' }, valueString: key },
      { type: { text: 'count' }, valueInteger: count },
      ...moment('sent', sent),
      ...moment('answer-by', answerBy),
      ...(isComing ? [{ type: { text: 'coming' }, valueBoolean: true }] : []),
      ...(known ? [{ type: { text: 'known' }, valueString: formatKnown(known) }] : []),
      ...(claimed ? [{ type: { text: 'kind' }, valueString: claimed.kind }] : []),
      ...(claimed ? [{ type: { text: 'attempts' }, valueInteger: claimed.attempts }] : []),
    ],
  };
  return newRow('message', more, config, stored);
}

/** The messages that a row keeps. */
export function threadOf({ focus, input, status, executionPeriod, for: patient }: Task): Thread {
  const kind = messageKinds.find((one) => one === valueIn(input, 'kind')?.valueString);
  const attempts = valueIn(input, 'attempts')?.valueInteger ?? 0;
  return {
    appointment: idIn(focus, 'Appointment') ?? '',
    patient: patient?.reference ?? '',
    key: valueIn(input, 'key')?.valueString ?? '',
    count: valueIn(input, 'count')?.valueInteger ?? 0,
    sent: momentIn(input, 'sent'),
    known: parseKnown(valueIn(input, 'known')?.valueString),
    claimed: kind && { kind, attempts, isUnderWay: status === 'in-progress' },
    answerBy: momentIn(input, 'answer-by'),
    isComing: valueIn(input, 'coming')?.valueBoolean === true,
    due: status === 'completed' ? undefined : parseInstant(executionPeriod?.start),
  };
}

/** The search for the row of an appointment. */
export const threadSearch = (appointment: string, config: ArtefactConfig): string =>
  rowSearch(['message'], { focus: `Appointment/${appointment}` }, config);

/** The search for the rows that are due. */
export const dueThreads = (now: number, config: ArtefactConfig): string =>
  rowSearch(['message'], { status: 'ready,in-progress', period: `le${formatInstant(now)}` }, config);
