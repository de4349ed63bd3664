import type { Appointment, Bundle, BundleEntry } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome.ts';
import { profileIssues } from '../appointment/profile.ts';
import { slotIdsOf } from '../appointment/slot-use.ts';
import { neededSlotStatus } from '../appointment/status.ts';
import { type ResourceSet, resourcesOfType } from '../resource-set.ts';
import { type Calendar, type CalendarSlot, calendarEntries, calendarOf, join, take } from '../slots/calendar.ts';
import type { Fragments } from '../slots/fragments.ts';
import { takenTime, withdrawalEntries } from '../slots/takings.ts';
import { answersReferredTo, unreadableAnswersIssues } from '../supporting-information.ts';
import { granularityIssues } from './granularity.ts';
import { findExistingBooking } from './idempotency.ts';
import { questionnaireResponseIssues } from './questionnaire-response.ts';
import type { BookRequest, ParsedRequest } from './request.ts';
import { type EarlierAppointments, findEarlierAppointments, releaseEarlierSlots } from './reschedule.ts';
import { type ResolvedParticipants, resolveParticipants } from './resolve-participants.ts';
import { schedulesOf, selectSlots } from './select-slots.ts';
import { confirmationOf, serviceTypeIssues } from './service-type.ts';
import { answersEntries, appointmentEntries } from './transaction.ts';

/** What a booking depends on besides what was asked for and what is stored. */
export interface BookingContext {
  /** The moment of the decision, in milliseconds since 1970 UTC. */
  readonly now: number;
  /** Id of the requestor's profile in Medplum; everything the booking creates is tagged with it. */
  readonly requestor: string;
  readonly config: BookingConfig;
  /** Gives a fresh `urn:uuid:` for each resource that the transaction creates. */
  readonly newId: () => string;
  /** Ids of those taken Slots without a mark that were once free, as their histories show (`unmarkedIn`). */
  readonly offered?: ReadonlySet<string> | undefined;
}

/** What is to be done about a booking. */
export type BookingPlan =
  /** A transaction, whose first entry is the appointment. */
  | { readonly kind: 'write'; readonly transaction: Bundle }
  /** Nothing: the same request was carried out before, and this is what it booked. */
  | { readonly kind: 'existing'; readonly appointment: Appointment }
  /** To read the fragments of these slots (`fragmentReads`), without the uses of what is rewritten, and to decide again. */
  | { readonly kind: 'read-fragments'; readonly origins: readonly string[]; readonly rewritten: readonly string[] }
  | { readonly kind: 'refuse'; readonly issues: readonly Issue[] };

function timeIssues({ appointment, interval }: BookRequest, now: number): Issue[] {
  const { value, path } = appointment;
  const isReversed = !interval && parseInstant(value.start) !== undefined && parseInstant(value.end) !== undefined;
  if (isReversed) {
    const diagnostics = `The end ${value.end} must be later than the start ${value.start}.`;
    return [{ code: 'period-invalid', diagnostics, expression: `${path}.end` }];
  }
  if (interval && interval.start <= now) {
    const diagnostics = `The start ${value.start} must be in the future; it is ${formatInstant(now)} now.`;
    return [{ code: 'start-in-past', diagnostics, expression: `${path}.start` }];
  }
  return [];
}

function statusIssues({ appointment: { value, path } }: BookRequest): Issue[] {
  if (value.status === undefined || value.status === 'proposed') {
    return [];
  }
  const diagnostics = `An appointment to book must have the status proposed, not ${value.status}.`;
  return [{ code: 'status-not-proposed', diagnostics, expression: `${path}.status` }];
}

function informationIssues({ appointment }: BookRequest, state: ResourceSet, { baseUrl }: BookingConfig): Issue[] {
  return unreadableAnswersIssues(answersReferredTo(appointment.value, baseUrl, appointment.path), state);
}

/** Time that others have taken in Medplum: by its own scheduling, by hand, by an import. Free slots may be left of it. */
function takenTimeIssues(
  { appointment, slots: named, schedule, interval }: BookRequest,
  slots: readonly CalendarSlot[],
  { previous, replaced }: EarlierAppointments,
  state: ResourceSet,
  { config, offered = new Set() }: BookingContext,
): Issue[] {
  if (!interval) {
    return [];
  }
  const givenBack = [...slotIdsOf(previous), ...slotIdsOf(replaced)];
  const wanted = { interval, slots, services: appointment.value.serviceType, givenBack };
  return takenTime(wanted, state, offered, config).map(({ taken, from }) => ({
    code: 'slot-not-free',
    diagnostics: `The time from ${formatInstant(taken.start)} to ${formatInstant(taken.end)} is taken; search for another one.`,
    expression: named.find(({ value }) => value === from.id)?.path ?? schedule?.path ?? `${appointment.path}.slot`,
  }));
}

/** What speaks against the slots. That a slot was narrowed says less than that the time it lost is taken. */
function slotIssues(selected: readonly Issue[], taken: readonly Issue[]): Issue[] {
  const own = taken.length > 0 ? selected.filter(({ code }) => code !== 'slot-mismatch') : selected;
  return [...own, ...taken.filter(({ expression }) => !own.some((issue) => issue.expression === expression))];
}

/** Whether more knowledge of the slots could turn this decision: fragments of split slots, or slots to be joined again. */
function dependsOnFragments(issues: readonly Issue[], { previous, replaced }: EarlierAppointments): boolean {
  const isAboutSlots = issues.every(({ code }) => code === 'slot-not-free' || code === 'slot-mismatch');
  return isAboutSlots && (issues.length > 0 || previous !== undefined || replaced !== undefined);
}

function originsOf(request: BookRequest, { previous, replaced }: EarlierAppointments, calendar: Calendar): string[] {
  const ids = [...request.slots.map(({ value }) => value), ...slotIdsOf(previous), ...slotIdsOf(replaced)];
  return [...new Set(ids.flatMap((id) => calendar.get(id)?.origin ?? []))];
}

/** What was decided about a booking that nothing speaks against. */
interface Decision {
  readonly slots: readonly CalendarSlot[];
  readonly calendar: Calendar;
  readonly resolved: ResolvedParticipants;
  readonly earlier: EarlierAppointments;
}

function transactionOf(
  request: BookRequest,
  { slots, calendar, resolved, earlier }: Decision,
  state: ResourceSet,
  context: BookingContext,
): Bundle {
  const { config, newId } = context;
  const interval = request.interval ?? { start: 0, end: 0 };
  const confirmation = confirmationOf(schedulesOf(slots, state), state, config);
  const status = confirmation === 'automatic' ? ('booked' as const) : ('pending' as const);
  const slotStatus = neededSlotStatus({ status });
  const taken = slotStatus
    ? slots.reduce<Calendar>((current, { id }) => take(current, id, interval, slotStatus, newId), calendar)
    : calendar;
  const answers = answersEntries(request, resolved, context);
  const outcome = {
    status,
    slotIds: slots.map(({ id }) => id),
    participants: resolved.participants,
    answers: answers.flatMap(({ fullUrl }) => fullUrl ?? []),
  };
  const entry: BundleEntry[] = [
    ...appointmentEntries(request, outcome, earlier, context),
    ...calendarEntries(taken, artefactUri(config, 'LocalSlotOrigin')),
    ...withdrawalEntries({ interval, slots, services: undefined }, state, config),
    ...resolved.entries,
    ...answers,
  ];
  return { resourceType: 'Bundle', type: 'transaction', entry };
}

/**
 * Decides about a booking: everything that speaks against it, or the one transaction that carries it out. Every slot
 * and appointment that is changed is written with the version that was read, so that of two bookings of the same time
 * one fails as a whole.
 *
 * @param parsed - the request as read by `parseBookRequest`
 * @param state - what the caller may see of all that the request names (`bookingReads`)
 * @param fragments - what the slots were split into, once that was asked for
 * @see specification 3 and 4.4
 */
export function planBooking(
  parsed: ParsedRequest,
  state: ResourceSet,
  context: BookingContext,
  fragments?: Fragments,
): BookingPlan {
  const { request } = parsed;
  if (!request) {
    return { kind: 'refuse', issues: parsed.issues };
  }
  const { config, now } = context;
  const slots = [...resourcesOfType(state, 'Slot'), ...(fragments?.slots ?? [])];
  const stored = calendarOf(slots, artefactUri(config, 'LocalSlotOrigin'), fragments?.uses);
  const resolved = resolveParticipants(request, state, context);
  const booked = findExistingBooking(request, resolved, state, stored, context);
  if (booked && parsed.issues.length === 0) {
    return { kind: 'existing', appointment: booked };
  }
  const earlier = findEarlierAppointments(request, state);
  const released = releaseEarlierSlots(stored, earlier);
  const calendar = fragments && released !== stored ? join(released) : released;
  const selected = selectSlots(request, state, calendar);
  const named = request.slots.flatMap(({ value }) => calendar.get(value) ?? []);
  const concerned = selected.slots.length > 0 ? selected.slots : named;
  const found = [
    ...parsed.issues,
    ...statusIssues(request),
    ...timeIssues(request, now),
    ...profileIssues(request.appointment, config),
    ...informationIssues(request, state, config),
    ...earlier.issues,
    ...slotIssues(selected.issues, takenTimeIssues(request, concerned, earlier, state, context)),
    ...serviceTypeIssues(request, selected.slots, state),
    ...resolved.issues,
    ...request.answers.flatMap(questionnaireResponseIssues),
  ];
  const origins = originsOf(request, earlier, stored);
  if (!fragments && origins.length > 0 && dependsOnFragments(found, earlier)) {
    const rewritten = [earlier.previous?.id, earlier.replaced?.id].filter((id) => id !== undefined);
    return { kind: 'read-fragments', origins, rewritten };
  }
  const issues = [...found, ...granularityIssues(request, selected.slots, state, config)];
  if (issues.length > 0) {
    return { kind: 'refuse', issues };
  }
  const decision = { slots: selected.slots, calendar, resolved, earlier };
  return { kind: 'write', transaction: transactionOf(request, decision, state, context) };
}
