import type { Appointment, BundleEntry } from '@medplum/fhirtypes';
import type { BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isResource } from '../../fhir/resource.ts';
import { requestorQuery } from '../../fhir/tags.ts';
import { rowCodes } from '../../rows/row.ts';
import { type SearchQuery, search } from '../../rows/search.ts';
import { isOpen, statusQuery } from '../appointment/status.ts';

/** A limit of the installation for each requestor. */
export type RequestorLimit = 'open' | 'rate' | 'jobs' | 'waiting';

/** The period over which the rate is counted, in milliseconds. */
const MINUTE = 60_000;

/** What counts towards a limit, besides being the requestor's, and how much of it is allowed. */
interface Counted {
  readonly type: 'Appointment' | 'Task';
  readonly most: keyof BookingConfig['requestors'];
  readonly query: (now: number, config: BookingConfig) => SearchQuery;
}

const counted: Readonly<Record<RequestorLimit, Counted>> = {
  open: {
    type: 'Appointment',
    most: 'maxOpenAppointments',
    query: (now) => [
      ['status', statusQuery(isOpen)],
      ['date', `ge${formatInstant(now)}`],
    ],
  },
  rate: {
    type: 'Appointment',
    most: 'maxBookingsPerMinute',
    query: (now) => [['_lastUpdated', `ge${formatInstant(now - MINUTE)}`]],
  },
  waiting: { type: 'Appointment', most: 'maxOpenAppointments', query: () => [['status', 'waitlist']] },
  /** Asynchronous bookings that are not carried out yet. */
  jobs: {
    type: 'Task',
    most: 'maxBookingsPerMinute',
    query: (_, config) => [
      ['code', rowCodes(['book'], config)],
      ['status', 'requested'],
    ],
  },
};

/**
 * The searches that tell which limits a requestor has reached, for the batch that a booking reads: each finds one resource
 * if there are as many as are allowed. They lock no row that bookings would have to wait for: bookings at the same moment
 * do not count each other, so that a limit can be exceeded by as many as run at once.
 *
 * @param requestor - id of its profile
 * @param count - how many appointments are about to be made
 */
export function requestorLimitReads(
  limits: readonly RequestorLimit[],
  requestor: string,
  now: number,
  config: BookingConfig,
  count = 1,
): BundleEntry[] {
  return limits.map((limit) => {
    const { type, most, query } = counted[limit];
    return search(type, [
      ['_tag', requestorQuery(requestor, config)],
      ...query(now, config),
      ['_offset', String(Math.max(0, config.requestors[most] - count))],
      ['_count', '1'],
      ['_fields', 'id'],
    ]);
  });
}

/**
 * The limits that are reached.
 *
 * @param answers - to `requestorLimitReads`; Medplum answers 403 to a search for what a caller may not see
 * @returns `undefined` if one of them is no answer
 */
export function limitsReached(
  limits: readonly RequestorLimit[],
  answers: readonly BundleEntry[],
): ReadonlySet<RequestorLimit> | undefined {
  const isAnswered = ({ response }: BundleEntry): boolean => response?.status === '200' || response?.status === '403';
  const isFound = ({ resource }: BundleEntry = {}): boolean =>
    isResource(resource, 'Bundle') && resource.entry?.[0]?.resource !== undefined;
  return answers.length === limits.length && answers.every(isAnswered)
    ? new Set(limits.filter((_, index) => isFound(answers[index])))
    : undefined;
}

/**
 * Checks a booking, a hold or a wish against the limits of the installation.
 *
 * @param earlier - the appointments that it moves or replaces: if one is open, the number of open ones stays the same
 */
export function requestorLimitIssues(
  reached: ReadonlySet<RequestorLimit>,
  earlier: readonly (Appointment | undefined)[],
  expression: string,
  { requestors: { maxOpenAppointments, maxBookingsPerMinute } }: BookingConfig,
): Issue[] {
  const isFurther = !earlier.some((appointment) => appointment && isOpen(appointment));
  const open = `You can have at most ${maxOpenAppointments} open appointments here: cancel some, or ask the clinic.`;
  const rate = `You can book, hold or change at most ${maxBookingsPerMinute} appointments a minute: wait and try again.`;
  const waiting = `You can have at most ${maxOpenAppointments} entries on the waitlist: leave some, or ask the clinic.`;
  return [
    ...(reached.has('waiting') ? [{ code: 'portal-limit-reached', diagnostics: waiting, expression } as const] : []),
    ...(reached.has('open') && isFurther
      ? [{ code: 'portal-limit-reached', diagnostics: open, expression } as const]
      : []),
    ...(reached.has('rate') || reached.has('jobs')
      ? [{ code: 'too-many-bookings', diagnostics: rate, expression } as const]
      : []),
  ];
}
