import type { Appointment, BundleEntry } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isResource } from '../../fhir/resource.ts';
import { requestorQuery, type TagConfig } from '../../fhir/tags.ts';
import { isOpen, statusQuery } from '../appointment/status.ts';
import { BOOK_TASK } from '../async/task.ts';
import { type SearchQuery, search } from '../search.ts';

/** The part of the configuration that the limits of a requestor depend on. */
export type RequestorLimitConfig = TagConfig & Pick<BookingConfig, 'requestors'>;

/** A limit of the installation for each requestor. */
export type RequestorLimit = 'open' | 'rate' | 'jobs';

/** The period over which the rate is counted, in milliseconds. */
const MINUTE = 60_000;

/** The search that finds a resource if a requestor has this many: it reads one resource at most. */
function nth(type: 'Appointment' | 'Task', count: number, query: SearchQuery): BundleEntry {
  return search(type, [...query, ['_offset', String(count - 1)], ['_count', '1'], ['_fields', 'id']]);
}

const reads: Readonly<Record<RequestorLimit, (tag: string, now: number, config: RequestorLimitConfig) => BundleEntry>> =
  {
    open: (tag, now, { requestors: { maxOpenAppointments } }) =>
      nth('Appointment', maxOpenAppointments, [
        ['_tag', tag],
        ['status', statusQuery(isOpen)],
        ['date', `ge${formatInstant(now)}`],
      ]),
    rate: (tag, now, { requestors: { maxBookingsPerMinute } }) =>
      nth('Appointment', maxBookingsPerMinute, [
        ['_tag', tag],
        ['_lastUpdated', `ge${formatInstant(now - MINUTE)}`],
      ]),
    jobs: (tag, _now, config) =>
      nth('Task', config.requestors.maxBookingsPerMinute, [
        ['_tag', tag],
        ['code', `${artefactUri(config, 'LocalTask')}|${BOOK_TASK}`],
        ['status', 'requested'],
      ]),
  };

/**
 * The searches that tell which limits a requestor has reached. They take no row that bookings would have to wait for:
 * bookings of the same moment do not count each other, so that a limit can be passed by as many as run at once.
 *
 * @param limits - those that are asked for
 * @param requestor - id of its profile
 */
export function requestorLimitReads(
  limits: readonly RequestorLimit[],
  requestor: string,
  now: number,
  config: RequestorLimitConfig,
): BundleEntry[] {
  return limits.map((limit) => reads[limit](requestorQuery(requestor, config), now, config));
}

/**
 * How many further bookings of a requestor that is below a limit need not ask for it again: one in a hundred of the
 * limit, by which a limit is passed at most.
 */
export function slackOf(limit: RequestorLimit, { requestors }: RequestorLimitConfig): number {
  const { maxOpenAppointments, maxBookingsPerMinute } = requestors;
  return Math.floor((limit === 'open' ? maxOpenAppointments : maxBookingsPerMinute) / 100);
}

/** The limits that a requestor has reached, by the answers to `requestorLimitReads`. */
export function reachedLimits(
  limits: readonly RequestorLimit[],
  answers: readonly BundleEntry[],
): ReadonlySet<RequestorLimit> {
  const hasFound = ({ resource }: BundleEntry): boolean =>
    isResource(resource, 'Bundle') && (resource.entry ?? []).length > 0;
  return new Set(limits.filter((_, index) => hasFound(answers[index] ?? {})));
}

/**
 * Checks a booking or a hold against the limits of the installation.
 *
 * @param earlier - the appointments that it moves or replaces: if one of them is open, the number of open ones stays
 */
export function requestorLimitIssues(
  reached: ReadonlySet<RequestorLimit>,
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
