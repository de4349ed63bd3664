import type { MedplumClient } from '@medplum/core';
import type { BundleEntry, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import {
  asksForAlternatives,
  candidatesIn,
  MAX_ALTERNATIVES,
  MAX_SCHEDULES,
  nearbyReads,
  proposeIn,
  refusedIn,
  requestAt,
  type ScheduleSlots,
  sameServiceReads,
} from '../../../core/booking/booking/alternatives.ts';
import { schedulesNamed } from '../../../core/booking/booking/apply-policy.ts';
import type { Role } from '../../../core/booking/policy/caller-role.ts';
import { permittedIn } from '../../../core/booking/policy/judge.ts';
import type { AppointmentRequest, BookRequest, Purpose } from '../../../core/booking/request/request.ts';
import type { Alternative, Issue } from '../../../core/fhir/outcome/outcome.ts';
import { payerKindsOf } from '../../../core/fhir/payer-kind.ts';
import { serviceIdsOf } from '../../../core/fhir/reference.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../../../core/rows/resource-set.ts';
import { readsById, searchByIds } from '../../../core/rows/search.ts';
import type { Interval } from '../../../core/time/interval.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import {
  periodsFor,
  proposeWholes,
  requestFor,
  type WholeRequest,
  wholeIn,
  wholesIn,
} from '../../../core/visits/alternatives.ts';
import { partOf } from '../../../core/visits/check.ts';
import { readVisit } from '../../../core/visits/visit.ts';
import { readRole } from '../caller.ts';
import { config } from '../config.ts';
import { processorTime } from '../processor-time.ts';
import { ReadError, readStateAs } from '../read.ts';
import { findVisits } from '../visits/visits.ts';
import { type BookingDecision, decideBooking, type Requestor } from './decide.ts';

/** How many times are judged for one refusal, in the Schedules that it names, and in others. */
const MAX_JUDGED = 6;

/** For whom another time is sought, and for what. */
interface Seeking {
  readonly requestor: Requestor & { readonly role: Role };
  readonly purpose: Purpose;
  readonly now: number;
}

/** A refused request, and the appointment that is refused. */
interface Refusal extends Seeking {
  readonly whole: BookRequest;
  readonly request: AppointmentRequest & { readonly interval: Interval };
}

/** Reads with the rights of the caller: what it may not read is not proposed. */
async function read(medplum: MedplumClient, entry: BundleEntry[], { requestor }: Refusal): Promise<ResourceSet> {
  const { narrow = (state: ResourceSet) => state } = requestor;
  return narrow(await readStateAs(medplum, entry, requestor));
}

/**
 * The free Slots of some Schedules near the requested time, as far as the Schedules' policies permit booking them.
 *
 * @param returning - Slots that are free for this request alone
 */
async function readOffers(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
  actors: readonly HealthcareService[],
  refusal: Refusal,
  returning: readonly Slot[] = [],
): Promise<ScheduleSlots[]> {
  const { request, requestor, now } = refusal;
  const named = await read(medplum, searchByIds('HealthcareService', schedules.flatMap(serviceIdsOf)), refusal);
  const services = [...actors, ...resourcesOfType(named, 'HealthcareService')];
  const open = schedules.flatMap((schedule) => {
    const bounds = permittedIn(schedule, services, requestor.role, now, config);
    return bounds ? [{ schedule, bounds }] : [];
  });
  const entry = open.flatMap(({ schedule, bounds }) => nearbyReads(schedule, request.interval, bounds));
  const slots = [...resourcesOfType(await read(medplum, entry, refusal), 'Slot'), ...returning];
  return open.map(({ schedule, bounds }) => ({
    bounds,
    slots: slots.filter((slot) => slot.schedule.reference === `Schedule/${schedule.id}`),
  }));
}

/** Those candidates that the rules would accept now, in their order; no more than are needed. */
async function accepted(
  medplum: MedplumClient,
  candidates: readonly Alternative[],
  most: number,
  { requestor, purpose }: Seeking,
  requestOf: (alternative: Alternative) => BookRequest,
): Promise<Alternative[]> {
  const found: Alternative[] = [];
  const validated = candidates.slice(0, MAX_JUDGED);
  for (let next = 0; next < validated.length && found.length < most; next += most) {
    const some = validated.slice(next, next + most);
    const plans = await Promise.all(
      some.map((alternative) =>
        decideBooking(medplum, { request: requestOf(alternative), issues: [] }, requestor, { purpose, isDry: true }),
      ),
    );
    found.push(...some.filter((_, index) => plans[index]?.plan.kind === 'write'));
  }
  return found.slice(0, most);
}

/** The request with the refused appointment at another time. */
const elsewhereIn =
  ({ whole, request }: Refusal) =>
  (at: Alternative): BookRequest => ({
    ...whole,
    appointments: whole.appointments.map((appointmentRequest) =>
      appointmentRequest === request ? requestAt(at, appointmentRequest) : appointmentRequest,
    ),
  });

/** Times in the Schedules that the request names. */
async function inTheSamePlace(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
  state: ResourceSet,
  refusal: Refusal,
  returning: readonly Slot[],
) {
  const actors = resourcesOfType(state, 'HealthcareService');
  const offers = await readOffers(medplum, schedules, actors, refusal, returning);
  const { request } = refusal;
  const refused = request.slots.map(({ value }) => value);
  const groups = offers.length === schedules.length ? [offers] : [];
  return accepted(
    medplum,
    candidatesIn(groups, request.interval, refused),
    MAX_ALTERNATIVES,
    refusal,
    elsewhereIn(refusal),
  );
}

/** Times in other Schedules of the same service, as many as are still wanted. */
async function elsewhere(
  medplum: MedplumClient,
  schedules: readonly Schedule[],
  state: ResourceSet,
  most: number,
  refusal: Refusal,
) {
  const found = await read(medplum, sameServiceReads(refusal.request, schedules, state), refusal);
  const others = resourcesOfType(found, 'Schedule').filter(
    ({ id }) => !schedules.some((schedule) => schedule.id === id),
  );
  const actors = resourcesOfType(found, 'HealthcareService');
  const offers = await readOffers(medplum, others.slice(0, MAX_SCHEDULES), actors, refusal);
  const groups = offers.map((scheduleSlots) => [scheduleSlots]);
  return accepted(medplum, candidatesIn(groups, refusal.request.interval, []), most, refusal, elsewhereIn(refusal));
}

async function alternatives(
  medplum: MedplumClient,
  state: ResourceSet,
  refusal: Refusal,
  returning: readonly Slot[],
): Promise<Alternative[]> {
  const { request, requestor } = refusal;
  const schedules = schedulesNamed(request, state);
  const here = await inTheSamePlace(medplum, schedules, state, refusal, returning);
  const missing = MAX_ALTERNATIVES - here.length;
  // A job knows what its requestor could see of the resources it names, but not which other Schedules the requestor may
  // read.
  const mayLookElsewhere = requestor.authorization !== undefined && schedules.length < 2;
  return missing > 0 && mayLookElsewhere
    ? [...here, ...(await elsewhere(medplum, schedules, state, missing, refusal))]
    : here;
}

const isTimed = (appointmentRequest: AppointmentRequest): appointmentRequest is Refusal['request'] =>
  appointmentRequest.interval !== undefined;

/** How long other visits are looked for, as a share of the time that Medplum may take to answer. */
const SHARE = 0.1;

/** Whole visits as they were asked for, the next ones first. */
async function wholes(
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
  const deadline = now + config.timeout * 1_000 * SHARE;
  const time = processorTime();
  // A job knows what its requestor could see of what it names, but not what else the requestor may read.
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
    const good = await accepted(medplum, wholesIn(visits, whole, visit), MAX_ALTERNATIVES, seeking, (alternative) =>
      requestFor(alternative, whole.request, state, config),
    );
    if (good.length > 0) {
      return good;
    }
  }
  return [];
}

/**
 * Adds to a refusal the nearest times that the caller could book instead: of the same Schedules first, then of others of
 * the same service. They are looked for with the caller's rights, and judged by the rules as `$book` does; nothing is
 * written. Only for a refusal that another time could solve is anything read, in a bounded number of reads; if they fail,
 * the refusal stays as it is.
 *
 * Of several appointments of which one is refused, they are other times of that one which fit the others. If there are
 * none, or if several are refused, they are other whole visits, which `$find` proposes.
 *
 * @param decision - what was read for the request that was refused, and the Slots that are free for it alone
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
        ? await alternatives(medplum, state, { ...seeking, whole: asked, request }, returning)
        : [];
    return single.length > 0 || !whole
      ? proposeIn(issues, single)
      : proposeWholes(issues, await wholes(medplum, whole, state, seeking));
  } catch (error) {
    if (error instanceof ReadError) {
      return issues;
    }
    throw error;
  }
}
