import type { Appointment, Resource, Slot } from '@medplum/fhirtypes';
import { formatInstant } from '../../fhir/instant.ts';
import { isSameJson } from '../../fhir/json.ts';
import { belongsTo } from '../../fhir/tags.ts';
import { type ResourceSet, resourcesOfType, scheduleOf, schedulesOfSlots } from '../../rows/resource-set.ts';
import { reservedIn } from '../../slots/reservation.ts';
import { settle, withGivenBack, withTaken } from '../../slots/settle.ts';
import { type Calendar, type CalendarSlot, calendarOf, slotIdsOf } from '../../slots/slot.ts';
import { type Buffers, neededBuffers, type ScheduleServices, termsFor, withBuffers } from '../../slots/terms.ts';
import type { Interval } from '../../time/interval.ts';
import { isByItself, siblingsOf, tookPlace } from '../../visits/group.ts';
import { type StepMark, stepOf } from '../../visits/visit.ts';
import { withDisplays } from '../appointment/actors.ts';
import { endingOf, hasRunOut, isHold, isOffer } from '../appointment/expiry.ts';
import { allOf, clinicPartOf, type Submitted, submittedOf } from '../appointment/submitted.ts';
import { slotsToGiveBack } from '../appointment/synchronize.ts';
import { type BookRequest, eachOf } from '../request/request.ts';
import { applyPolicy, type PolicyVerdict, schedulesNamed } from './apply-policy.ts';
import { type BookingContext, type Knowledge, readServices } from './knowledge.ts';
import { changedBy, type EarlierAppointments, findEarlierAppointments, givingBack, heirOf } from './reschedule.ts';
import { patientsIn, type ResolvedParticipants, resolveParticipants } from './resolve-participants.ts';
import { isForSamePatient, keptParticipants, resubmitted } from './resubmit.ts';
import { type SelectedSlots, selectSlots } from './select-slots.ts';

/** What a decision starts from: the request, and everything that was read for it. */
interface Given {
  readonly request: BookRequest;
  /** What the caller may see of everything that the request names (`bookingReads`). */
  readonly state: ResourceSet;
  readonly known: Knowledge;
  readonly context: BookingContext;
}

/**
 * What the booking of one appointment is judged by: what is given, the request with what is kept of a stored appointment, and
 * what follows. Of several appointments, those that come first have taken their time already.
 */
export interface Situation extends Given {
  /** The appointments of the same request that come before it in time. */
  readonly before: readonly Situation[];
  /** How many appointments the request books. */
  readonly count: number;
  /** Which step of a visit it is to be, or is. */
  readonly mark: StepMark | undefined;
  /** The ids of the appointments that the whole request rewrites. */
  readonly rewritten: readonly string[];
  readonly resolved: ResolvedParticipants;
  readonly earlier: EarlierAppointments;
  /** What its requestor has sent of the appointment that is sent again, if it is known. */
  readonly submitted: Submitted | undefined;
  /** The slots as they are stored. */
  readonly stored: Calendar;
  /** The time that others are about to take, as Slots. */
  readonly reserved: readonly CalendarSlot[];
  /** The slots as this booking may count them: its own earlier ones, and those of expired holds and requests, are free. */
  readonly calendar: Calendar;
  readonly selected: SelectedSlots;
  readonly verdict: PolicyVerdict;
}

/** The slots as they are stored, as far as they were read. */
function storedCalendar({ state, known: { fragments, around }, context: { config } }: Given): Calendar {
  // If a Slot was read twice, the second copy wins: its appointments were read together with it.
  const slots = [...resourcesOfType(state, 'Slot'), ...(around?.slots ?? []), ...(fragments?.slots ?? [])];
  return calendarOf(slots, config, fragments?.uses);
}

/** The Schedules that were read, each with the services that it offers. */
export function schedulesIn({ state, known }: Pick<Given, 'state' | 'known'>): ScheduleServices[] {
  return resourcesOfType(state, 'Schedule').map((schedule) => readServices(schedule, state, known));
}

/** The Schedule of a slot with its services, if it was read. */
export function calendarAt({ resource }: CalendarSlot, { state, known }: Pick<Given, 'state' | 'known'>) {
  const schedule = scheduleOf(state, resource);
  return schedule && readServices(schedule, state, known);
}

/** What `settle` needs to know of the booking's calendars. */
export const settling = (given: Given) => ({
  termsOf: termsFor(schedulesIn(given), given.context.config),
  newId: given.context.newId,
});

/** The slots as a booking may count them, with everything that returns when earlier ones are given back. */
function countedCalendar(stored: Calendar, earlier: readonly EarlierAppointments[], given: Given): Calendar {
  const { known, context } = given;
  const ending = [...earlier.flatMap(givingBack), ...(known.fragments?.expired ?? [])];
  const ids = ending.flatMap((one) => slotsToGiveBack(one, stored, context.config));
  return ids.length === 0 ? stored : settle(stored, withGivenBack(stored, ids, context.config), settling(given));
}

const nothing: Submitted = { elements: new Set(), participants: new Set(), extensions: new Set() };

/** What its requestor has sent of the appointment that is sent again. A hold is the requestor's alone. */
function submittedBefore({ previous }: EarlierAppointments, { context: { config } }: Given) {
  const unnoted = previous && isHold(previous, config) ? allOf(previous) : nothing;
  return previous && (submittedOf(previous, config) ?? unnoted);
}

/** What the clinic has set in the appointment that is sent again. */
function clinicPart(
  { previous }: EarlierAppointments,
  submitted: Submitted | undefined,
  { context: { config } }: Given,
) {
  return previous && submitted && !isHold(previous, config) ? clinicPartOf(previous, submitted) : nothing;
}

/** The request with what is kept of the stored appointment. What staff send replaces even what the clinic has set. */
function withStored(
  { previous }: EarlierAppointments,
  clinic: Submitted,
  { participants }: ResolvedParticipants,
  given: Given,
): BookRequest {
  const { request, known, context } = given;
  const { value } = request.appointment;
  const binding = known.role === 'repository' ? nothing : clinic;
  if (!previous) {
    return request;
  }
  const isSame = isForSamePatient(participants, previous);
  return {
    ...request,
    appointment: { ...request.appointment, value: resubmitted(value, previous, binding, isSame, context.config) },
  };
}

/**
 * Who takes part: those whom the request names, and those whom the clinic has added to the appointment that is sent again.
 */
function participantsOf(
  request: BookRequest,
  earlier: EarlierAppointments,
  clinic: Submitted,
  { state, known, context }: Given,
): ResolvedParticipants {
  const heir = (id: string) => heirOf(id, earlier, known.patients, context.config.baseUrl);
  const resolved = resolveParticipants(request, state, heir, context);
  const { previous } = earlier;
  const [before, after] = [schedulesOfSlots(slotIdsOf(previous), state), schedulesNamed(request, state)];
  const [left, joined] = [before.filter((one) => !after.includes(one)), after.filter((one) => !before.includes(one))];
  const kept = previous ? keptParticipants(resolved.participants, previous, clinic, left, joined) : [];
  const participants = [...resolved.participants, ...kept];
  const created = new Map(resolved.entries.map(({ fullUrl = '', resource }) => [fullUrl, resource]));
  const resourceAt = (reference: string) => created.get(reference) ?? state.get(reference);
  const isNamed = context.config.appointmentRules !== undefined;
  return { ...resolved, participants: isNamed ? withDisplays(participants, resourceAt) : participants, kept };
}

/** The state with only the appointments that the caller may move or replace: a requestor its own, whatever else it sees. */
function changeable({ state, known: { role }, context: { requestor, config } }: Given): ResourceSet {
  const isOthers = (one: Resource): boolean => one.resourceType === 'Appointment' && !belongsTo(one, requestor, config);
  return role === 'requestor' ? new Map([...state].filter(([, one]) => !isOthers(one))) : state;
}

/** One appointment of a request, with what is kept of a stored one, before its slots are looked at. */
type Prepared = Given & Pick<Situation, 'earlier' | 'submitted' | 'resolved' | 'mark'>;

function prepared(given: Given): Prepared {
  const { context } = given;
  const earlier = findEarlierAppointments(given.request, changeable(given), context);
  const submitted = submittedBefore(earlier, given);
  const clinic = clinicPart(earlier, submitted, given);
  const resolved = participantsOf(given.request, earlier, clinic, given);
  const request = withStored(earlier, clinic, resolved, given);
  const mark = request.appointment.step ?? (earlier.previous && stepOf(earlier.previous, context.config));
  return { ...given, request, earlier, submitted, resolved, mark };
}

/**
 * The others that were booked with the one that is replaced and end with it, if it is a requestor's: all of them where they
 * only end together, else those in whose place others are booked at once.
 */
function besidesReplaced({ replaced, previous, besides }: EarlierAppointments, given: Given): readonly Appointment[] {
  const { known, context, request } = given;
  const { now, config } = context;
  if (previous && isOffer(previous, config)) {
    return besides; // It says itself what it takes the place of; other steps stay.
  }
  if (!replaced || known.role === 'repository') {
    return besides;
  }
  const sent = eachOf(request).map(({ appointment }) => appointment);
  const named = new Set([replaced, ...besides].map(({ id }) => id));
  const isAlone = isByItself(replaced, known.visits, config);
  const isAnew = (one: Appointment): boolean =>
    sent.length > 1 && sent.some(({ step }) => step && isSameJson(step, stepOf(one, config)));
  const following = siblingsOf(replaced, changeable(given), now, config).filter(
    (one) =>
      !named.has(one.id) &&
      sent.every(({ value }) => value.id !== one.id) &&
      !tookPlace(one, now) &&
      (!isAlone || isAnew(one)),
  );
  return [...besides, ...following];
}

/** What several appointments of a request bring to its end, because they are offered for it together, ends once. */
function endingOnce(all: readonly Prepared[]): Prepared[] {
  const known = new Set<string | undefined>();
  const first = (one: Appointment | undefined): Appointment[] => {
    const isFirst = one !== undefined && !known.has(one.id);
    known.add(one?.id);
    return isFirst ? [one] : [];
  };
  return all.map(({ earlier, ...one }) => {
    const [replaced] = first(earlier.replaced);
    const [answered] = first(earlier.answered);
    return { ...one, earlier: { ...earlier, replaced, answered, besides: earlier.besides.flatMap(first) } };
  });
}

/** The patients of an appointment as one text. */
const patientsOf = ({ resolved }: Pick<Prepared, 'resolved'>): string =>
  [...resolved.participants.map(({ actor }) => actor?.reference), resolved.patient?.reference]
    .filter((one) => one?.startsWith('Patient/') || one?.startsWith('urn:'))
    .toSorted()
    .join();

/** Whether two appointments of a request are for the same patients. */
export const isForSame = (one: Pick<Prepared, 'resolved'>, other: Pick<Prepared, 'resolved'>): boolean =>
  patientsOf(one) === patientsOf(other);

/** Whether two appointments of a request name the same patient, stored or handed over. */
const isSamePerson = (one: Prepared, other: Prepared): boolean =>
  one.request.patient || other.request.patient
    ? one.request.patient?.path === other.request.patient?.path
    : isForSame(one, other);

/** A person who is created with one appointment of a request is created for all those of the same patient. */
function withSamePersons({ resolved, ...one }: Prepared, first: ResolvedParticipants | undefined): Prepared {
  const references = new Map(
    resolved.entries.flatMap(({ fullUrl = '', resource }) => {
      const same = first?.entries.find((other) => other.resource?.resourceType === resource?.resourceType)?.fullUrl;
      return same ? [[fullUrl, same] as const] : [];
    }),
  );
  const same = <T extends { readonly reference?: string }>(actor: T): T => {
    const reference = references.get(actor.reference ?? '');
    return reference ? { ...actor, reference } : actor;
  };
  const { participants, patient } = resolved;
  return {
    ...one,
    resolved: {
      ...resolved,
      participants: participants.map((each) => (each.actor ? { ...each, actor: same(each.actor) } : each)),
      ...(patient && { patient: same(patient) }),
      entries: resolved.entries.filter(({ fullUrl = '' }) => !references.has(fullUrl)),
    },
  };
}

/** Works out, step by step, what the appointments of a request are judged by, in the order in which they were sent. */
export function situationsOf(asked: Given): Situation[] {
  const { known, context } = asked;
  const state = new Map([...asked.state, ...(known.authored ?? [])]);
  const given = { ...asked, state };
  const [first, ...others] = endingOnce(
    eachOf(asked.request)
      .map((request) => prepared({ ...given, request }))
      .map((one) => ({ ...one, earlier: { ...one.earlier, besides: besidesReplaced(one.earlier, given) } })),
  );
  const all = first ? [first, ...others] : [];
  const steps = all.map((one, index) => {
    const same = all.slice(0, index).find((other) => isSamePerson(one, other));
    return withSamePersons(one, same?.resolved);
  });
  const earlier = steps.map((one) => one.earlier);
  const rewritten = earlier.flatMap(changedBy);
  const stored = storedCalendar(given);
  const made = new Map<Prepared, Situation>();
  const read = [...resourcesOfType(state, 'Task'), ...(known.around?.rows ?? []), ...(known.fragments?.rows ?? [])];
  const rows = new Map(read.map((row) => [`${row.id} ${row.meta?.versionId}`, row]));
  const reading = { calendar: stored, now: context.now, open: known.announced };
  const reserved = reservedIn([...rows.values()], reading, context.config);
  let calendar = countedCalendar(stored, earlier, given);
  const startOf = ({ request: { interval } }: Prepared): number => interval?.start ?? 0;
  for (const step of steps.toSorted((one, other) => startOf(one) - startOf(other))) {
    const selected = selectSlots(step.request, state, calendar);
    const verdict = applyPolicy(
      step.request,
      step.earlier,
      patientsIn(step.resolved, { ...step, ...context }),
      state,
      known,
      context,
    );
    const ids = rewritten.flatMap(({ id }) => id ?? []);
    const before = [...made.values()];
    const found = { rewritten: ids, stored, reserved, calendar, selected, verdict };
    const situation = { ...step, ...found, before, count: steps.length };
    made.set(step, situation);
    calendar = made.size < steps.length ? withTimeTaken(situation) : calendar;
  }
  return steps.flatMap((step) => made.get(step) ?? []);
}

/** The calendar once an appointment has taken its time, but no buffers: those between appointments of one request count once. */
function withTimeTaken(situation: Situation): Calendar {
  const { calendar, selected, request, stored } = situation;
  const ids = selected.slots.map(({ id }) => id);
  const taken = request.interval ? withTaken(calendar, ids, request.interval, 'busy') : calendar;
  return ids.length > 0 ? settle(calendar, taken, { ...settling(situation), stored }) : calendar;
}

/** The slots that the booking takes its time from; where none could be selected, those that it names. */
export function slotsConcerned({ request, selected, calendar }: Situation): readonly CalendarSlot[] {
  return selected.slots.length > 0 ? selected.slots : request.slots.flatMap(({ value }) => calendar.get(value) ?? []);
}

/** The buffers that the booking needs in one Schedule, and the first slot that it takes there. */
interface SlotBuffers {
  readonly slot: CalendarSlot;
  readonly buffers: Buffers;
}

/** The buffers that the booking needs, by the id of the Schedule. */
export function buffersOf(situation: Situation): Map<string, SlotBuffers> {
  const { request, selected, context } = situation;
  const found = new Map<string, SlotBuffers>();
  for (const slot of selected.slots.toSorted((one, other) => one.start - other.start)) {
    const calendar = calendarAt(slot, situation);
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

/**
 * Ids of the slots that the booking gives back: those of appointments that it moves or replaces, and of expired holds and
 * requests.
 */
export function givenBackBy({ earlier, known: { fragments } }: Situation): string[] {
  return [...changedBy(earlier), ...(fragments?.expired ?? [])].flatMap(slotIdsOf);
}

/** How the hold or request that the caller sends again ended by itself, if it did. */
export function ownEnding({ earlier: { previous }, context: { now, config } }: Situation) {
  return previous && endingOf(previous, now, config);
}

/** Whether staff confirm an appointment by sending it again: it was confirmed, or was not confirmed in time. */
export function isForStaffToKeep({ earlier: { previous }, context: { now, config } }: Situation): boolean {
  return previous !== undefined && (previous.status === 'booked' || hasRunOut('request', previous, now, config));
}

/** Slots that are free for this booking alone, because it gives its own time back. */
export function returningIn({ stored, calendar }: Situation): Slot[] {
  return [...calendar.values()]
    .filter(({ id, status, isNew }) => status === 'free' && !isNew && stored.get(id)?.status !== 'free')
    .map(({ resource, start, end }) => ({
      ...resource,
      status: 'free',
      start: formatInstant(start),
      end: formatInstant(end),
    }));
}
