import type { Resource, Slot } from '@medplum/fhirtypes';
import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { belongsTo } from '../../fhir/tags.ts';
import { type ResourceSet, resourcesOfType, scheduleOf, schedulesOfSlots } from '../../rows/resource-set.ts';
import { reservedIn } from '../../slots/reservation.ts';
import { settle, withGivenBack } from '../../slots/settle.ts';
import { type Calendar, type CalendarSlot, calendarOf, slotIdsOf } from '../../slots/slot.ts';
import { type Buffers, neededBuffers, type ScheduleServices, termsFor, withBuffers } from '../../slots/terms.ts';
import type { Interval } from '../../time/interval.ts';
import { withDisplays } from '../appointment/actors.ts';
import { allOf, clinicPartOf, type Submitted, submittedOf } from '../appointment/elements.ts';
import { endingOf, hasRunOut, isHold } from '../appointment/expiry.ts';
import { slotsToGiveBack } from '../appointment/reads.ts';
import type { Quota } from '../policy/quota.ts';
import type { AppointmentRequest } from '../request/request.ts';
import { type BookingContext, type Knowledge, type PolicyResult, schedulesNamed, servicesOf } from './apply-policy.ts';
import {
  changedBy,
  type EarlierAppointments,
  findEarlierAppointments,
  givingBack,
  successorPatientOf,
} from './reschedule.ts';
import { type ResolvedParticipants, resolveParticipants } from './resolve-participants.ts';
import { isForSamePatient, keptParticipants, resubmitted } from './resubmit.ts';

/** The resources and the context of a request. */
export interface RequestContext {
  /** The visible resources that the request names or leads to. */
  readonly state: ResourceSet;
  readonly known: Knowledge;
  /** `idFor` gives the `urn:uuid:` of a person to create: the same for all appointments of a request. */
  readonly context: BookingContext & { readonly idFor: (key: string) => string };
}

/** One appointment to book, united with the stored one, before the calendar is read. */
export interface PreparedAppointment extends RequestContext {
  readonly request: AppointmentRequest;
  readonly resolved: ResolvedParticipants;
  readonly earlier: EarlierAppointments;
  /** The parts that the requestor has sent of the stored appointment, if they are known. */
  readonly submitted: Submitted | undefined;
}

/**
 * The calendar in which an appointment is booked: the stored one, with the changes that its request has made so far.
 */
export interface BookingCalendar {
  readonly stored: Calendar;
  readonly reserved: readonly CalendarSlot[];
  /** The slots for this booking: those that it gives back, and those of expired holds and requests, are free. */
  readonly calendar: Calendar;
  /** The ids of the appointments that the request rewrites. */
  readonly rewritten: readonly string[];
  /** The time, buffers included, of earlier appointments of the request. */
  readonly taken: readonly CalendarSlot[];
  readonly counted: readonly (readonly Quota[])[];
}

/** The slots from which a booking takes its time, or the reasons why there are none. */
export interface SelectedSlots {
  readonly slots: readonly CalendarSlot[];
  readonly issues: readonly Issue[];
}

/** The decision about one appointment. */
export interface BookingDecision extends PreparedAppointment, BookingCalendar {
  readonly selected: SelectedSlots;
  readonly result: PolicyResult;
}

function storedCalendar({ state, known: { nearby }, context: { config } }: RequestContext): Calendar {
  // If a Slot was read twice, the second copy wins: its appointments were read together with it.
  return calendarOf([...resourcesOfType(state, 'Slot'), ...(nearby?.slots ?? [])], config, nearby?.uses);
}

/** The Schedules that were read, each with the services that it offers. */
export function schedulesIn({ state }: Pick<RequestContext, 'state'>): ScheduleServices[] {
  return resourcesOfType(state, 'Schedule').map((schedule) => servicesOf(schedule, state));
}

/** The Schedule of a slot with its services, if it was read. */
export function calendarAt({ resource }: CalendarSlot, { state }: Pick<RequestContext, 'state'>) {
  const schedule = scheduleOf(state, resource);
  return schedule && servicesOf(schedule, state);
}

/** The arguments of `settle` for the booking's calendars. */
export const settling = (given: RequestContext) => ({
  termsOf: termsFor(schedulesIn(given), given.context.config),
  newId: given.context.newId,
});

/** The calendar for the first appointment of a request. All slots that the request gives back are free in it. */
export function calendarFor(
  all: readonly Pick<PreparedAppointment, 'earlier'>[],
  given: RequestContext,
): BookingCalendar {
  const { state, known, context } = given;
  const stored = storedCalendar(given);
  const read = [...resourcesOfType(state, 'Task'), ...(known.nearby?.rows ?? [])];
  const rows = new Map(read.map((row) => [`${row.id} ${row.meta?.versionId}`, row]));
  const reading = { calendar: stored, now: context.now, openTimes: known.openTimes };
  const ending = [...all.flatMap(({ earlier }) => givingBack(earlier)), ...(known.nearby?.expired ?? [])];
  const ids = ending.flatMap((appointment) => slotsToGiveBack(appointment, stored, context.config));
  return {
    stored,
    reserved: reservedIn([...rows.values()], reading, context.config),
    calendar: ids.length === 0 ? stored : settle(stored, withGivenBack(stored, ids, context.config), settling(given)),
    rewritten: all.flatMap(({ earlier }) => changedBy(earlier)).flatMap(({ id }) => id ?? []),
    taken: [],
    counted: [],
  };
}

const nothing: Submitted = { elements: new Set(), participants: new Set(), extensions: new Set() };

/** The parts that the requestor has sent of the stored appointment. A hold belongs to the requestor entirely. */
function submittedBefore({ previous }: EarlierAppointments, { context: { config } }: RequestContext) {
  const unnoted = previous && isHold(previous, config) ? allOf(previous) : nothing;
  return previous && (submittedOf(previous, config) ?? unnoted);
}

function clinicPart(
  { previous }: EarlierAppointments,
  submitted: Submitted | undefined,
  { context: { config } }: RequestContext,
) {
  return previous && submitted && !isHold(previous, config) ? clinicPartOf(previous, submitted) : nothing;
}

/** Unites the request with the stored appointment. Staff may replace even what the clinic has set. */
function withStored(
  request: AppointmentRequest,
  { previous }: EarlierAppointments,
  clinic: Submitted,
  { participants }: ResolvedParticipants,
  { known, context }: RequestContext,
): AppointmentRequest {
  const { value } = request.appointment;
  const binding = known.role === 'staff' ? nothing : clinic;
  if (!previous) {
    return request;
  }
  const isSame = isForSamePatient(participants, previous);
  return {
    ...request,
    appointment: { ...request.appointment, value: resubmitted(value, previous, binding, isSame, context.config) },
  };
}

/** The participants in the request, and those that the clinic has added to the stored appointment. */
function participantsOf(
  request: AppointmentRequest,
  earlier: EarlierAppointments,
  clinic: Submitted,
  { state, known, context }: RequestContext,
): ResolvedParticipants {
  const successor = (id: string) => successorPatientOf(id, earlier, known.patients, context.config.baseUrl);
  const resolved = resolveParticipants(request, state, successor, context);
  const { previous } = earlier;
  const [before, after] = [schedulesOfSlots(slotIdsOf(previous), state), schedulesNamed(request, state)];
  const [left, joined] = [
    before.filter((schedule) => !after.includes(schedule)),
    after.filter((schedule) => !before.includes(schedule)),
  ];
  const kept = previous ? keptParticipants(resolved.participants, previous, clinic, left, joined) : [];
  const participants = [...resolved.participants, ...kept];
  const created = new Map(resolved.entries.map(({ fullUrl = '', resource }) => [fullUrl, resource]));
  const resourceAt = (reference: string) => created.get(reference) ?? state.get(reference);
  const isNamed = context.config.appointmentRules !== undefined;
  return { ...resolved, participants: isNamed ? withDisplays(participants, resourceAt) : participants, kept };
}

/** The state with only the appointments that the caller may move or replace. A requestor may change only its own. */
export function changeable({ state, known: { role }, context: { requestor, config } }: RequestContext): ResourceSet {
  const isOthers = (resource: Resource): boolean =>
    resource.resourceType === 'Appointment' && !belongsTo(resource, requestor, config);
  return role === 'requestor' ? new Map([...state].filter(([, one]) => !isOthers(one))) : state;
}

/**
 * Unites one appointment with the stored one, and resolves its participants.
 * @param ifMatch - the version that the appointment to be moved must have
 */
export function prepare(asked: AppointmentRequest, given: RequestContext, ifMatch?: string): PreparedAppointment {
  const earlier = findEarlierAppointments(asked, changeable(given), given.context, ifMatch);
  const submitted = submittedBefore(earlier, given);
  const clinic = clinicPart(earlier, submitted, given);
  const resolved = participantsOf(asked, earlier, clinic, given);
  return { ...given, request: withStored(asked, earlier, clinic, resolved, given), earlier, submitted, resolved };
}

/** The slots that the booking takes its time from; if none could be selected, the named ones. */
export function slotsConcerned({ request, selected, calendar }: BookingDecision): readonly CalendarSlot[] {
  return selected.slots.length > 0 ? selected.slots : request.slots.flatMap(({ value }) => calendar.get(value) ?? []);
}

interface SlotBuffers {
  readonly slot: CalendarSlot;
  readonly buffers: Buffers;
}

/** The buffers that the booking needs, by the id of the Schedule. */
export function buffersOf(decision: BookingDecision): Map<string, SlotBuffers> {
  const { request, selected, context } = decision;
  const found = new Map<string, SlotBuffers>();
  for (const slot of selected.slots.toSorted((one, other) => one.start - other.start)) {
    const calendar = calendarAt(slot, decision);
    const types = request.appointment.value.serviceType ?? [];
    const buffers = calendar && neededBuffers(calendar, slot, types, context.config);
    if (buffers && buffers.before + buffers.after > 0 && !found.has(slot.schedule)) {
      found.set(slot.schedule, { slot, buffers });
    }
  }
  return found;
}

/** The time that the booking needs in the Schedule of a slot, buffers included. */
export function timeAround(interval: Interval, { schedule }: CalendarSlot, buffers: ReadonlyMap<string, SlotBuffers>) {
  const needed = buffers.get(schedule)?.buffers;
  return needed ? withBuffers(interval, needed) : interval;
}

/** The slots of moved or replaced appointments, and of expired holds and requests, by id. */
export function givenBackBy({ earlier, known: { nearby } }: BookingDecision): string[] {
  return [...changedBy(earlier), ...(nearby?.expired ?? [])].flatMap(slotIdsOf);
}

/** The expiry of the caller's own hold or request; `undefined` if it has not expired. */
export function ownEnding({ earlier: { previous }, context: { now, config } }: PreparedAppointment) {
  return previous && endingOf(previous, now, config);
}

/** Whether staff confirm an appointment by sending it again: it was confirmed, or was not confirmed in time. */
export function isForStaffToKeep({ earlier: { previous }, context: { now, config } }: PreparedAppointment): boolean {
  return previous !== undefined && (previous.status === 'booked' || hasRunOut('request', previous, now, config));
}

/** Slots that are free for this booking alone, because it gives its own time back. */
export function freedForRequest({ stored, calendar }: BookingCalendar): Slot[] {
  return [...calendar.values()]
    .filter(({ id, status, isNew }) => status === 'free' && !isNew && stored.get(id)?.status !== 'free')
    .map(({ resource, start, end }) => ({
      ...resource,
      status: 'free',
      start: formatInstant(start),
      end: formatInstant(end),
    }));
}
