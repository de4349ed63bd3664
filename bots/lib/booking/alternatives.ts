import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import { schedulesNamed } from '../../../core/booking/booking/apply-policy.ts';
import type { Role } from '../../../core/booking/policy/caller-rights.ts';
import { permittedIn } from '../../../core/booking/policy/policy.ts';
import type { AppointmentRequest, BookRequest, Purpose } from '../../../core/booking/request/request.ts';
import type { Alternative, Issue } from '../../../core/fhir/outcome/outcome.ts';
import { serviceIdsOf } from '../../../core/fhir/reference.ts';
import { payerKindsOf } from '../../../core/fhir/scheduling/slot-marks.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../../../core/rows/resource-set.ts';
import { readsById, searchByIds } from '../../../core/rows/search.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import {
  asksForAlternatives,
  candidatesIn,
  MAX_ALTERNATIVES,
  MAX_SCHEDULES,
  nearbyReads,
  periodsFor,
  proposeIn,
  proposeWholes,
  refusedIn,
  requestAt,
  requestFor,
  type ScheduleSlots,
  sameServiceReads,
  type WholeRequest,
  wholeIn,
  wholesIn,
} from '../../../core/visits/alternatives.ts';
import { partOf } from '../../../core/visits/check.ts';
import { readVisit } from '../../../core/visits/visit.ts';
import { readRole } from '../caller.ts';
import { config } from '../config.ts';
import { ReadError, readStateAs } from '../read.ts';
import { findVisits, processorTime } from '../visits/visits.ts';
import { type BookingDecision, decideBooking, type Requestor } from './decide.ts';

const MAX_VALIDATED = 6;

/** Time limit of the search, in milliseconds: others wait for the same server. */
const LIMIT = config.timeout * 100;

interface Seeking {
  readonly requestor: Requestor & { readonly role: Role };
  readonly purpose: Purpose;
  readonly now: number;
}

/** A refused request, and the appointment in it that caused the refusal. */
interface Refusal extends Seeking {
  readonly whole: BookRequest;
  readonly request: AppointmentRequest & { readonly interval: Interval };
}

/** Reads with the rights of the caller, and narrows the result: a time that the caller may not read is not proposed. */
async function readSeen(medplum: MedplumClient, entry: BundleEntry[], { requestor }: Refusal): Promise<ResourceSet> {
  const { narrow = (state: ResourceSet) => state } = requestor;
  return narrow(await readStateAs(medplum, entry, requestor));
}

/**
 * Returns the free Slots near the requested time that the policies of their Schedules permit to book.
 * @param returning - Slots that are free for this request alone
 */
async function readFreeSlots(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
  actors: readonly HealthcareService[],
  refusal: Refusal,
  returning: readonly Slot[] = [],
): Promise<ScheduleSlots[]> {
  const { request, requestor, now } = refusal;
  const found = await readSeen(medplum, searchByIds('HealthcareService', schedules.flatMap(serviceIdsOf)), refusal);
  const services = [...actors, ...resourcesOfType(found, 'HealthcareService')];
  const open = schedules.flatMap((schedule) => {
    const bounds = permittedIn(schedule, services, requestor.role, now, config);
    return bounds ? [{ schedule, bounds }] : [];
  });
  const entry = open.flatMap(({ schedule, bounds }) => nearbyReads(schedule, request.interval, bounds));
  const slots = [...resourcesOfType(await readSeen(medplum, entry, refusal), 'Slot'), ...returning];
  return open.map(({ schedule, bounds }) => ({
    bounds,
    slots: slots.filter((slot) => slot.schedule.reference === `Schedule/${schedule.id}`),
  }));
}

/** Returns the candidates that a dry run accepts now, in their order: at most `most`, fewer at the time limit. */
async function validated(
  medplum: MedplumClient,
  candidates: readonly Alternative[],
  most: number,
  { requestor, purpose, now }: Seeking,
  requestOf: (alternative: Alternative) => BookRequest,
): Promise<Alternative[]> {
  const found: Alternative[] = [];
  for (const alternative of candidates.slice(0, MAX_VALIDATED)) {
    if (found.length === most || Date.now() > now + LIMIT) {
      break;
    }
    const parsed = { request: requestOf(alternative), issues: [] };
    const { plan } = await decideBooking(medplum, parsed, requestor, { purpose, isDry: true });
    found.push(...(plan.kind === 'write' ? [alternative] : []));
  }
  return found;
}

/** The whole request with the refused appointment at an alternative time. */
const requestWith =
  ({ whole, request }: Refusal) =>
  (at: Alternative): BookRequest => ({
    ...whole,
    appointments: whole.appointments.map((appointmentRequest) =>
      appointmentRequest === request ? requestAt(at, appointmentRequest) : appointmentRequest,
    ),
  });

/** Other times in the Schedules of the refused appointment; none if one of them may not be booked. */
async function inSameSchedules(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
  state: ResourceSet,
  refusal: Refusal,
  returning: readonly Slot[],
) {
  const actors = resourcesOfType(state, 'HealthcareService');
  const freeSlots = await readFreeSlots(medplum, schedules, actors, refusal, returning);
  const { request } = refusal;
  const refused = request.slots.map(({ value }) => value);
  const groups = freeSlots.length === schedules.length ? [freeSlots] : [];
  return validated(
    medplum,
    candidatesIn(groups, request.interval, refused),
    MAX_ALTERNATIVES,
    refusal,
    requestWith(refusal),
  );
}

/** Times in other Schedules of the same service, each Schedule by itself. */
async function inOtherSchedules(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
  state: ResourceSet,
  most: number,
  refusal: Refusal,
) {
  const found = await readSeen(medplum, sameServiceReads(refusal.request, schedules, state), refusal);
  const otherSchedules = resourcesOfType(found, 'Schedule').filter(
    ({ id }) => !schedules.some((schedule) => schedule.id === id),
  );
  const actors = resourcesOfType(found, 'HealthcareService');
  const freeSlots = await readFreeSlots(medplum, otherSchedules.slice(0, MAX_SCHEDULES), actors, refusal);
  const groups = freeSlots.map((scheduleSlots) => [scheduleSlots]);
  return validated(medplum, candidatesIn(groups, refusal.request.interval, []), most, refusal, requestWith(refusal));
}

/** Other times of the refused appointment: in the same Schedules first, then in others if that caller may read them. */
async function otherTimes(
  medplum: MedplumClient,
  state: ResourceSet,
  refusal: Refusal,
  returning: readonly Slot[],
): Promise<Alternative[]> {
  const { request, requestor } = refusal;
  const schedules = schedulesNamed(request, state);
  const here = await inSameSchedules(medplum, schedules, state, refusal, returning);
  const missing = MAX_ALTERNATIVES - here.length;
  // A job has the named resources as its requestor could see them. It cannot tell which other Schedules the requestor
  // may read.
  const mayLookElsewhere = requestor.authorization !== undefined && schedules.length < 2;
  return missing > 0 && mayLookElsewhere
    ? [...here, ...(await inOtherSchedules(medplum, schedules, state, missing, refusal))]
    : here;
}

const isTimed = (appointmentRequest: AppointmentRequest): appointmentRequest is Refusal['request'] =>
  appointmentRequest.interval !== undefined;

/** Whole visits with the requested steps, from the first period that has any; none if the service has no visit. */
async function otherVisits(
  medplum: MedplumClient,
  whole: WholeRequest,
  state: ResourceSet,
  seeking: Seeking,
): Promise<Alternative[]> {
  const { requestor, now } = seeking;
  const read = await readStateAs(medplum, readsById('HealthcareService', [whole.service]), requestor);
  const service = findResource(read, 'HealthcareService', whole.service);
  const asked = service && readVisit(service, config).visit;
  const visit = asked && partOf(asked, whole.steps);
  const [payerKind] = whole.request.appointments
    .slice(0, 1)
    .flatMap(({ appointment }) => payerKindsOf(appointment.value, config));
  const deadline = now + LIMIT;
  const time = processorTime();
  // A job cannot tell what else its requestor may read: the search stays within the named Schedules.
  const named = whole.request.appointments.flatMap((appointmentRequest) =>
    schedulesNamed(appointmentRequest, state).flatMap(({ id }) => id ?? []),
  );
  const among = requestor.authorization === undefined ? named : undefined;
  if (!visit) {
    return [];
  }
  for (const period of periodsFor(whole, now)) {
    const { role } = requestor;
    const frame = { period, hours: { start: 0, end: DAY }, actors: [], payerKind, role, now, config };
    const found = await findVisits(medplum, {
      caller: requestor,
      visit,
      count: MAX_ALTERNATIVES,
      frame,
      deadline,
      time,
      among,
    });
    const visits = 'nobody' in found ? [] : found.visits;
    const good = await validated(medplum, wholesIn(visits, whole, visit), MAX_ALTERNATIVES, seeking, (alternative) =>
      requestFor(alternative, whole.request, state, config),
    );
    if (good.length > 0) {
      return good;
    }
  }
  return [];
}

/**
 * Adds to a refusal the nearest times that the caller could book instead: first in the same Schedules, then in others
 * of the same service. They are read with the caller's rights and validated as by `$book`; nothing is written. A
 * refusal that another time cannot solve is returned without any read. If a read fails, it is returned unchanged.
 *
 * If one of several appointments is refused, the alternatives are other times of this appointment that fit the rest. If
 * there are none, or several appointments are refused, they are other whole visits, found as by `$find`.
 * @param decision - the resources read for the refused request, and the Slots that are free for this request alone
 */
export async function withAlternatives(
  medplum: MedplumClient,
  issues: readonly Issue[],
  asked: BookRequest,
  { state, returning = [] }: Pick<BookingDecision, 'state'> & { readonly returning?: readonly Slot[] },
  requestor: Requestor,
  purpose: Purpose = 'book',
): Promise<readonly Issue[]> {
  if (!asksForAlternatives(issues)) {
    return issues;
  }
  const request = refusedIn(asked, issues);
  const whole = wholeIn(asked, state, config);
  try {
    const role = requestor.role ?? (await readRole(medplum, requestor.authorization));
    const seeking = { requestor: { ...requestor, role, limits: [] }, purpose, now: Date.now() };
    const single =
      request && isTimed(request)
        ? await otherTimes(medplum, state, { ...seeking, whole: asked, request }, returning)
        : [];
    return single.length > 0 || !whole
      ? proposeIn(issues, single)
      : proposeWholes(issues, await otherVisits(medplum, whole, state, seeking));
  } catch (error) {
    if (error instanceof ReadError) {
      return issues;
    }
    throw error;
  }
}
