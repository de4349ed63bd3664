import type { Appointment } from '@medplum/fhirtypes';
import { endOf, hasEnded, isForAssistant, isOpenOffer } from '../booking/appointment/expiry.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { DAY, instantOf, localTimeOf } from '../time/time-zone.ts';
import { ahead, areCancelled, type Known, knowledgeOf, type MessageKind, type Thread } from './thread.ts';

const [MINUTE, HOUR] = [60_000, 3_600_000];

/** The times of reminders before an appointment, in milliseconds. */
const reminders: readonly number[] = [7 * DAY, DAY];

/** The shortest time between a message and a reminder, in milliseconds. */
const FRESH = DAY;

/** The hours in which no reminder and no SMS is sent, in the clinic's time zone. */
const night = { from: 21, to: 8 } as const;

/** After this many milliseconds a sender has crashed: a Bot has ten seconds. */
const LEASE = 2 * MINUTE;

/** The wait after each refused attempt, in milliseconds. After the last one the message is given up. */
const pauses: readonly number[] = [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 8 * HOUR];

/** An attempt without a response may have succeeded, so it is repeated only once. */
const MAX_UNANSWERED = 2;

export type Step =
  | { readonly do: 'nothing' }
  /** Store the thread without a message. */
  | { readonly do: 'keep'; readonly thread: Thread }
  /** Send a message that the thread has claimed, for the first time or again. */
  | { readonly do: 'send'; readonly thread: Thread; readonly kind: MessageKind; readonly isNew: boolean }
  /** Cancel the appointment or visit: the person did not confirm attendance in time. */
  | { readonly do: 'release'; readonly thread: Thread }
  /** Notify staff: a message may not have arrived and is not sent again. */
  | { readonly do: 'give-up'; readonly thread: Thread; readonly kind: MessageKind };

interface StepContext {
  readonly group: string | undefined;
  /** Whether somebody wants messages and can be reached. If not, only the state is stored. */
  readonly isWanted: boolean;
  readonly isPhone: boolean;
  /** Whether the portal has withdrawn its request. A refusal is then not sent. */
  readonly isTakenBack: boolean;
  /** No message is sent before; milliseconds since 1970 UTC, like `now`. */
  readonly earliest: number;
  readonly now: number;
  readonly timeZone: string;
  readonly config: PublicConfig;
  readonly newKey: () => string;
}

/**
 * The moment itself, or the next morning if it lies at night. A message that would then arrive less than an hour before
 * `deadline`, the start of the appointment or the end of the offer, does not wait.
 */
function outsideNight(time: number, deadline: number, timeZone: string): number {
  const local = localTimeOf(timeZone, time);
  const hour = (local % DAY) / HOUR;
  if (hour >= night.to && hour < night.from) {
    return time;
  }
  const midnight = Math.floor(local / DAY) * DAY + (hour >= night.from ? DAY : 0);
  const morning = instantOf(timeZone, midnight + night.to * HOUR);
  return deadline <= morning + HOUR ? time : morning;
}

/** The kind of message for a change from the notified state to the current one. */
const changes: Readonly<Record<Known['status'] | 'nothing', Readonly<Partial<Record<Known['status'], MessageKind>>>>> =
  {
    nothing: { booked: 'confirmation', offered: 'offer' },
    cancelled: { booked: 'confirmation', offered: 'offer' },
    offered: { booked: 'confirmation' },
    pending: { booked: 'acceptance', cancelled: 'refusal' },
    booked: { booked: 'change', cancelled: 'cancellation' },
  };

const isSame = (one: Known | undefined, other: Known | undefined): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

const startOf = ({ steps }: Known): number => steps[0]?.start ?? 0;

/** The reminders after a message at `sent`. Steps of one day share a reminder, since a message names all steps. */
const remindersAfter = ({ status, steps }: Known, sent: number): number[] =>
  status === 'booked'
    ? steps.flatMap(({ start }) => reminders.map((before) => start - before)).filter((time) => time > sent + FRESH)
    : [];

/** The next due time: a reminder, the deadline or the last start; `undefined` if cancelled or not known. */
function nextDue({ known, answerBy }: Thread, sent: number, now: number): number | undefined {
  if (known === undefined || known.status === 'cancelled') {
    return undefined;
  }
  const left = ahead(known, now);
  const end = left.steps.at(-1)?.start ?? now;
  return Math.min(end, answerBy ?? end, ...remindersAfter(left, sent).filter((time) => time > now));
}

/** The shortest time that a person has to reply, in milliseconds. */
const NOTICE = 6 * HOUR;

/** Adds the deadline to confirm attendance, `attendanceBy` in milliseconds before the start. */
export function askedToCome(thread: Thread, attendanceBy: number | undefined, now: number): Thread {
  const start = thread.known && startOf(ahead(thread.known, now));
  const answerBy = attendanceBy === undefined ? undefined : (start ?? 0) - attendanceBy;
  return thread.isComing || answerBy === undefined || answerBy < now + NOTICE ? thread : { ...thread, answerBy };
}

const claim = (thread: Thread, kind: MessageKind, attempts: number, now: number): Thread => ({
  ...thread,
  sent: now,
  claimed: { kind, attempts, isUnderWay: true },
  due: now + LEASE,
});

const settled = (thread: Thread, now: number): Thread => ({
  ...thread,
  claimed: undefined,
  due: nextDue(thread, now, now),
});

/** A thread whose message is not sent. It then requires no reply. */
export const unsent = (thread: Thread, now: number): Thread => settled({ ...thread, answerBy: undefined }, now);

/** A thread after an attempt with a response. Without one it stays unchanged until its lease has ended. */
export function afterAttempt(
  thread: Thread,
  isTaken: boolean,
  now: number,
): { readonly thread: Thread; readonly message: 'sent' | 'waiting' | 'given-up' } {
  const { claimed } = thread;
  const pause = pauses[(claimed?.attempts ?? 0) - 1];
  if (isTaken || !claimed || pause === undefined) {
    return isTaken
      ? { thread: settled(thread, now), message: 'sent' }
      : { thread: unsent(thread, now), message: 'given-up' };
  }
  return { thread: { ...thread, claimed: { ...claimed, isUnderWay: false }, due: now + pause }, message: 'waiting' };
}

/** The kinds of messages that cover several appointments of a series; the others are about one appointment. */
export const saidAtOnce: readonly MessageKind[] = [
  ...(['confirmation', 'acceptance', 'refusal', 'change', 'cancellation'] as const),
  ...(['offer', 'assistant'] as const),
];

/** The next step for a claimed message that is due again and still true. */
function again(thread: Thread, { now }: StepContext): Step {
  const { kind = 'confirmation', attempts = 0, isUnderWay = false } = thread.claimed ?? {};
  return isUnderWay && attempts >= MAX_UNANSWERED
    ? { do: 'give-up', kind, thread: unsent(thread, now) }
    : { do: 'send', kind, isNew: false, thread: claim(thread, kind, attempts + 1, now) };
}

const nothing: Step = { do: 'nothing' };

/** The state to notify. An appointment that has begun keeps the state from before its start. */
function knownNext(
  known: Known | undefined,
  appointments: readonly Appointment[],
  { now, config }: StepContext,
): Known | undefined {
  // An expired personal offer needs no message, whether it was deleted or not.
  const current = appointments.filter((appointment) => !hasEnded(appointment, now, config));
  const isOver = appointments.length > 0 && current.length === 0;
  return (
    (isOver ? known : knowledgeOf(current, config, known)) ??
    (known && areCancelled(current) ? { ...known, status: 'cancelled' } : known)
  );
}

const none: Omit<Thread, 'appointment' | 'group' | 'key'> = {
  patient: '',
  count: 0,
  sent: undefined,
  known: undefined,
  claimed: undefined,
  answerBy: undefined,
  isComing: false,
  due: undefined,
};

/**
 * The next step for the messages of an appointment or visit. It depends on the notified and the stored state, not on
 * the changes between them. Several changes at once thus are one message, and a missed or repeated run has no effect.
 * @param appointments - the stored ones, in order of time; none if they were deleted
 */
export function nextStep(thread: Thread | undefined, appointments: readonly Appointment[], context: StepContext): Step {
  const { group, isWanted, isPhone, isTakenBack, earliest, now, timeZone, config, newKey } = context;
  const known = knownNext(thread?.known, appointments, context);
  const left = known && ahead(known, now);
  const isOver = left?.steps.length === 0;
  if (
    !known ||
    !left ||
    (!thread && (!isWanted || isOver)) ||
    (thread?.claimed?.isUnderWay && (thread.due ?? 0) > now)
  ) {
    return nothing;
  }
  if (thread && isOver) {
    return thread.due === undefined
      ? nothing
      : { do: 'keep', thread: { ...thread, claimed: undefined, due: undefined } };
  }
  const patient = appointments
    .flatMap(({ participant }) => participant.map(({ actor }) => actor?.reference ?? ''))
    .find((one) => one.startsWith('Patient/'));
  const stored = thread ?? { ...none, group, appointment: left.steps[0]?.appointment ?? '', key: newKey() };
  const isChange = !isSame(thread?.known && ahead(thread.known, now), left);
  const unanswered = isChange && { answerBy: undefined, isComing: false };
  const next: Thread = { ...stored, known, ...(patient && { patient }), ...unanswered };
  const ends = appointments.flatMap((appointment) =>
    isOpenOffer(appointment, now, config) ? (endOf('offer', appointment, config) ?? []) : [],
  );
  const sendAt = (kind: MessageKind): number => {
    const byDay = kind === 'reminder' || isPhone;
    const time = byDay ? outsideNight(now, Math.min(startOf(left), ...ends), timeZone) : now;
    return Math.max(time, earliest);
  };
  if (isWanted && !isChange && thread?.claimed) {
    const due = Math.max(thread.due ?? 0, sendAt(thread.claimed.kind));
    return due <= now ? again(next, context) : due === thread.due ? nothing : { do: 'keep', thread: { ...next, due } };
  }
  const isBooked = known.status === 'booked' && appointments.some(({ status }) => status === 'booked');
  const isSilent = isWanted && isBooked && !next.isComing;
  if (isSilent && next.answerBy !== undefined && next.answerBy <= now) {
    return { do: 'release', thread: { ...next, answerBy: undefined, due: now } };
  }
  const sent = stored.sent ?? Number.NEGATIVE_INFINITY;
  const isLate = isBooked && remindersAfter(left, sent).some((time) => time <= now);
  const change = changes[thread?.known?.status ?? 'nothing'][known.status];
  const isAsked = change === 'offer' && appointments.some((appointment) => isForAssistant(appointment, config));
  const notified = isAsked ? 'assistant' : change === 'refusal' && isTakenBack ? undefined : change;
  const kind = isChange ? notified : isLate ? 'reminder' : undefined;
  if (kind && isWanted) {
    const due = sendAt(kind);
    const isWaiting = thread?.due === due && !thread.claimed;
    const key = kind === 'reminder' ? next.key : newKey();
    return due <= now
      ? { do: 'send', kind, isNew: true, thread: claim({ ...next, key, count: next.count + 1 }, kind, 1, now) }
      : isWaiting
        ? nothing
        : { do: 'keep', thread: { ...next, known: stored.known, claimed: undefined, due } };
  }
  const due = nextDue(next, sent, now);
  return isChange || stored.claimed || stored.due !== due
    ? { do: 'keep', thread: { ...next, claimed: undefined, due } }
    : nothing;
}
