import type { CodeableConcept, Coding, HealthcareService, Schedule, Slot } from '@medplum/fhirtypes';
import { type Lengths, lengthsOf, ownLengths } from '../calendar/parameters/scheduling-parameters.ts';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { formatInstant } from '../fhir/instant.ts';
import { isSameService, servesAll, serviceIdsOfSchedule, serviceTypeOf } from '../fhir/reference.ts';
import { BUFFER_COMMENTS, payerKindsOf, publishedKeyOf, publishedValueOf } from '../fhir/scheduling/slot-marks.ts';
import { byId } from '../rows/resource-set.ts';
import type { Interval } from '../time/interval.ts';
import { type CalendarSlot, newCalendarSlot, slotOfferExtensionOf } from './slot.ts';

const MINUTE = 60_000;

type StoredService = HealthcareService & { readonly id: string };

const hasId = (service: HealthcareService): service is StoredService => service.id !== undefined;

/**
 * The services of an appointment in a slot: the one that the slot was published for, else those that `types` name. If
 * nothing matches and the Schedule has one service, it is that one.
 */
export function servicesFor(
  { resource }: CalendarSlot,
  types: readonly CodeableConcept[],
  services: readonly HealthcareService[],
  config: PublicConfig,
): readonly StoredService[] {
  const stored = services.filter(hasId);
  const key = publishedKeyOf(resource, config);
  if (key?.kind === 'bookable') {
    return stored.filter(({ id }) => id === key.service);
  }
  const named = stored.filter((service) =>
    serviceTypeOf(service).some((type) => types.some((concept) => isSameService(concept, type))),
  );
  return named.length > 0 || stored.length > 1 ? named : stored;
}

/** Whether a Slot serves a payer kind, and so does a service for an appointment of these types in it. */
export function servesPayerKind(
  { system, code }: Coding,
  slot: CalendarSlot,
  types: readonly CodeableConcept[],
  services: readonly HealthcareService[],
  config: PublicConfig,
): boolean {
  const isServing = (one: Slot | HealthcareService): boolean => {
    const kinds = payerKindsOf(one, config);
    return kinds.length === 0 || kinds.some((kind) => kind.system === system && kind.code === code);
  };
  const possible = servicesFor(slot, types, services, config);
  return isServing(slot.resource) && (possible.length === 0 || possible.some(isServing));
}

const longest = (values: readonly number[]): number => Math.max(0, ...values) * MINUTE;

/** The lengths of appointments and the step in which a bookable slot is divided, in milliseconds. */
export interface Granularity {
  readonly shortest: number;
  readonly longest: number | undefined;
  readonly step: number;
}

const lengthsNamed = (lengths: readonly Lengths[], name: 'duration' | 'alignmentInterval'): number[] =>
  lengths.flatMap((one) => one[name] ?? []);

/** The lengths of appointments in a Schedule: by its own scheduling parameters, else by those of its services. */
export function granularityOf(
  schedule: Schedule | undefined,
  services: readonly HealthcareService[],
  { smallestBooking }: Pick<PublicConfig, 'smallestBooking'>,
): Granularity {
  const layers = schedule ? [ownLengths(schedule), services.map((service) => lengthsOf(schedule, service))] : [];
  const first = (name: 'duration' | 'alignmentInterval'): number[] =>
    layers.map((layer) => lengthsNamed(layer, name)).find((values) => values.length > 0) ?? [];
  const [durations, steps] = [first('duration'), first('alignmentInterval')];
  return {
    shortest: Math.min(...(durations.length > 0 ? durations : [smallestBooking])) * MINUTE,
    longest: durations.length > 0 ? Math.max(...durations) * MINUTE : undefined,
    step: Math.min(...(steps.length > 0 ? steps : [smallestBooking])) * MINUTE,
  };
}

/** Whether an appointment would occupy only a part of a bookable slot. */
export const splits = ({ start, end }: Interval, slot: Interval): boolean =>
  [start, end].some((moment) => moment > slot.start && moment < slot.end);

/** Whether a bookable slot may be divided at a moment: a whole number of steps after its start, or outside of it. */
export const isOnStep = (moment: number, slot: Interval, step: number): boolean =>
  moment <= slot.start || moment >= slot.end || (moment - slot.start) % step === 0;

/** A Schedule with its services. */
export interface ScheduleServices {
  readonly schedule: Schedule;
  readonly services: readonly HealthcareService[];
}

/** A Schedule with its services, as far as they are in `among`; a Schedule of all services has all of them. */
export function withServices(schedule: Schedule, among: readonly HealthcareService[]): ScheduleServices {
  const known = byId(among);
  const ids = servesAll(schedule) ? [...known.keys()] : serviceIdsOfSchedule(schedule);
  return { schedule, services: ids.flatMap((id) => known.get(id) ?? []) };
}

/** A Schedule of all services with those that an appointment names, if it names any; another Schedule as it is. */
export function withNamedServices(
  { schedule, services }: ScheduleServices,
  types: readonly CodeableConcept[] = [],
): ScheduleServices {
  const named = services.filter(({ type = [] }) =>
    type.some((concept) => types.some((wanted) => isSameService(concept, wanted))),
  );
  return { schedule, services: servesAll(schedule) && named.length > 0 ? named : services };
}

/** The time that a service needs before and after an appointment, in milliseconds. */
export interface Buffers {
  readonly before: number;
  readonly after: number;
}

/** The demands of the services of a bookable slot, in milliseconds. */
export interface Terms extends Buffers {
  /** The shortest appointment. A shorter rest of a bookable slot is not bookable. */
  readonly shortest: number;
  readonly services: readonly CodeableConcept[] | undefined;
  readonly capacity: number;
}

/** Returns the terms of a bookable slot. */
export type TermsOf = (offer: CalendarSlot) => Terms;

/** The terms of the bookable slots of some Schedules. Of several services, the most demanding counts. */
export function termsFor(schedules: readonly ScheduleServices[], config: PublicConfig): TermsOf {
  const byId = new Map(schedules.map((calendar) => [calendar.schedule.id, calendar]));
  const found = new Map<string, Terms>();
  const read = (offer: CalendarSlot): Terms => {
    const { schedule, services = [] } = byId.get(offer.schedule) ?? {};
    const types = offer.services ?? schedule?.serviceType;
    const named = servicesFor(offer, types ?? [], services, config);
    const lengths = schedule
      ? (named.length > 0 ? named : services).map((service) => lengthsOf(schedule, service))
      : [];
    return {
      before: longest(lengths.map(({ before }) => before)),
      after: longest(lengths.map(({ after }) => after)),
      shortest: granularityOf(schedule, named.length > 0 ? named : services, config).shortest,
      services: types,
      capacity: lengths.length > 0 ? Math.min(...lengths.map(({ capacity }) => capacity)) : 1,
    };
  };
  return (offer) => {
    const key = JSON.stringify([
      offer.schedule,
      offer.services,
      publishedValueOf(offer.resource, config)?.split('/', 3),
    ]);
    const terms = found.get(key) ?? read(offer);
    found.set(key, terms);
    return terms;
  };
}

/** The largest distance at which times affect each other, in milliseconds: buffers and the shortest appointment. */
export function reachOf(schedules: readonly ScheduleServices[], config: PublicConfig): number {
  return Math.max(
    0,
    ...schedules.map((calendar) => {
      const { before, after } = longestBuffers(calendar);
      return before + after + granularityOf(calendar.schedule, calendar.services, config).shortest;
    }),
  );
}

/** The longest buffers of the services of a Schedule, in milliseconds. */
export function longestBuffers({ schedule, services }: ScheduleServices): Buffers {
  const lengths = services.map((service) => lengthsOf(schedule, service));
  return { before: longest(lengths.map(({ before }) => before)), after: longest(lengths.map(({ after }) => after)) };
}

/**
 * The buffers of an appointment in a Schedule, by the scheduling parameters of its service. With several services, the
 * longest buffers count. `slot` is the first Slot of the appointment in this Schedule.
 */
export function neededBuffers(
  { schedule, services }: ScheduleServices,
  slot: CalendarSlot,
  types: readonly CodeableConcept[],
  config: PublicConfig,
): Buffers {
  const wanted = types.length > 0 ? types : (slot.services ?? []);
  const found = servicesFor(slot, wanted, services, config).map((service) => lengthsOf(schedule, service));
  const [most] = found.toSorted((lengths, other) => other.before + other.after - lengths.before - lengths.after);
  return { before: (most?.before ?? 0) * MINUTE, after: (most?.after ?? 0) * MINUTE };
}

/** The time of an appointment with its buffers. */
export function withBuffers({ start, end }: Interval, { before, after }: Buffers): Interval {
  return { start: start - before, end: end + after };
}

/**
 * The buffers of an appointment, as they are to be stored; `slot` is its first Slot. Medplum's own `$book` writes the
 * same, so that its `$find` sees them. They name no service: the time is taken from every service.
 */
export function bufferSlots(
  interval: Interval,
  slot: CalendarSlot,
  buffers: Buffers,
  newId: () => string,
  config: PublicConfig,
): CalendarSlot[] {
  const around = withBuffers(interval, buffers);
  const make = (comment: string, start: number, end: number): CalendarSlot[] => {
    const resource: Slot = {
      resourceType: 'Slot',
      extension: [slotOfferExtensionOf(slot, config)],
      identifier: [
        { system: artefactUri(config, 'LocalBuffer'), value: slot.id },
        { system: artefactUri(config, 'LocalSlotOrigin'), value: slot.origin },
      ],
      schedule: slot.resource.schedule,
      status: 'busy-unavailable',
      start: formatInstant(start),
      end: formatInstant(end),
      comment,
    };
    const buffer = start < end ? newCalendarSlot(newId(), resource, config) : undefined;
    return buffer ? [buffer] : [];
  };
  return [
    ...make(BUFFER_COMMENTS.before, around.start, interval.start),
    ...make(BUFFER_COMMENTS.after, interval.end, around.end),
  ];
}
