import { bookingErrors } from '../../fhir/outcome/errors.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { idIn } from '../../fhir/reference.ts';
import { belongsTo } from '../../fhir/tags.ts';
import { resourcesOfType } from '../../rows/resource-set.ts';
import { reachOf } from '../../slots/terms.ts';
import { overlaps } from '../../time/interval.ts';
import { endOf, isHold } from '../appointment/expiry.ts';
import { merged, type ScheduleTime } from '../appointment/reads.ts';
import type { Quota } from '../policy/quota.ts';
import {
  type BookingDecision,
  buffersOf,
  givenBackBy,
  type PreparedAppointment,
  schedulesIn,
  slotsConcerned,
} from './booking-calendar.ts';
import { perhapsMoved } from './idempotency.ts';
import { changedBy, mergedPatients } from './reschedule.ts';
import { longestIssues } from './select-slots.ts';
import { payerKindIssues } from './service-type.ts';

/** The inputs of the second reading of a booking, one for each part of `Knowledge`. */
export interface Following {
  readonly asksForRole: boolean;
  /** Ids of the changed appointments that are not the caller's own. */
  readonly ofOthers: readonly string[];
  /** Ids of the appointments that the request rewrites: their use of Slots does not count. */
  readonly rewritten: readonly string[];
  /** Ids of the Slots whose fragments and holders must be read. */
  readonly origins: readonly string[];
  /** The times at which all Slots must be read. */
  readonly times: readonly ScheduleTime[];
  readonly quotas: readonly Quota[];
  /** Ids of the appointments whose Tasks must be read. */
  readonly waiting: readonly string[];
  /** Ids of the appointments whose history must be read. */
  readonly repeated: readonly string[];
}

/** Issues that the second reading may resolve. */
const resolvable: ReadonlySet<string> = new Set([
  'slot-not-free',
  'slot-mismatch',
  'hold-expired',
  'confirmation-expired',
]);

/** Origins of held or requested slots in the named schedule at the requested time. */
function tentativeOrigins({ request: { schedule, interval }, stored }: BookingDecision): string[] {
  return [...stored.values()].flatMap((slot) => {
    const isOfSchedule = idIn(slot.resource.schedule, 'Schedule') === schedule?.value;
    const isThen = interval !== undefined && overlaps(slot, interval);
    return slot.status === 'busy-tentative' && isOfSchedule && isThen ? slot.origin : [];
  });
}

/** Origins of slots that were split or may be joined again: named ones, and those that the booking gives back. */
function originsOf(decision: BookingDecision): string[] {
  const { request, stored } = decision;
  const ids = [...request.slots.map(({ value }) => value), ...givenBackBy(decision)];
  return [...new Set([...ids.flatMap((id) => stored.get(id)?.origin ?? []), ...tentativeOrigins(decision)])];
}

/**
 * The times at which all Slots must be read. Buffers reach beyond the time of the appointment, and released time can
 * make other slots bookable again.
 */
function timesOf(decision: BookingDecision, origins: readonly string[]): ScheduleTime[] {
  const { request, stored, selected, context } = decision;
  const slots = [...slotsConcerned(decision), ...selected.slots, ...origins.flatMap((id) => stored.get(id) ?? [])];
  const givenBack = givenBackBy(decision).flatMap((id) => stored.get(id) ?? []);
  const reach = reachOf(schedulesIn(decision), context.config);
  const wanted = request.interval;
  const own = wanted ? slots.map(({ schedule }) => ({ schedule, ...wanted })) : [];
  const isWide = origins.length > 0 || buffersOf(decision).size > 0;
  return merged(
    (isWide ? [...own, ...givenBack] : []).map(({ schedule, start, end }) => ({
      schedule,
      start: start - reach,
      end: end + reach,
    })),
  );
}

/**
 * The second reading for one appointment, derived from its first decision. The role matters where a policy or a limit
 * applies, where an appointment other than a hold is moved, and where a changed appointment is not the caller's own.
 * @param found - the issues so far
 */
export function followingOf(decision: BookingDecision, found: readonly Issue[]): Following {
  const { result: policyResult, earlier, known, context } = decision;
  const { requestor, config } = context;
  const changed = changedBy(earlier);
  const others = changed.flatMap((appointment) =>
    appointment.id && !belongsTo(appointment, requestor, config) ? [appointment.id] : [],
  );
  const isMoved = earlier.previous !== undefined && !isHold(earlier.previous, config);
  const limits = [policyResult.issues, policyResult.quotas, longestIssues(decision), payerKindIssues(decision)];
  const isBound = limits.some(({ length }) => length > 0);
  const isOpen = found.every(({ code }) => resolvable.has(code));
  const isAboutSlots = isOpen && (found.length > 0 || changed.length > 0);
  const origins = isAboutSlots ? originsOf(decision) : [];
  const isMalformed = found.some(({ code }) => bookingErrors[code].status === 400);
  return {
    asksForRole: known.role === undefined && (isBound || isMoved || others.length > 0),
    ofOthers: others,
    rewritten: decision.rewritten,
    origins,
    times: isOpen ? timesOf(decision, origins) : [],
    quotas: isOpen && known.role !== 'staff' ? policyResult.quotas : [],
    waiting: changed
      .filter((appointment) => endOf('request', appointment, config) ?? endOf('offer', appointment, config))
      .flatMap(({ id }) => id ?? []),
    repeated: isMalformed ? [] : perhapsMoved(decision),
  };
}

/** Ids of the patients of a request whose survivors must be read, because the clinic may have merged them. */
export function mergedIn({ resolved, earlier, state, context }: PreparedAppointment): string[] {
  const named = resolved.participants.flatMap(({ actor }) => idIn(actor, 'Patient') ?? []);
  return mergedPatients(named, earlier, state, context.config.baseUrl);
}

/**
 * Ids of the patients whose authors must be read, because several match. The author distinguishes duplicates made by
 * simultaneous bookings from patients that a portal submitted.
 */
export const ambiguousIn = ({ resolved, state }: PreparedAppointment): string[] =>
  resolved.issues.some(({ code }) => code === 'patient-ambiguous')
    ? resourcesOfType(state, 'Patient').flatMap(({ id }) => id ?? [])
    : [];
