import type { Appointment, Bundle, BundleEntry } from '@medplum/fhirtypes';
import { artefactUri, type BookingConfig } from '../../config/config.ts';
import { formatInstant, parseInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { inWriteOrder, updateEntry } from '../../fhir/update-entry.ts';
import { profileIssues } from '../appointment/profile.ts';
import { slotIdsOf } from '../appointment/slot-use.ts';
import { neededSlotStatus } from '../appointment/status.ts';
import { DEFAULT_HOLD, expired, hasRunOut, holdExtensions } from '../hold/hold.ts';
import { quotaEntries, quotaIssues } from '../policy/quota.ts';
import type { RequestorLimit } from '../policy/requestor-limits.ts';
import { idIn, type ResourceSet, resourcesOfType } from '../resource-set.ts';
import {
  type Calendar,
  type CalendarSlot,
  calendarEntries,
  calendarOf,
  join,
  release,
  take,
} from '../slots/calendar.ts';
import { type Interval, overlaps } from '../slots/interval.ts';
import { takenTime, withdrawalEntries } from '../slots/takings.ts';
import { answersReferredTo, unreadableAnswersIssues } from '../supporting-information.ts';
import { applyPolicy, type PolicyVerdict, schedulesConcerned } from './apply-policy.ts';
import { type Knowledge, unknownServices, type Wanted } from './knowledge.ts';
import { questionnaireResponseIssues } from './request/questionnaire-response.ts';
import type { BookRequest, ParsedRequest, Purpose } from './request/request.ts';
import { type ResolvedParticipants, resolveParticipants } from './resolve-participants.ts';
import { findExistingBooking } from './resubmission/idempotency.ts';
import { type EarlierAppointments, findEarlierAppointments, releaseEarlierSlots } from './resubmission/reschedule.ts';
import { granularityIssues } from './slots/granularity.ts';
import { schedulesOf, selectSlots } from './slots/select-slots.ts';
import { confirmationOf, serviceTypeIssues } from './slots/service-type.ts';
import { answersEntries, appointmentEntries, type Outcome } from './transaction.ts';

/** What a booking depends on besides the request and the stored state. */
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
  /** The limits of the installation that the requestor has reached. */
  readonly reached?: ReadonlySet<RequestorLimit> | undefined;
  /** What the request is for; by default a booking. */
  readonly purpose?: Purpose | undefined;
}

/** The decision about a booking. */
export type BookingPlan =
  /** A transaction, whose first entry is the appointment. */
  | { readonly kind: 'write'; readonly transaction: Bundle }
  /** Nothing to write: the same request was carried out before and booked this appointment. */
  | { readonly kind: 'existing'; readonly appointment: Appointment }
  /** To read more, and to decide again. */
  | { readonly kind: 'read'; readonly wanted: Wanted }
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

/** Problems of the slots. If a narrowed slot lost its time to a booking, only the taken time is reported. */
function slotIssues(selected: readonly Issue[], taken: readonly Issue[]): Issue[] {
  const own = taken.length > 0 ? selected.filter(({ code }) => code !== 'slot-mismatch') : selected;
  return [...own, ...taken.filter(({ expression }) => !own.some((issue) => issue.expression === expression))];
}

/** Issues that more knowledge of the slots could solve. */
const aboutSlots: ReadonlySet<string> = new Set(['slot-not-free', 'slot-mismatch', 'hold-expired']);

/** Whether more knowledge of the slots could turn this decision: fragments of split slots, or slots to be joined again. */
function dependsOnFragments(
  issues: readonly Issue[],
  { previous, replaced }: EarlierAppointments,
  { fragments }: Knowledge,
): boolean {
  const isAboutSlots = issues.every(({ code }) => aboutSlots.has(code));
  const hasExpired = (fragments?.expired ?? []).length > 0;
  return isAboutSlots && (issues.length > 0 || previous !== undefined || replaced !== undefined || hasExpired);
}

function isWithin({ start, end }: CalendarSlot, interval: Interval | undefined): boolean {
  return interval !== undefined && overlaps({ start, end }, interval);
}

/** The slots whose fragments a decision depends on: those named, those given back, and those of holds that are over. */
function originsOf(
  request: BookRequest,
  { previous, replaced }: EarlierAppointments,
  calendar: Calendar,
  { fragments }: Knowledge,
): string[] {
  const earlier = [previous, replaced, ...(fragments?.expired ?? [])].flatMap(slotIdsOf);
  const ids = [...request.slots.map(({ value }) => value), ...earlier];
  const tentative = [...calendar.values()].filter(
    (slot) =>
      slot.status === 'busy-tentative' &&
      idIn(slot.resource.schedule, 'Schedule') === request.schedule?.value &&
      isWithin(slot, request.interval),
  );
  const known = ids.flatMap((id) => calendar.get(id)?.origin ?? (fragments ? id : []));
  return [...new Set([...known, ...tentative.map(({ origin }) => origin)])];
}

/** The decision about a booking without problems. */
interface Decision {
  readonly slots: readonly CalendarSlot[];
  readonly calendar: Calendar;
  readonly resolved: ResolvedParticipants;
  readonly earlier: EarlierAppointments;
  readonly verdict: PolicyVerdict;
}

/** What the appointment becomes: booked or requested, as the clinic confirms, or held for some minutes. */
function outcomeOf(
  { slots, resolved, earlier, verdict }: Decision,
  state: ResourceSet,
  { role }: Knowledge,
  { config, now, purpose }: BookingContext,
): Pick<Outcome, 'status' | 'extension' | 'slotIds' | 'participants'> {
  const rest = { slotIds: slots.map(({ id }) => id), participants: resolved.participants };
  if (purpose === 'hold') {
    const lengths = verdict.policies.flatMap(({ policy }) => policy.holdFor ?? []);
    const until = now + Math.min(...(lengths.length > 0 ? lengths : [DEFAULT_HOLD]));
    const isProlonging = earlier.previous !== undefined && !hasRunOut(earlier.previous, now, config);
    return { ...rest, status: 'proposed', extension: holdExtensions(until, isProlonging, config) };
  }
  const isKept = role === 'repository' && earlier.previous?.status === 'booked';
  const confirmation = confirmationOf(schedulesOf(slots, state), state, config);
  return { ...rest, status: isKept || confirmation === 'automatic' ? 'booked' : 'pending', extension: [] };
}

/** The entries that end holds whose time is over: whoever held them is told on reading, not who came after. */
function takeoverEntries({ fragments }: Knowledge, config: BookingConfig): BundleEntry[] {
  return (fragments?.expired ?? []).map((hold) => updateEntry(hold, expired(hold, config)));
}

function transactionOf(
  request: BookRequest,
  decision: Decision,
  state: ResourceSet,
  known: Knowledge,
  context: BookingContext,
): Bundle {
  const { config, newId } = context;
  const { slots, calendar, resolved, earlier, verdict } = decision;
  const interval = request.interval ?? { start: 0, end: 0 };
  const decided = outcomeOf(decision, state, known, context);
  const slotStatus = decided.status === 'proposed' ? 'busy-tentative' : neededSlotStatus(decided);
  const taken = slotStatus
    ? slots.reduce<Calendar>((current, { id }) => take(current, id, interval, slotStatus, newId), calendar)
    : calendar;
  const answers = answersEntries(request, resolved, context);
  const outcome = { ...decided, answers: answers.flatMap(({ fullUrl }) => fullUrl ?? []) };
  const quotas = known.role === 'requestor' ? verdict.quotas : [];
  const changed = calendarEntries(taken, artefactUri(config, 'LocalSlotOrigin'));
  const withdrawn = withdrawalEntries({ interval, slots, services: undefined }, state, config);
  const entry: BundleEntry[] = [
    ...appointmentEntries(request, outcome, earlier, context),
    ...(withdrawn.length > 0 ? inWriteOrder([...changed, ...withdrawn]) : changed),
    ...resolved.entries,
    ...answers,
    ...takeoverEntries(known, config),
    ...quotaEntries(known.usage ?? new Map(), quotas, config),
  ];
  return { resourceType: 'Bundle', type: 'transaction', entry };
}

/** Slots of holds that are over are free for everybody. */
function releaseExpired(calendar: Calendar, { fragments }: Knowledge): Calendar {
  return (fragments?.expired ?? []).flatMap(slotIdsOf).reduce(release, calendar);
}

/** To one whose hold is over it says more that the hold is over than that the slot is taken. */
function asSeenByHolder(issues: readonly Issue[], { previous }: EarlierAppointments, context: BookingContext): Issue[] {
  const isOver = previous !== undefined && hasRunOut(previous, context.now, context.config);
  return issues.map((issue) =>
    isOver && issue.code === 'slot-not-free'
      ? {
          ...issue,
          code: 'hold-expired',
          diagnostics: 'The hold is over, and its time was taken meanwhile: search for another one.',
        }
      : issue,
  );
}

/** Whether it matters as whom the caller acts, apart from what policies have against the booking. */
function dependsOnRole({ previous }: EarlierAppointments, { quotas, issues }: PolicyVerdict): boolean {
  return issues.length > 0 || quotas.length > 0 || previous?.status === 'booked';
}

const isEmpty = (wanted: Wanted): boolean => Object.keys(wanted).length === 0;

/**
 * Decides about a booking or a hold: everything that speaks against it, or the one transaction that carries it out.
 * Every slot and appointment that is changed is written with the version that was read, so that of two bookings of the
 * same time one fails as a whole.
 *
 * @param parsed - the request as read by `parseBookRequest`
 * @param state - what the caller may see of all that the request names (`bookingReads`)
 * @param known - what was asked for meanwhile
 * @see specification 3 and 4.4
 */
export function planBooking(
  parsed: ParsedRequest,
  state: ResourceSet,
  context: BookingContext,
  known: Knowledge = {},
): BookingPlan {
  const { request } = parsed;
  if (!request) {
    return { kind: 'refuse', issues: parsed.issues };
  }
  const { config, now } = context;
  const { fragments, role, usage } = known;
  const slots = [...resourcesOfType(state, 'Slot'), ...(fragments?.slots ?? [])];
  const stored = calendarOf(slots, artefactUri(config, 'LocalSlotOrigin'), fragments?.uses);
  const resolved = resolveParticipants(request, state, context);
  const existing = findExistingBooking(request, resolved, state, stored, context);
  if (existing && parsed.issues.length === 0) {
    return { kind: 'existing', appointment: existing };
  }
  const earlier = findEarlierAppointments(request, state, context);
  const released = releaseExpired(releaseEarlierSlots(stored, earlier), known);
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
    ...asSeenByHolder(
      slotIssues(selected.issues, takenTimeIssues(request, concerned, earlier, state, context)),
      earlier,
      context,
    ),
    ...serviceTypeIssues(request, selected.slots, state),
    ...resolved.issues,
    ...request.answers.flatMap(questionnaireResponseIssues),
  ];
  const origins = originsOf(request, earlier, stored, known);
  const isFragmentary = !fragments || origins.some((origin) => fragments.origins?.includes(origin) === false);
  const rewritten = [earlier.previous?.id, earlier.replaced?.id].filter((id) => id !== undefined);
  const services = unknownServices(schedulesConcerned(request, earlier, state), known);
  const verdict = applyPolicy(request, earlier, resolved.patient?.reference, state, known, context);
  const wanted: Wanted = {
    ...(isFragmentary &&
      origins.length > 0 &&
      dependsOnFragments(found, earlier, known) && { fragments: { origins, rewritten } }),
    ...(services.length > 0 && { services }),
    ...(role === undefined && dependsOnRole(earlier, verdict) && { role: true }),
    ...(!usage &&
      role !== 'repository' &&
      found.length === 0 &&
      verdict.quotas.length > 0 && { quotas: verdict.quotas }),
  };
  if (!isEmpty(wanted)) {
    return { kind: 'read', wanted };
  }
  const ofPolicy =
    role === 'requestor'
      ? [
          ...verdict.issues,
          ...quotaIssues(verdict.quotas, usage ?? new Map(), rewritten, `${request.appointment.path}.start`, context),
        ]
      : [];
  const issues = [...found, ...granularityIssues(request, selected.slots, state, config), ...ofPolicy];
  if (issues.length > 0) {
    return { kind: 'refuse', issues };
  }
  const decision = { slots: selected.slots, calendar, resolved, earlier, verdict };
  return { kind: 'write', transaction: transactionOf(request, decision, state, known, context) };
}
