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

const MINUTE = 60_000;

/** The resources of a requestor that count towards a limit, and their maximum number. */
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
 * The searches for reached limits, for the batch that a booking reads: each finds one resource if the limit is reached.
 * They use no lock, so that bookings need not wait. Simultaneous bookings do not count each other and can exceed a
 * limit by their number.
 * @param requestor - id of its profile
 * @param count - the number of appointments to be made
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
 * @param answers - the responses to `requestorLimitReads`; Medplum responds with 403 to a search without access
 * @returns `undefined` if a search failed
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
 * Checks a booking, a hold or a waitlist entry against the limits of the installation.
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
