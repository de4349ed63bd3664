import type { Extension, HealthcareService, HealthcareServiceAvailableTime, Schedule } from '@medplum/fhirtypes';
import { SCHEDULING_PARAMETERS } from './scheduling-parameters.ts';

/** A change of the opening hours of a service or a Schedule. Absent members stay unchanged. */
export interface HoursChange {
  readonly hours?: readonly HealthcareServiceAvailableTime[];
  readonly duration?: number;
  /** Minutes from one possible start to the next. */
  readonly every?: number;
  readonly bufferBefore?: number;
  readonly bufferAfter?: number;
  readonly lanes?: number;
  readonly timeZone?: string;
}

const minutes = (url: string, value: number): Extension => ({ url, valueDuration: { value, unit: 'min' } });

/** The scheduling parameters of a change. A new duration that divides a day is also the default interval. */
function parametersOf(change: HoursChange, isNew: boolean): Extension[] {
  const { duration, bufferBefore, bufferAfter, lanes, timeZone } = change;
  const every = change.every ?? (isNew && duration !== undefined && 1440 % duration === 0 ? duration : undefined);
  return [
    ...(duration !== undefined ? [minutes('duration', duration)] : []),
    ...(every !== undefined ? [minutes('alignmentInterval', every)] : []),
    ...(bufferBefore !== undefined ? [minutes('bufferBefore', bufferBefore)] : []),
    ...(bufferAfter !== undefined ? [minutes('bufferAfter', bufferAfter)] : []),
    ...(lanes !== undefined ? [{ url: 'slotCapacity', valuePositiveInt: lanes }] : []),
    ...(timeZone !== undefined
      ? [
          { url: 'timezone', valueCode: timeZone },
          { url: 'alignmentTimezone', valueCode: timeZone },
        ]
      : []),
  ];
}

function merged(parameters: readonly Extension[] = [], changes: readonly Extension[]): Extension[] {
  const urls = new Set(changes.map(({ url }) => url));
  return [...parameters.filter(({ url }) => !urls.has(url)), ...changes];
}

/** Opening hours as R5's Availability, as Medplum stores it in a Schedule, with the closures to keep. */
function availability(times: readonly HealthcareServiceAvailableTime[], closures: readonly Extension[]): Extension {
  const open = times.map(({ daysOfWeek = [], allDay, availableStartTime, availableEndTime }) => ({
    url: 'availableTime',
    extension: [
      ...daysOfWeek.map((valueCode) => ({ url: 'daysOfWeek', valueCode })),
      ...(allDay ? [{ url: 'allDay', valueBoolean: true }] : []),
      ...(availableStartTime ? [{ url: 'availableStartTime', valueTime: availableStartTime }] : []),
      ...(availableEndTime ? [{ url: 'availableEndTime', valueTime: availableEndTime }] : []),
    ],
  }));
  return { url: 'availability', extension: [...open, ...closures] };
}

/** The closures in a Schedule's own hours, which a change of the hours keeps. */
const closuresIn = (parameters: readonly Extension[]): Extension[] =>
  parameters
    .filter(({ url }) => url === 'availability')
    .flatMap(({ extension = [] }) => extension.filter(({ url }) => url !== 'availableTime'));

export function changeService(service: HealthcareService, change: HoursChange): HealthcareService {
  const { extension = [], ...rest } = service;
  const stored = extension.find(({ url }) => url === SCHEDULING_PARAMETERS);
  const parameters = merged(stored?.extension, parametersOf(change, stored === undefined));
  const own: Extension[] = parameters.length > 0 ? [{ url: SCHEDULING_PARAMETERS, extension: parameters }] : [];
  return {
    ...rest,
    ...(change.hours && { availableTime: [...change.hours] }),
    extension: [...extension.filter((one) => one !== stored), ...own],
  };
}

function namedService({ extension = [] }: Extension): string | undefined {
  return extension.find(({ url }) => url === 'service')?.valueReference?.reference;
}

/** The scheduling parameters of a Schedule for one of its services; `undefined` if it has none. */
export function ownParameters({ extension = [] }: Schedule, service: string): Extension | undefined {
  return extension.find((one) => one.url === SCHEDULING_PARAMETERS && namedService(one) === service);
}

/** A parameter that can be removed from a Schedule, so that the service's value applies. */
export type OwnParameter = 'availability' | 'duration' | 'alignmentInterval' | 'bufferBefore' | 'bufferAfter';

/** A Schedule with its own opening hours for a service (a reference), without the parameters in `takenBack`. */
export function changeSchedule(
  schedule: Schedule,
  service: string,
  change: HoursChange,
  takenBack: readonly OwnParameter[] = [],
): Schedule {
  const { extension = [], ...rest } = schedule;
  const stored = ownParameters(schedule, service);
  const named: Extension = { url: 'service', valueReference: { reference: service } };
  const before = stored?.extension ?? [named];
  const changes = [
    ...parametersOf(change, false),
    ...(change.hours ? [availability(change.hours, closuresIn(before))] : []),
  ];
  const gone: readonly string[] = takenBack;
  const own = merged(
    before.filter(({ url }) => !gone.includes(url)),
    changes,
  );
  const isAnyLeft = own.some(({ url }) => url !== 'service');
  const others = extension.filter((one) => one !== stored);
  const extensions = isAnyLeft ? [...others, { url: SCHEDULING_PARAMETERS, extension: own }] : others;
  return { ...rest, ...(extensions.length > 0 && { extension: extensions }) };
}
