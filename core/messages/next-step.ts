import type { Appointment } from '@medplum/fhirtypes';
import { endOf, hasEnded, isForAssistant, isOpenOffer } from '../booking/appointment/expiry.ts';
import type { PublicConfig } from '../fhir/artefacts.ts';
import { DAY, instantOf, localTimeOf } from '../time/time-zone.ts';
import { ahead, areOff, type Known, knowledgeOf, type MessageKind, type Thread } from './thread.ts';

const [MINUTE, HOUR] = [60_000, 3_600_000];

/** How long before an appointment its person is reminded of it, in milliseconds. */
const reminders: readonly number[] = [7 * DAY, DAY];

/** Nobody is reminded of what was said less than this ago, in milliseconds. */
const FRESH = DAY;

/** The hours, by the clocks of the clinic, in which nobody is reminded and no telephone rings. */
const night = { from: 21, to: 8 } as const;

/** Who is sending has died after this many milliseconds: a Bot has ten seconds. */
const LEASE = 2 * MINUTE;

/** How long to wait after a refused attempt, in milliseconds, by how many there were. After the last it is given up. */
const pauses: readonly number[] = [MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 8 * HOUR];

/** An attempt without an answer may have succeeded: it is made once more, not oftener. */
const MAX_UNANSWERED = 2;

/** What is to be done about the messages of an appointment or visit. */
export type Step =
  | { readonly do: 'nothing' }
  /** Only remember; nothing is sent. */
  | { readonly do: 'keep'; readonly thread: Thread }
  /** Send a message, for the first time or again. The thread has claimed it. */
  | { readonly do: 'send'; readonly thread: Thread; readonly kind: MessageKind; readonly isNew: boolean }
  /** Nobody has said in time that they come: the appointment or visit is cancelled. */
  | { readonly do: 'release'; readonly thread: Thread }
  /** Whether it arrived is not known, and it is not sent again: staff are told. */
  | { readonly do: 'give-up'; readonly thread: Thread; readonly kind: MessageKind };

/** What the rules depend on besides. */
interface StepContext {
  /** What the appointments have in common (`visitGroupOf`); `undefined` if it is about one alone. */
  readonly group: string | undefined;
  /** Whether anyone wants messages and can be reached. If not, it is only remembered what would have been said. */
  readonly isWanted: boolean;
  /** Whether a telephone would ring. */
  readonly isPhone: boolean;
  /** Whether the portal of a request has taken it back: its person is not told that it is not possible. */
  readonly isTakenBack: boolean;
  /** Before when nothing is said; milliseconds since 1970 UTC, like `now`. */
  readonly earliest: number;
  readonly now: number;
  readonly timeZone: string;
  readonly config: PublicConfig;
  /** Makes a secret for links. */
  readonly newKey: () => string;
}

/** When the night ends in which a moment lies; the moment itself by day, or if what is said would not wait for that. */
function afterNight(time: number, latest: number, timeZone: string): number {
  const local = localTimeOf(timeZone, time);
  const hour = (local % DAY) / HOUR;
  if (hour >= night.to && hour < night.from) {
    return time;
  }
  const midnight = Math.floor(local / DAY) * DAY + (hour >= night.from ? DAY : 0);
  const morning = instantOf(timeZone, midnight + night.to * HOUR);
  return latest <= morning + HOUR ? time : morning;
}

/** What a change is to a person, by what that person knows and what is so now. */
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

/** When the first step begins that is ahead. */
const startOf = ({ steps }: Known): number => steps[0]?.start ?? 0;

/**
 * The moments at which somebody is reminded who was last told something at `sent`. A message names all steps: those of one
 * day have one reminder.
 *
 * @param known - of what is ahead
 */
const remindersAfter = ({ status, steps }: Known, sent: number): number[] =>
  status === 'booked'
    ? steps.flatMap(({ start }) => reminders.map((before) => start - before)).filter((time) => time > sent + FRESH)
    : [];

/** When to look again at a thread about which there is nothing to say now. */
function nextDue({ known, answerBy }: Thread, sent: number, now: number): number | undefined {
  if (known === undefined || known.status === 'cancelled') {
    return undefined;
  }
  const left = ahead(known, now);
  const end = left.steps.at(-1)?.start ?? now;
  return Math.min(end, answerBy ?? end, ...remindersAfter(left, sent).filter((time) => time > now));
}

/** Nobody has to answer sooner than this after they were asked, in milliseconds. */
const NOTICE = 6 * HOUR;

/**
 * A thread whose message reminds, with the time by which its person has to say that they come.
 *
 * @param attendanceBy - how long before the start that is, in milliseconds; `undefined` if the clinic does not ask for it
 */
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

/** A thread whose claimed message was sent, or is given up. */
const settled = (thread: Thread, now: number): Thread => ({
  ...thread,
  claimed: undefined,
  due: nextDue(thread, now, now),
});

/** A thread whose news is not sent: who may not know of it need not answer. */
export const unsent = (thread: Thread, now: number): Thread => settled({ ...thread, answerBy: undefined }, now);

/**
 * A thread after an attempt that was answered. Without an answer it is left as it is, and looked at when its lease is over.
 *
 * @returns the thread, and whether the message is sent, waits for the next attempt, or is given up
 */
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

/** The kinds of messages that say the same of several appointments of a series at once; the others are about one each. */
export const saidAtOnce: readonly MessageKind[] = [
  ...(['confirmation', 'acceptance', 'refusal', 'change', 'cancellation'] as const),
  ...(['offer', 'assistant'] as const),
];

/** What is to be done about a message that was claimed before, is due again, and is still true. */
function again(thread: Thread, { now }: StepContext): Step {
  const { kind = 'confirmation', attempts = 0, isUnderWay = false } = thread.claimed ?? {};
  return isUnderWay && attempts >= MAX_UNANSWERED
    ? { do: 'give-up', kind, thread: unsent(thread, now) }
    : { do: 'send', kind, isNew: false, thread: claim(thread, kind, attempts + 1, now) };
}

const nothing: Step = { do: 'nothing' };

/** What the person is to know: of an appointment that is taking place, what was known before it began. */
function knownNext(
  known: Known | undefined,
  appointments: readonly Appointment[],
  { now, config }: StepContext,
): Known | undefined {
  // An offer that is over, tidied up or not, is no news.
  const current = appointments.filter((appointment) => !hasEnded(appointment, now, config));
  const isOver = appointments.length > 0 && current.length === 0;
  return (
    (isOver ? known : knowledgeOf(current, config, known)) ??
    (known && areOff(current) ? { ...known, status: 'cancelled' } : known)
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
 * What is to be done about the messages of an appointment or visit. It depends on what its person knows and on what is stored now,
 * not on the changes between the two: several changes in a moment are one message, and a missed or repeated run does no
 * harm.
 *
 * @param thread - what was said; `undefined` if nothing was
 * @param appointments - as they are stored: one, or those of a visit in the order of time; none if they were deleted
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
  const isNews = !isSame(thread?.known && ahead(thread.known, now), left);
  const unanswered = isNews && { answerBy: undefined, isComing: false };
  const next: Thread = { ...stored, known, ...(patient && { patient }), ...unanswered };
  const ends = appointments.flatMap((appointment) =>
    isOpenOffer(appointment, now, config) ? (endOf('offer', appointment, config) ?? []) : [],
  );
  const sendAt = (kind: MessageKind): number => {
    const byDay = kind === 'reminder' || isPhone;
    const time = byDay ? afterNight(now, Math.min(startOf(left), ...ends), timeZone) : now;
    return Math.max(time, earliest);
  };
  if (isWanted && !isNews && thread?.claimed) {
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
  const news = changes[thread?.known?.status ?? 'nothing'][known.status];
  const isAsked = news === 'offer' && appointments.some((appointment) => isForAssistant(appointment, config));
  const notified = isAsked ? 'assistant' : news === 'refusal' && isTakenBack ? undefined : news;
  const kind = isNews ? notified : isLate ? 'reminder' : undefined;
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
  return isNews || stored.claimed || stored.due !== due
    ? { do: 'keep', thread: { ...next, claimed: undefined, due } }
    : nothing;
}
