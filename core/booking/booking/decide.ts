import type { Issue } from '../../fhir/outcome/outcome.ts';
import { settle, withTaken } from '../../slots/settle.ts';
import { applyPolicy } from './apply-policy.ts';
import { patientsIn } from './resolve-participants.ts';
import { issuesOf } from './rules.ts';
import { selectSlots } from './select-slots.ts';
import { type BookingCalendar, buffersOf, type Prepared, type Situation, settling, timeAround } from './situation.ts';

/**
 * Decides about one appointment in a calendar.
 * @returns its slots, and all issues that do not depend on limits (`limitIssues`)
 * @see specification sections 3 and 4.4
 */
export function decide(
  prepared: Prepared,
  calendar: BookingCalendar,
): Situation & { readonly issues: readonly Issue[] } {
  const { request, state, earlier, resolved, context } = prepared;
  const selected = selectSlots(request, state, calendar.calendar);
  const result = applyPolicy(request, earlier, patientsIn(resolved, { request, state, ...context }), state, context);
  const situation = { ...prepared, ...calendar, selected, result };
  return { ...situation, issues: issuesOf(situation) };
}

/**
 * The calendar for the next appointment of the request. This one has taken its time without buffers: those between
 * appointments of one request count once.
 */
export function calendarAfter(situation: Situation): BookingCalendar {
  const { stored, reserved, calendar, rewritten, taken, counted, selected, request } = situation;
  const { interval } = request;
  const ids = selected.slots.map(({ id }) => id);
  const buffers = buffersOf(situation);
  const own = selected.slots.map((slot) => ({
    ...slot,
    ...timeAround(interval ?? { start: 0, end: 0 }, slot, buffers),
  }));
  return {
    stored,
    reserved,
    calendar:
      interval && ids.length > 0
        ? settle(calendar, withTaken(calendar, ids, interval, 'busy'), { ...settling(situation), stored })
        : calendar,
    rewritten,
    taken: [...taken, ...own],
    counted: [...counted, situation.result.quotas],
  };
}
