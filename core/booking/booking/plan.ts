import type { Appointment, Bundle, Slot } from '@medplum/fhirtypes';
import { formatInstant } from '../../fhir/instant.ts';
import { type Issue, uniqueIssues, withoutConsequences } from '../../fhir/outcome/outcome.ts';
import type { ResourceSet } from '../../rows/resource-set.ts';
import { overlaps } from '../../time/interval.ts';
import type { ParsedRequest } from '../request/request.ts';
import { findExistingBooking } from './idempotency.ts';
import type { BookingContext, Knowledge, Wanted } from './knowledge.ts';
import { issuesSoFar, lastIssues } from './rules.ts';
import { isForSame, returningIn, type Situation, situationsOf } from './situation.ts';
import { transactionOf } from './transaction.ts';
import { visitRuleIssues } from './visit-rules.ts';
import { wantedFor } from './wanted.ts';

/** A person cannot be at two places at once. */
function overlapIssues(situation: Situation): Issue[] {
  const { appointment, interval } = situation.request;
  const other = situation.before.find(
    (one) => interval && one.request.interval && isForSame(one, situation) && overlaps(interval, one.request.interval),
  );
  const end = formatInstant(other?.request.interval?.end ?? 0);
  const diagnostics = `The appointments of one request must not overlap: another one ends at ${end}.`;
  return other ? [{ code: 'period-invalid', diagnostics, expression: `${appointment.path}.start` }] : [];
}

/** The problems of several appointments that are booked at once, beside those of each. */
function issuesTogether(situations: readonly Situation[]): Issue[] {
  const [first, ...others] = situations;
  if (!first || others.length === 0) {
    return [];
  }
  const steps = situations.filter(({ mark }) => mark);
  const strangers = steps.filter((one) => steps[0] && !isForSame(one, steps[0]));
  return [
    ...situations.flatMap(overlapIssues),
    ...strangers.map(({ request: { appointment } }): Issue => {
      const diagnostics = 'The appointments of a visit must be for the same patient.';
      return { code: 'patient-mismatch', diagnostics, expression: `${appointment.path}.participant` };
    }),
    ...(first.request.ifMatch === undefined
      ? []
      : [
          {
            code: 'malformed-request',
            diagnostics: 'If-Match names one version: it cannot be sent with several appointments.',
            expression: 'http.If-Match',
          } as const,
        ]),
  ];
}

/** The decision about a booking. */
export type BookingPlan =
  /** A transaction, whose first entries are the appointments, in the order in which they were sent. */
  | { readonly kind: 'write'; readonly transaction: Bundle }
  /** Nothing to write: the same request was carried out before and booked these appointments. */
  | { readonly kind: 'existing'; readonly appointments: readonly Appointment[] }
  /** More must be read before deciding again. */
  | { readonly kind: 'read'; readonly wanted: Wanted }
  | {
      readonly kind: 'refuse';
      readonly issues: readonly Issue[];
      /** Slots that are free for this request alone, because it gives its own time back. */
      readonly returning?: readonly Slot[];
    };

/**
 * Decides about a booking or a hold of one appointment or several: gives all its problems, or the one transaction that
 * carries it out. Every slot and
 * appointment that is changed is written on condition of the version that was read, so that of two bookings of the same time
 * one fails as a whole.
 *
 * @param parsed - the request as read by `parseBookRequest`
 * @param state - what the caller may see of everything that the request names (`bookingReads`)
 * @param known - what has been read since because this function asked for it
 * @see specification sections 3 and 4.4
 */
export function planBooking(
  { request, issues: malformed, unreadable }: ParsedRequest,
  state: ResourceSet,
  context: BookingContext,
  known: Knowledge = {},
): BookingPlan {
  if (!request) {
    return { kind: 'refuse', issues: malformed };
  }
  const situations = situationsOf({ request, state, known, context });
  const existing = situations.flatMap((one) => findExistingBooking(one) ?? []);
  if (existing.length === situations.length && malformed.length === 0) {
    return { kind: 'existing', appointments: existing };
  }
  const without = (issues: readonly Issue[]) => uniqueIssues(withoutConsequences(issues, unreadable));
  const found = [...malformed, ...without([...situations.flatMap(issuesSoFar), ...issuesTogether(situations)])];
  const wanted = wantedFor(situations, found);
  if (wanted) {
    return { kind: 'read', wanted };
  }
  const issues = [...found, ...without([...situations.flatMap(lastIssues), ...visitRuleIssues(situations)])];
  return issues.length > 0
    ? { kind: 'refuse', issues, returning: situations.slice(0, 1).flatMap(returningIn) }
    : { kind: 'write', transaction: transactionOf(situations) };
}
