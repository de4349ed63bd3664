import type { Appointment, BundleEntry, Resource, Task } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isResource } from '../../fhir/resource.ts';
import { requestorQuery, requestorTag, type TagConfig } from '../../fhir/tags.ts';
import { rowCodes } from '../../rows/row.ts';
import { isOpen, statusQuery } from '../appointment/status.ts';
import { type SearchQuery, search } from '../search.ts';

/** The part of the configuration that the limits of a requestor depend on. */
export type RequestorLimitConfig = TagConfig & Pick<BookingConfig, 'requestors'>;

/** A limit of the installation for each requestor. */
export type RequestorLimit = 'open' | 'rate' | 'jobs';

/** A limit that only bookings approach, one after the other. */
type CountedLimit = Exclude<RequestorLimit, 'jobs'>;

const countedLimits: readonly CountedLimit[] = ['open', 'rate'];

/** What can be asked about a requestor: whether it has reached a limit, whether it is near it, and whether it is marked. */
export type LimitQuestion = RequestorLimit | `near-${CountedLimit}` | 'marked';

/** The share of a limit from which on a requestor is near it. */
const NEAR = 0.8;

/** About how many times a requestor is checked on its way to a limit, ten of them once it is near it. */
const LOOKS = 50;

/** Code of the Tasks that mark requestors that are near a limit, in the CodeSystem LocalTask. */
const MARK_TASK = 'near-limit';

/** The period over which the rate is counted, in milliseconds. */
const MINUTE = 60_000;

/** The search that finds a resource if a requestor has at least this many: it reads one resource at most. */
function nth(type: 'Appointment' | 'Task', count: number, query: SearchQuery): BundleEntry {
  return search(type, [...query, ['_offset', String(count - 1)], ['_count', '1'], ['_fields', 'id']]);
}

const most = (limit: CountedLimit, { requestors }: RequestorLimitConfig): number =>
  limit === 'open' ? requestors.maxOpenAppointments : requestors.maxBookingsPerMinute;

const counted: Readonly<Record<CountedLimit, (tag: string, now: number) => SearchQuery>> = {
  open: (tag, now) => [
    ['_tag', tag],
    ['status', statusQuery(isOpen)],
    ['date', `ge${formatInstant(now)}`],
  ],
  rate: (tag, now) => [
    ['_tag', tag],
    ['_lastUpdated', `ge${formatInstant(now - MINUTE)}`],
  ],
};

type Read = (tag: string, now: number, config: RequestorLimitConfig) => BundleEntry;

const reachedRead =
  (limit: CountedLimit): Read =>
  (tag, now, config) =>
    nth('Appointment', most(limit, config), counted[limit](tag, now));

const nearRead =
  (limit: CountedLimit): Read =>
  (tag, now, config) =>
    nth('Appointment', Math.ceil(most(limit, config) * NEAR), counted[limit](tag, now));

const reads: Readonly<Record<LimitQuestion, Read>> = {
  open: reachedRead('open'),
  rate: reachedRead('rate'),
  'near-open': nearRead('open'),
  'near-rate': nearRead('rate'),
  marked: (tag, _now, config) =>
    nth('Task', 1, [
      ['_tag', tag],
      ['code', `${artefactUri(config, 'LocalTask')}|${MARK_TASK}`],
    ]),
  jobs: (tag, _now, config) =>
    nth('Task', config.requestors.maxBookingsPerMinute, [
      ['_tag', tag],
      ['code', rowCodes(['book'], config)],
      ['status', 'requested'],
    ]),
};

/**
 * The searches that answer questions about a requestor. They lock no row that bookings would have to wait for: bookings at
 * the same moment do not count each other, so that a limit can be exceeded by as many as run at once.
 *
 * @param questions - those that are asked
 * @param requestor - id of its profile
 */
export function requestorLimitReads(
  questions: readonly LimitQuestion[],
  requestor: string,
  now: number,
  config: RequestorLimitConfig,
): BundleEntry[] {
  return questions.map((question) => reads[question](requestorQuery(requestor, config), now, config));
}

/**
 * How many further bookings of a requestor that is below a limit need not check it again: one hundredth of the limit, which
 * is also the most by which this lets the limit be exceeded.
 */
export function slackOf(limit: RequestorLimit, config: RequestorLimitConfig): number {
  return Math.floor(most(limit === 'open' ? 'open' : 'rate', config) / 100);
}

/** How many bookings one check stands for; below 2, the limit itself is checked with each booking. */
const bookingsPerLook = (limit: CountedLimit, config: RequestorLimitConfig): number => most(limit, config) / LOOKS;

const isSampled = (limit: RequestorLimit, config: RequestorLimitConfig): limit is CountedLimit =>
  limit !== 'jobs' && bookingsPerLook(limit, config) >= 2;

/**
 * What is asked first where nothing is remembered between two bookings. Counting the appointments of a requestor costs more
 * the more it has, so only one booking in so many, chosen at random, asks whether the requestor is near a limit. A requestor
 * that is near one gets a mark, which each booking looks for; as long as the mark is there, each booking checks the limits.
 *
 * @param random - from 0 to less than 1
 */
export function questionsFor(
  limits: readonly RequestorLimit[],
  random: number,
  config: RequestorLimitConfig,
): LimitQuestion[] {
  const sampled = limits.filter((limit) => isSampled(limit, config));
  const looks = sampled.filter((limit) => random * bookingsPerLook(limit, config) < 1);
  return [
    ...(sampled.length > 0 ? (['marked'] as const) : []),
    ...looks.map((limit) => `near-${limit}` as const),
    ...limits.filter((limit) => !isSampled(limit, config)),
  ];
}

/** What else must be asked, given the answers to what was asked first. */
export function furtherQuestions(
  limits: readonly RequestorLimit[],
  asked: readonly LimitQuestion[],
  answers: ReadonlySet<LimitQuestion>,
  config: RequestorLimitConfig,
): LimitQuestion[] {
  const isMarked = answers.has('marked');
  const sampled = countedLimits.filter((limit) => isSampled(limit, config));
  const questions = [
    ...(isMarked ? sampled.map((limit) => `near-${limit}` as const) : []),
    ...sampled.filter((limit) => limits.includes(limit) && (isMarked || answers.has(`near-${limit}`))),
  ];
  return questions.filter((question) => !asked.includes(question));
}

/**
 * The questions that were answered with yes, according to the answers to `requestorLimitReads`. If the requestor may not see
 * marks, it counts as marked, so that its appointments are counted.
 */
export function answeredYes(
  questions: readonly LimitQuestion[],
  answers: readonly BundleEntry[],
): ReadonlySet<LimitQuestion> {
  const isYes = (question: LimitQuestion, { response, resource }: BundleEntry = {}): boolean =>
    foundIn({ resource }) !== undefined || (question === 'marked' && response?.status === '403');
  return new Set(questions.filter((question, index) => isYes(question, answers[index])));
}

const foundIn = ({ resource }: BundleEntry = {}): Resource | undefined =>
  isResource(resource, 'Bundle') ? resource.entry?.[0]?.resource : undefined;

/**
 * The entry that marks a requestor that has come near a limit, or removes the mark from one that is no longer near any;
 * `undefined` if nothing is to change.
 *
 * @param asked - all questions, in the order of their answers
 */
export function markEntry(
  asked: readonly LimitQuestion[],
  answers: readonly BundleEntry[],
  requestor: string,
  config: RequestorLimitConfig,
): BundleEntry | undefined {
  const yes = answeredYes(asked, answers);
  const near = countedLimits.filter((limit) => isSampled(limit, config)).map((limit) => `near-${limit}` as const);
  const isNear = near.some((question) => yes.has(question));
  const isSettled = isNear || near.every((question) => asked.includes(question));
  const mark = foundIn(answers[asked.indexOf('marked')]);
  if (!isSettled || isNear === (mark !== undefined)) {
    return undefined;
  }
  if (mark) {
    return { request: { method: 'DELETE', url: `Task/${mark.id}` } };
  }
  const [coding, tag] = [
    { system: artefactUri(config, 'LocalTask'), code: MARK_TASK },
    requestorTag(requestor, config),
  ];
  const ifNoneExist = new URLSearchParams([
    ['_tag', requestorQuery(requestor, config)],
    ['code', `${coding.system}|${coding.code}`],
  ]).toString();
  const resource: Task = {
    resourceType: 'Task',
    meta: { tag: [tag] },
    status: 'completed',
    intent: 'order',
    code: { coding: [coding] },
    description: 'Marks a portal that is near a limit: its appointments are counted with each booking',
  };
  return { request: { method: 'POST', url: 'Task', ifNoneExist }, resource };
}

/**
 * Checks a booking or a hold against the limits of the installation.
 *
 * @param earlier - the appointments that it moves or replaces: if one is open, the number of open ones stays the same
 */
export function requestorLimitIssues(
  reached: ReadonlySet<LimitQuestion>,
  earlier: readonly (Appointment | undefined)[],
  expression: string,
  { requestors: { maxOpenAppointments, maxBookingsPerMinute } }: RequestorLimitConfig,
): Issue[] {
  const isFurther = !earlier.some((one) => one && isOpen(one));
  const open = `You can have at most ${maxOpenAppointments} open appointments here: cancel some, or ask the clinic.`;
  const rate = `You can book, hold or change at most ${maxBookingsPerMinute} appointments a minute: wait and try again.`;
  return [
    ...(reached.has('open') && isFurther
      ? [{ code: 'portal-limit-reached', diagnostics: open, expression } as const]
      : []),
    ...(reached.has('rate') || reached.has('jobs')
      ? [{ code: 'too-many-bookings', diagnostics: rate, expression } as const]
      : []),
  ];
}
