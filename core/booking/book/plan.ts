import type { Appointment, Bundle, Slot } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { uniqueIssues, withoutConsequences } from '../issues.ts';
import type { ResourceSet } from '../resource-set.ts';
import type { BookingContext } from './context.ts';
import type { Knowledge, Wanted } from './knowledge.ts';
import type { ParsedRequest } from './request/request.ts';
import { findExistingBooking } from './resubmission/idempotency.ts';
import { issuesSoFar, lastIssues } from './rules.ts';
import { returningIn, situationsOf } from './situation.ts';
import { issuesTogether } from './together.ts';
import { transactionOf } from './transaction.ts';
import { visitRuleIssues } from './visit-rules.ts';
import { wantedFor } from './wanted.ts';

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
