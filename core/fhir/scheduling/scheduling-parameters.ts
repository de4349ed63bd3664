import type { Extension, HealthcareService, Schedule } from '@medplum/fhirtypes';
import { idIn } from '../reference.ts';

/** Medplum's extension for opening hours and lengths, on Schedule and HealthcareService. */
export const SCHEDULING_PARAMETERS = 'https://medplum.com/fhir/StructureDefinition/SchedulingParameters';

const minutesOf: Readonly<Record<string, number>> = { min: 1, h: 60, d: 1440, wk: 10_080 };

const MINUTES_OF_A_DAY = 1440;

/** Bounds of each length, in minutes. An appointment takes at most a day. */
export const lengths = {
  duration: { least: 1, most: MINUTES_OF_A_DAY },
  bufferBefore: { least: 0, most: MINUTES_OF_A_DAY },
  bufferAfter: { least: 0, most: MINUTES_OF_A_DAY },
  alignmentInterval: { least: 0, most: MINUTES_OF_A_DAY },
  alignmentOffset: { least: 0, most: MINUTES_OF_A_DAY },
} as const;

export type Length = keyof typeof lengths;

/** The value of a length in minutes; `undefined` if it is invalid. */
export function lengthValue({ valueDuration }: Extension, name: Length): number | undefined {
  const { value, unit, code, comparator } = valueDuration ?? {};
  const { least, most } = lengths[name];
  const minutes = (value ?? Number.NaN) * (minutesOf[unit ?? code ?? ''] ?? Number.NaN);
  const isUsable = comparator === undefined && Number.isInteger(minutes) && minutes >= least && minutes <= most;
  return isUsable ? minutes : undefined;
}

/** A length in scheduling parameters, in minutes; `undefined` if it is missing, repeated or invalid. */
export function lengthIn(parameters: Extension | undefined, name: Length): number | undefined {
  const [found, ...more] = (parameters?.extension ?? []).filter(({ url }) => url === name);
  return found && more.length === 0 ? lengthValue(found, name) : undefined;
}

const parametersOf = ({ extension }: Schedule | HealthcareService): Extension[] =>
  (Array.isArray(extension) ? extension : []).filter((one) => one?.url === SCHEDULING_PARAMETERS);

/** The length of a service's appointments in a Schedule, in minutes. The Schedule's value wins over the service's. */
export function appointmentMinutes(schedule: Schedule, service: HealthcareService | undefined): number | undefined {
  const own = parametersOf(schedule).find(({ extension = [] }) => {
    const named = extension.find(({ url }) => url === 'service');
    return !named || !service || idIn(named.valueReference, 'HealthcareService') === service.id;
  });
  const [ofService] = service ? parametersOf(service) : [];
  return lengthIn(own, 'duration') ?? lengthIn(ofService, 'duration');
}
