import { created, createReference, isResource, OperationOutcomeError, type WithId } from '@medplum/core';
import type { FhirResponse } from '@medplum/fhir-router';
import type {
  Appointment,
  HealthcareService,
  OperationOutcomeIssue,
  Parameters,
  Schedule,
  Slot,
} from '@medplum/fhirtypes';
import type { SandboxRepository } from '../repository/repository.ts';
import { availableTime, intervalOf, isAligned, MINUTE, stamped } from './availability.ts';
import { type Calendar, readCalendars, readSlots } from './calendar.ts';
import { refusal, servicesIn } from './parameters.ts';
import { weeksOf } from './series.ts';

const path = 'Parameters.appointment';

function appointmentIn(body: unknown): Appointment {
  const parameters = isResource<Parameters>(body, 'Parameters') ? (body.parameter ?? []) : [];
  const found = parameters.filter(({ name }) => name === 'appointment');
  const [only] = found;
  if (found.length !== 1 || !isResource<Appointment>(only?.resource, 'Appointment')) {
    throw refusal(`Expected 1 value(s) for input parameter appointment, but ${found.length} provided`);
  }
  return only.resource;
}

const minutesOf = (slot: Slot): number => (Date.parse(slot.end) - Date.parse(slot.start)) / MINUTE;

/** Throws unless the only Slot of a buffer is `busy-unavailable` and as long as the service requires. */
function assertBuffer(side: 'Before' | 'After', slots: readonly Slot[], busy: Slot, wanted: number): void {
  if (wanted === 0) {
    return;
  }
  const found = slots.filter(
    (slot) =>
      slot.status === 'busy-unavailable' &&
      (side === 'Before'
        ? intervalOf(slot).end === intervalOf(busy).start
        : intervalOf(slot).start === intervalOf(busy).end),
  );
  const [only] = found;
  if (!only || found.length > 1) {
    const edge = side === 'Before' ? 'ending at the start' : 'starting at the end';
    throw refusal(`Expected exactly one 'busy-unavailable' slot ${edge} of the busy slot (buffer${side})`);
  }
  if (minutesOf(only) !== wanted) {
    throw refusal(
      `Buffer-${side.toLowerCase()} slot duration (${minutesOf(only)} min) does not match scheduling parameters buffer${side} (${wanted} min)`,
    );
  }
}

/**
 * Throws unless the Slots are as `$find` proposes them: one Slot of the service's duration on its grid, and its
 * buffers.
 */
function assertProposed(slots: readonly Slot[], { parameters }: Calendar): void {
  const [busy, ...others] = slots.filter(({ status }) => status === 'busy');
  if (!busy || others.length > 0) {
    throw refusal(`Expected exactly one 'busy' slot per schedule`);
  }
  if (minutesOf(busy) !== parameters.duration) {
    throw refusal('Slot duration does not match scheduling parameters duration');
  }
  if (!isAligned(intervalOf(busy).start, parameters)) {
    throw refusal('Slot start time is not aligned to the scheduling grid');
  }
  assertBuffer('Before', slots, busy, parameters.bufferBefore);
  assertBuffer('After', slots, busy, parameters.bufferAfter);
}

/** The error names the conflicting Slots, except those of holds. */
function unavailable({ id }: Schedule, slots: readonly Slot[]): OperationOutcomeError {
  const inTheWay = slots.filter(({ status }) => status === 'busy' || status === 'busy-unavailable');
  const blockingSlots = inTheWay.map((slot) => ({
    reference: `Slot/${slot.id}`,
    start: slot.start,
    end: slot.end,
    status: slot.status,
  }));
  const diagnostics = JSON.stringify({ schedule: `Schedule/${id}`, blockingSlots });
  const details = { text: 'Requested time slot is not available' };
  const issue: OperationOutcomeIssue[] = [{ severity: 'error', code: 'invalid', details, diagnostics }];
  return new OperationOutcomeError({ resourceType: 'OperationOutcome', issue });
}

/** Throws unless a Schedule has free time for the Slots. */
export async function assertAvailable(
  repository: SandboxRepository,
  { schedule, parameters }: Calendar,
  slots: readonly Slot[],
  service: HealthcareService,
): Promise<void> {
  const times = slots.map(intervalOf);
  const range = { start: Math.min(...times.map(({ start }) => start)), end: Math.max(...times.map(({ end }) => end)) };
  const { planningHorizon } = schedule;
  if (range.start < Date.parse(planningHorizon?.start ?? '') || range.end > Date.parse(planningHorizon?.end ?? '')) {
    throw refusal('Appointment falls outside schedule planning horizon');
  }
  const found = await readSlots(repository, [schedule], range);
  const isFree = (slot: Slot): boolean => {
    const { start, end } = intervalOf(slot);
    const capacity = slot.status === 'busy-unavailable' ? 1 : parameters.slotCapacity;
    const open = availableTime(parameters, found, range, service.type, repository.scheduling, capacity);
    return open.some((interval) => interval.start <= start && end <= interval.end);
  };
  if (!slots.every(isFree)) {
    throw unavailable(schedule, found);
  }
}

const isOf =
  ({ schedule }: Calendar) =>
  (slot: Slot): boolean =>
    slot.schedule.reference === `Schedule/${schedule.id}`;

async function calendarsOf(
  repository: SandboxRepository,
  { serviceType }: Appointment,
  slots: readonly Slot[],
): Promise<{ readonly service: WithId<HealthcareService>; readonly calendars: Calendar[] }> {
  const [named, ...others] = servicesIn(serviceType);
  if (!named || others.length > 0) {
    throw refusal(
      `Appointment has ${named ? 'too many service references' : 'no service reference'}`,
      `${path}.serviceType`,
    );
  }
  if (slots.length === 0) {
    throw refusal('Appointment has no contained Slot resources', path);
  }
  const service = await repository.readReference<HealthcareService>(named);
  const references = [...new Map(slots.map(({ schedule }) => [schedule.reference, schedule])).values()];
  const paths = references.map(
    ({ reference }) =>
      `${path}.contained[${slots.findIndex(({ schedule }) => schedule.reference === reference)}].schedule`,
  );
  return { service, calendars: await readCalendars(repository, references, paths, service, 'HealthcareService') };
}

const written = {
  book: { appointment: 'booked', busy: 'busy' },
  hold: { appointment: 'pending', busy: 'busy-tentative' },
} as const;

interface Booking {
  readonly appointment: Appointment;
  readonly slots: readonly Slot[];
  readonly service: WithId<HealthcareService>;
  readonly calendars: readonly Calendar[];
}

/** Validates a proposed appointment, or one of a series, and reads its context. */
async function validated(repository: SandboxRepository, proposed: Appointment): Promise<Booking> {
  const { contained = [], ...appointment } = proposed;
  const slots = contained.filter((resource) => isResource<Slot>(resource, 'Slot'));
  const { service, calendars } = await calendarsOf(repository, appointment, slots);
  for (const calendar of calendars) {
    assertProposed(slots.filter(isOf(calendar)), calendar);
  }
  if (appointment.slot) {
    throw refusal('Proposed appointment must not have Slot references', `${path}.slot`);
  }
  const isNewest = repository.scheduling === 'newest';
  const stampedSlots = calendars.flatMap((calendar) =>
    slots.filter(isOf(calendar)).map((slot) => (isNewest ? stamped(slot, calendar.parameters.slotCapacity) : slot)),
  );
  return { appointment, slots: stampedSlots, service, calendars };
}

/** Books one appointment. Earlier appointments of its series count as conflicts, too. */
async function store(
  transaction: SandboxRepository,
  { appointment, slots, service, calendars }: Booking,
  kind: keyof typeof written,
): Promise<WithId<Appointment | Slot>[]> {
  const { appointment: status, busy } = written[kind];
  for (const calendar of calendars) {
    await assertAvailable(transaction, calendar, slots.filter(isOf(calendar)), service);
  }
  const stored: WithId<Slot>[] = [];
  for (const slot of slots) {
    const own = slot.status === 'busy' ? busy : slot.status;
    stored.push(await transaction.createResource<Slot>({ ...slot, status: own }));
  }
  const booked = await transaction.createResource<Appointment>({
    ...appointment,
    status,
    slot: stored.map((slot) => createReference(slot)),
  });
  return [booked, ...stored];
}

/**
 * `POST Appointment/$book` and `$hold`: creates a proposed appointment and its contained Slots if their time is
 * available. A weekly series is booked for all weeks or none. Existing free Slots are left unchanged.
 *
 * @see https://www.medplum.com/docs/scheduling
 */
export async function bookProposed(
  repository: SandboxRepository,
  kind: keyof typeof written,
  body: unknown,
): Promise<FhirResponse> {
  const bookings: Booking[] = [];
  for (const appointment of weeksOf(appointmentIn(body), repository.generateId())) {
    bookings.push(await validated(repository, appointment));
  }
  const resources = await repository.withTransaction(
    async (transaction) => {
      const all: WithId<Appointment | Slot>[] = [];
      for (const booking of bookings) {
        all.push(...(await store(transaction, booking, kind)));
      }
      return all;
    },
    { serializable: true },
  );
  return [
    created,
    { resourceType: 'Bundle', type: 'transaction-response', entry: resources.map((resource) => ({ resource })) },
  ];
}
