import { badRequest, createReference, getExtension, getExtensionValue, OperationOutcomeError } from '@medplum/core';
import type { Extension, HealthcareService, Resource, Schedule } from '@medplum/fhirtypes';

const parametersUrl = 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters';
const timeZoneUrl = 'http://hl7.org/fhir/StructureDefinition/timezone';

/** Opening hours of some days of the week; an end that is not later than the start is on the next day. */
interface Hours {
  readonly days: readonly string[];
  readonly start: string;
  readonly end: string;
}

/** Scheduling parameters of a service in a Schedule. Times are in minutes. */
export interface SchedulingParameters {
  readonly duration: number;
  readonly bufferBefore: number;
  readonly bufferAfter: number;
  readonly alignmentInterval: number;
  readonly alignmentOffset: number;
  readonly alignmentTimezone: string;
  readonly timezone: string;
  readonly slotCapacity: number;
  readonly hours: readonly Hours[];
}

type Layer = { -readonly [Name in keyof SchedulingParameters]?: SchedulingParameters[Name] | undefined };

const always: Hours = { days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], start: '00:00:00', end: '00:00:00' };

const defaults = {
  bufferBefore: 0,
  bufferAfter: 0,
  alignmentInterval: 60,
  alignmentOffset: 0,
  alignmentTimezone: 'Etc/UTC',
  slotCapacity: 1,
  hours: [always],
} satisfies Layer;

const minutesPerUnit: Readonly<Record<string, number>> = { min: 1, h: 60, d: 1440, wk: 10_080 };

/** An error in Medplum's form: 400, with the invalid elements. */
export function refusal(message: string, ...expression: readonly string[]): OperationOutcomeError {
  const outcome = badRequest(message);
  const issue = outcome.issue.map((one) => (expression.length > 0 ? { ...one, expression: [...expression] } : one));
  return new OperationOutcomeError({ ...outcome, issue });
}

const extensionsOf = ({ extension = [] }: Extension, url: string): Extension[] =>
  extension.filter((one) => one.url === url);

function minutes(extension: Extension, url: string): number | undefined {
  const found = extensionsOf(extension, url)[0]?.valueDuration;
  return found && (found.value ?? 0) * (minutesPerUnit[found.unit ?? ''] ?? 1);
}

/** Opening hours from extensions. An extension without start or end is ignored. */
function hoursIn(availability: Extension): Hours[] {
  return extensionsOf(availability, 'availableTime').flatMap((time): Hours[] => {
    const days = extensionsOf(time, 'daysOfWeek').flatMap(({ valueCode }) => valueCode ?? []);
    const [start, end] = ['availableStartTime', 'availableEndTime'].map((url) => extensionsOf(time, url)[0]?.valueTime);
    if (extensionsOf(time, 'allDay')[0]?.valueBoolean) {
      return [{ ...always, days }];
    }
    return start && end ? [{ days, start, end }] : [];
  });
}

function layerOf(extension: Extension): Layer {
  const interval = minutes(extension, 'alignmentInterval');
  const availability = extensionsOf(extension, 'availability');
  const layer: Layer = {
    duration: minutes(extension, 'duration'),
    bufferBefore: minutes(extension, 'bufferBefore'),
    bufferAfter: minutes(extension, 'bufferAfter'),
    alignmentInterval: interval === 0 ? 60 : interval,
    alignmentOffset: minutes(extension, 'alignmentOffset'),
    alignmentTimezone: extensionsOf(extension, 'alignmentTimezone')[0]?.valueCode,
    timezone: extensionsOf(extension, 'timezone')[0]?.valueCode,
    slotCapacity: extensionsOf(extension, 'slotCapacity')[0]?.valuePositiveInt,
    hours: availability.length > 0 ? availability.flatMap(hoursIn) : undefined,
  };
  return Object.fromEntries(Object.entries(layer).filter(([, value]) => value !== undefined));
}

function hoursOf({ availableTime }: HealthcareService): Layer {
  const hours = availableTime?.flatMap(({ allDay, daysOfWeek: days = [], availableStartTime, availableEndTime }) => {
    if (allDay) {
      return [{ ...always, days }];
    }
    return availableStartTime && availableEndTime ? [{ days, start: availableStartTime, end: availableEndTime }] : [];
  });
  return hours ? { hours } : {};
}

function ownLayer(schedule: Schedule, service: HealthcareService & { readonly id: string }): Layer {
  const { reference } = createReference(service);
  const own = (schedule.extension ?? []).filter(
    (extension) =>
      extension.url === parametersUrl &&
      extensionsOf(extension, 'service').some((part) => part.valueReference?.reference === reference),
  );
  if (own.length > 1) {
    throw refusal('Schedule has too many scheduling parameters extensions');
  }
  return own[0] ? layerOf(own[0]) : {};
}

/**
 * The scheduling parameters of a service in a Schedule. Each field comes from the first that has it: the Schedule, the
 * service, its actor (time zone only), Medplum's default.
 *
 * @param paths - of the Schedule and the service in the request
 * @throws OperationOutcomeError (400) without a duration or a time zone
 * @see https://www.medplum.com/docs/scheduling
 */
export function schedulingParameters(
  schedule: Schedule,
  service: HealthcareService & { readonly id: string },
  actor: Resource,
  paths: { readonly schedule: string; readonly service: string },
): SchedulingParameters {
  const ofService = getExtension(service, parametersUrl);
  const timezone = getExtensionValue(actor, timeZoneUrl);
  const found: Layer = {
    ...(typeof timezone === 'string' && { timezone }),
    ...hoursOf(service),
    ...(ofService && layerOf(ofService)),
    ...ownLayer(schedule, service),
  };
  if (found.duration === undefined) {
    throw refusal("Scheduling parameter attribute 'duration' is missing", paths.service, paths.schedule);
  }
  if (found.timezone === undefined) {
    throw refusal('No timezone specified', `${paths.schedule}.actor[0]`);
  }
  return { ...defaults, ...found, duration: found.duration, timezone: found.timezone };
}

/** The references to services in the extensions of concepts. */
export function servicesIn(
  concepts: readonly { readonly extension?: Extension[] }[] = [],
): { readonly reference: string }[] {
  return concepts.flatMap(({ extension = [] }) => {
    const found = extension.find(({ url }) => url === SERVICE)?.valueReference;
    return found?.reference ? [{ reference: found.reference }] : [];
  });
}

/** The extension by which a service type names its HealthcareService. */
export const SERVICE = 'https://medplum.com/fhir/service-type-reference';
