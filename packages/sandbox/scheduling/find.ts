import {
  allOk,
  createReference,
  isNotFound,
  isResource,
  OperationOutcomeError,
  resolveId,
  serviceTypeIncludesService,
  type WithId,
} from '@medplum/core';
import type { FhirResponse } from '@medplum/fhir-router';
import type { Appointment, Bundle, CodeableConcept, HealthcareService, Slot } from '@medplum/fhirtypes';
import type { Platform } from '../platform.ts';
import type { SandboxRepository } from '../repository/repository.ts';
import {
  alignedTimes,
  availableTime,
  common,
  crowdedTime,
  type Interval,
  inAll,
  MINUTE,
  stamped,
} from './availability.ts';
import { type Calendar, readCalendars, readSlots, withinHorizon } from './calendar.ts';
import { refusal, SERVICE } from './parameters.ts';
import { isSeriesLength, seriesTemplate, weeksLater } from './series.ts';

const WEEK = 7 * 24 * 60 * MINUTE;
const MAX_LENGTH = 31 * 24 * 60 * MINUTE;
/** Largest change of the clocks within a week. */
const CHANGE = 60 * MINUTE;

const instant = (time: number): string => new Date(time).toISOString();

function serviceTypeOf(service: WithId<HealthcareService>): CodeableConcept[] {
  const extension = { url: SERVICE, valueReference: createReference(service) };
  return (service.type ?? [{}]).map((concept) => ({
    ...concept,
    extension: [...(concept.extension ?? []), extension],
  }));
}

function rangeOf(query: URLSearchParams, isSeries: boolean): Interval {
  const [start, end] = [Date.parse(query.get('start') ?? ''), Date.parse(query.get('end') ?? '')];
  if (!(start < end)) {
    throw refusal('Invalid search time range');
  }
  if (end - start > (isSeries ? WEEK + CHANGE : MAX_LENGTH)) {
    throw refusal(`Search range cannot exceed ${isSeries ? 7 : 31} days`);
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

/** The Slots of an appointment in a Schedule: its time, and the buffers before and after it. */
export function slotsFor(
  { schedule, parameters }: Calendar,
  { start, end }: Interval,
  scheduling: Platform['scheduling'],
  serviceType: CodeableConcept[],
): Slot[] {
  const isNewest = scheduling === 'newest';
  const slot = (status: Slot['status'], from: number, to: number, comment?: string): Slot => ({
    resourceType: 'Slot',
    start: instant(from),
    end: instant(to),
    schedule: createReference(schedule),
    status,
    ...(!isNewest && { serviceType }),
    ...(comment && { comment }),
  });
  const [before, after] = [start - parameters.bufferBefore * MINUTE, end + parameters.bufferAfter * MINUTE];
  return [
    slot('busy', start, end),
    ...(before < start ? [slot('busy-unavailable', before, start, 'buffer before appointment')] : []),
    ...(end < after ? [slot('busy-unavailable', end, after, 'buffer after appointment')] : []),
  ].map((one) => (isNewest ? stamped(one, parameters.slotCapacity) : one));
}

const slotsOfSchedule = ({ schedule }: Calendar, slots: readonly Slot[]): Slot[] =>
  slots.filter((slot) => slot.schedule.reference === `Schedule/${schedule.id}`);

/** The free time of a calendar for appointments, without their buffers. */
function freeTime(
  calendar: Calendar,
  slots: readonly Slot[],
  range: Interval,
  service: HealthcareService,
  scheduling: Platform['scheduling'],
) {
  const { parameters } = calendar;
  const own = slotsOfSchedule(calendar, slots);
  return availableTime(parameters, own, range, service.type, scheduling, parameters.slotCapacity)
    .map(({ start, end }) => ({
      start: start + parameters.bufferBefore * MINUTE,
      end: end - parameters.bufferAfter * MINUTE,
    }))
    .filter(({ start, end }) => end - start >= parameters.duration * MINUTE);
}

/** Whether other Slots overlap the buffers of an appointment, for services with several appointments at a time. */
const isBufferTaken = (calendar: Calendar, slots: readonly Slot[], { start, end }: Interval): boolean => {
  const { slotCapacity, bufferBefore, bufferAfter } = calendar.parameters;
  const around = [
    { start: start - bufferBefore * MINUTE, end: start },
    { start: end, end: end + bufferAfter * MINUTE },
  ];
  const taken = slotCapacity > 1 ? crowdedTime(slotsOfSchedule(calendar, slots), 1) : [];
  return taken.some((interval) => around.some((other) => other.start < other.end && common(interval, other)));
};

/** The first appointments that begin on the grid of all calendars and fit into the open time. */
function appointmentTimes(
  open: readonly Interval[],
  [first]: readonly Calendar[],
  count: number,
  isPossible: (time: Interval) => boolean,
): Interval[] {
  const times: Interval[] = [];
  for (const interval of first ? open : []) {
    for (const time of first ? alignedTimes(interval, first.parameters, first.parameters.duration) : []) {
      if (times.length === count) {
        return times;
      }
      if (isPossible(time)) {
        times.push(time);
      }
    }
  }
  return times;
}

/** One week of a series. An appointment must be bookable in each. */
interface Week {
  readonly open: readonly Interval[];
  readonly isPossible: (time: Interval) => boolean;
}

/** The Slots of an appointment that is to be moved: they are no conflict. */
async function ignoredSlots(repository: SandboxRepository, query: URLSearchParams): Promise<Set<string | undefined>> {
  const reference = query.get('ignore-appointment');
  if (reference === null) {
    return new Set();
  }
  const path = 'Parameters.ignore-appointment';
  if (query.has('occurrence-count')) {
    throw refusal('ignore-appointment cannot be combined with occurrence-count', path);
  }
  const [found] = await repository.readReferences<Appointment>([{ reference }]);
  if (!isResource<Appointment>(found, 'Appointment')) {
    throw refusal('Appointment not found', path);
  }
  return new Set((found.slot ?? []).map((slot) => resolveId(slot)));
}

function weeksIn(query: URLSearchParams): number {
  const count = query.has('occurrence-count') ? Number(query.get('occurrence-count')) : undefined;
  if (count !== undefined && !isSeriesLength(count)) {
    throw refusal('Invalid occurrence-count, must be between 2 and 6', 'Parameters.occurrence-count');
  }
  return count ?? 1;
}

/** Throws unless the Schedules name the service. */
export function assertOffered(calendars: readonly Calendar[], service: WithId<HealthcareService>): void {
  for (const { schedule, path } of calendars) {
    if (!serviceTypeIncludesService(schedule.serviceType, service)) {
      throw refusal('Schedule is not schedulable for requested service type', path);
    }
  }
}

/**
 * `GET Appointment/$find`: proposes appointments of a service at times that are free in all Schedules.
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
  const count = weeksIn(query);
  const range = rangeOf(query, count > 1);
  const ignored = await ignoredSlots(repository, query);
  const reference = query.get('service-type-reference') ?? '';
  const service = await readService(repository, reference);
  const references = asked.map((one) => ({ reference: one }));
  const calendars = await readCalendars(repository, references, paths, service, 'Parameters.service-type-reference');
  assertOffered(calendars, service);
  const { scheduling } = repository;
  const [{ parameters: { timezone = '' } = {} } = {}] = calendars;
  const planned = calendars.reduce((left, calendar) => withinHorizon(calendar, left), {
    start: range.start,
    end: range.end + (count > 1 ? (count - 1) * WEEK + CHANGE : 0),
  });
  const weeks: Week[] = [];
  for (let week = 0; week < count; week++) {
    const slack = week === 0 ? 0 : CHANGE;
    const near = { start: range.start + week * WEEK - slack, end: range.end + week * WEEK + slack };
    const schedules = calendars.map(({ schedule }) => schedule);
    const slots = (await readSlots(repository, schedules, near)).filter(({ id }) => !ignored.has(id));
    const own = common(near, planned);
    weeks.push({
      open: own ? inAll(calendars.map((calendar) => freeTime(calendar, slots, own, service, scheduling))) : [],
      isPossible: (time) => !calendars.some((calendar) => isBufferTaken(calendar, slots, time)),
    });
  }
  const [first = { open: [], isPossible: () => false }, ...later] = weeks;
  const isPossible = (time: Interval): boolean =>
    first.isPossible(time) &&
    later.every(({ open, isPossible: is }, index) => {
      const start = weeksLater(time.start, index + 1, timezone);
      const one = start !== undefined && { start, end: start + time.end - time.start };
      return one && open.some((free) => free.start <= one.start && one.end <= free.end) && is(one);
    });
  const serviceType = serviceTypeOf(service);
  const participant = calendars.flatMap(({ schedule }) =>
    schedule.actor.map((actor) => ({ actor, required: 'required' as const, status: 'needs-action' as const })),
  );
  const entry = appointmentTimes(first.open, calendars, Number(query.get('_count') ?? 20), isPossible).map((time) => ({
    resource: {
      resourceType: 'Appointment',
      start: instant(time.start),
      end: instant(time.end),
      status: 'proposed',
      serviceType,
      participant,
      contained: calendars.flatMap((calendar) => slotsFor(calendar, time, scheduling, serviceType)),
      ...(count > 1 && { extension: [seriesTemplate(time.start, count, timezone)] }),
    } satisfies Appointment,
  }));
  const bundle: Bundle<Appointment> = { resourceType: 'Bundle', type: 'searchset', entry };
  return [allOk, bundle];
}
