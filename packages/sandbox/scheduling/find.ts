import { allOk, createReference, isNotFound, OperationOutcomeError, type WithId } from '@medplum/core';
import type { FhirResponse } from '@medplum/fhir-router';
import type { Appointment, Bundle, CodeableConcept, HealthcareService, Slot } from '@medplum/fhirtypes';
import type { SandboxRepository } from '../repository/repository.ts';
import { alignedTimes, availableTime, type Interval, inAll, MINUTE } from './availability.ts';
import { type Calendar, readCalendars, readSlots, withinHorizon } from './calendar.ts';
import { refusal, SERVICE, servicesIn } from './parameters.ts';

const LONGEST = 31 * 24 * 60 * MINUTE;

const instant = (time: number): string => new Date(time).toISOString();

/** The types of a service, each with the reference to it. */
export function serviceTypeOf(service: WithId<HealthcareService>): CodeableConcept[] {
  const extension = { url: SERVICE, valueReference: createReference(service) };
  return (service.type ?? [{}]).map((concept) => ({
    ...concept,
    extension: [...(concept.extension ?? []), extension],
  }));
}

function rangeOf(query: URLSearchParams): Interval {
  const [start, end] = [Date.parse(query.get('start') ?? ''), Date.parse(query.get('end') ?? '')];
  if (!(start < end)) {
    throw refusal('Invalid search time range');
  }
  if (end - start > LONGEST) {
    throw refusal('Search range cannot exceed 31 days');
  }
  return { start, end };
}

async function readService(repository: SandboxRepository, reference: string): Promise<WithId<HealthcareService>> {
  try {
    return await repository.readReference<HealthcareService>({ reference });
  } catch (error) {
    throw error instanceof OperationOutcomeError && isNotFound(error.outcome)
      ? refusal('HealthcareService not found')
      : error;
  }
}

/** The Slots that an appointment takes in a Schedule: its time, and the buffers before and after it. */
export function slotsFor(
  { schedule, parameters }: Calendar,
  { start, end }: Interval,
  serviceType?: CodeableConcept[],
): Slot[] {
  const slot = (status: Slot['status'], from: number, to: number, comment?: string): Slot => ({
    resourceType: 'Slot',
    start: instant(from),
    end: instant(to),
    schedule: createReference(schedule),
    status,
    ...(serviceType && { serviceType }),
    ...(comment && { comment }),
  });
  const [before, after] = [start - parameters.bufferBefore * MINUTE, end + parameters.bufferAfter * MINUTE];
  return [
    slot('busy', start, end),
    ...(before < start ? [slot('busy-unavailable', before, start, 'buffer before appointment')] : []),
    ...(end < after ? [slot('busy-unavailable', end, after, 'buffer after appointment')] : []),
  ];
}

/** The time of a calendar in which an appointment fits with its buffers. */
function freeTime(
  { schedule, parameters }: Calendar,
  slots: readonly Slot[],
  range: Interval,
  service: HealthcareService,
) {
  const own = slots.filter((slot) => slot.schedule.reference === `Schedule/${schedule.id}`);
  return availableTime(parameters, own, range, service.type)
    .map(({ start, end }) => ({
      start: start + parameters.bufferBefore * MINUTE,
      end: end - parameters.bufferAfter * MINUTE,
    }))
    .filter(({ start, end }) => end - start >= parameters.duration * MINUTE);
}

/** The first appointments on the grid of all calendars that fit into the open time. */
function appointmentTimes(open: readonly Interval[], [first]: readonly Calendar[], count: number): Interval[] {
  const times: Interval[] = [];
  for (const interval of first ? open : []) {
    for (const time of first ? alignedTimes(interval, first.parameters, first.parameters.duration) : []) {
      if (times.length === count) {
        return times;
      }
      times.push(time);
    }
  }
  return times;
}

/** Demands that the Schedules name the service. */
export function assertOffered(calendars: readonly Calendar[], reference: string): void {
  for (const { schedule, path } of calendars) {
    if (!servicesIn(schedule.serviceType).some((one) => one.reference === reference)) {
      throw refusal('Schedule is not schedulable for requested service type', path);
    }
  }
}

/**
 * `GET Appointment/$find`: proposed appointments at the times that all Schedules have free for a service.
 *
 * @see https://www.medplum.com/docs/scheduling
 */
export async function findAppointments(repository: SandboxRepository, query: URLSearchParams): Promise<FhirResponse> {
  const asked = query.getAll('schedule');
  const paths = asked.map((_, index) => `Parameters.schedule[${index}]`);
  const strange = asked.findIndex((reference) => !reference.startsWith('Schedule/'));
  if (strange >= 0) {
    throw refusal('Invalid schedule reference', paths[strange] ?? '');
  }
  const range = rangeOf(query);
  const reference = query.get('service-type-reference') ?? '';
  const service = await readService(repository, reference);
  const references = asked.map((one) => ({ reference: one }));
  const calendars = await readCalendars(repository, references, paths, service, 'Parameters.service-type-reference');
  assertOffered(calendars, reference);
  const planned = calendars.reduce((left, calendar) => withinHorizon(calendar, left), range);
  const slots = await readSlots(
    repository,
    calendars.map(({ schedule }) => schedule),
    range,
  );
  const open = inAll(calendars.map((calendar) => freeTime(calendar, slots, planned, service)));
  const serviceType = serviceTypeOf(service);
  const participant = calendars.flatMap(({ schedule }) =>
    schedule.actor.map((actor) => ({ actor, required: 'required' as const, status: 'needs-action' as const })),
  );
  const entry = appointmentTimes(open, calendars, Number(query.get('_count') ?? 20)).map((time) => ({
    resource: {
      resourceType: 'Appointment',
      start: instant(time.start),
      end: instant(time.end),
      status: 'proposed',
      serviceType,
      participant,
      contained: calendars.flatMap((calendar) => slotsFor(calendar, time, serviceType)),
    } satisfies Appointment,
  }));
  const bundle: Bundle<Appointment> = { resourceType: 'Bundle', type: 'searchset', entry };
  return [allOk, bundle];
}
