import type { Extension, Resource } from '@medplum/fhirtypes';
import { type Length, lengths, lengthValue } from '../../fhir/scheduling/scheduling-parameters.ts';
import { isTimeZone } from '../../time/time-zone.ts';
import { type CalendarProblem, type Checked, faulty, sound } from '../problem.ts';

const TIME_ZONE = 'http://hl7.org/fhir/StructureDefinition/timezone';

/** The possible starts of appointments, counted from local midnight. */
export interface Alignment {
  /** Minutes from one start to the next; they divide a day into equal parts. */
  readonly interval: number;
  /** Minutes between midnight and a start. */
  readonly offset: number;
  readonly timeZone: string;
}

const MINUTES_OF_A_DAY = 1440;

const MAX_CAPACITY = 100;

/** The scheduling parameters of one resource. */
export interface Layer {
  readonly extension: Extension | undefined;
  readonly path: string;
}

interface Found {
  readonly extension: Extension;
  readonly path: string;
}

/** All values of a parameter in one resource. */
export function parametersIn({ extension, path }: Layer, url: string): Found[] {
  const found = (extension?.extension ?? []).filter((inner) => inner.url === url);
  return found.map((inner, index) => ({
    extension: inner,
    path: found.length > 1 ? `${path}.extension('${url}')[${index}]` : `${path}.extension('${url}')`,
  }));
}

/** The parameter from the first layer (the Schedule before its service) that has it; `undefined` if none has. */
function firstParameter(layers: readonly Layer[], url: string): Checked<Found | undefined> {
  for (const layer of layers) {
    const [first, ...more] = parametersIn(layer, url);
    if (first) {
      return more.length === 0
        ? sound(first)
        : faulty('parameters-contradictory', `The parameter ${url} is given more than once.`, first.path);
    }
  }
  return sound(undefined);
}

/** A length in minutes; `undefined` without a problem if it is absent. */
export function lengthParameter(layers: readonly Layer[], name: Length): Checked<number | undefined> {
  const { value: found, problems } = firstParameter(layers, name);
  if (!found) {
    return { value: undefined, problems };
  }
  const { least, most } = lengths[name];
  const minutes = lengthValue(found.extension, name);
  return minutes !== undefined
    ? sound(minutes)
    : faulty(
        name.startsWith('alignment') ? 'alignment-invalid' : 'duration-invalid',
        `The parameter ${name} must be a whole number of minutes from ${least} to ${most}, in min, h, d or wk.`,
        `${found.path}.value`,
      );
}

/** A time zone; `undefined` without a problem if it is absent. */
export function timeZoneParameter(
  layers: readonly Layer[],
  name: 'timezone' | 'alignmentTimezone',
): Checked<string | undefined> {
  const { value: found, problems } = firstParameter(layers, name);
  return found ? knownTimeZone(found.extension.valueCode, `${found.path}.value`) : { value: undefined, problems };
}

function knownTimeZone(value: string | undefined, path: string): Checked<string> {
  return value !== undefined && isTimeZone(value)
    ? sound(value)
    : faulty('time-zone-unknown', 'A time zone must be a name of the IANA database, such as Europe/Berlin.', path);
}

/** The time zone of the actor of a Schedule, if it has one. */
export function actorTimeZone(actor: Resource): Checked<string | undefined> {
  const path = `${actor.resourceType}/${actor.id}`;
  const extensions = 'extension' in actor ? (actor.extension ?? []) : [];
  const found = extensions.find(({ url }) => url === TIME_ZONE);
  return found ? knownTimeZone(found.valueCode, `${path}.extension('${TIME_ZONE}').value`) : sound(undefined);
}

/** The possible starts of appointments; by default every full hour of UTC. */
export function alignmentParameter(layers: readonly Layer[]): Checked<Alignment> {
  const interval = lengthParameter(layers, 'alignmentInterval');
  const offset = lengthParameter(layers, 'alignmentOffset');
  const zone = timeZoneParameter(layers, 'alignmentTimezone');
  const problems = [...interval.problems, ...offset.problems, ...zone.problems];
  // 0 means an hour, as in Medplum.
  const minutes = interval.value || 60;
  if (problems.length > 0) {
    return { value: undefined, problems };
  }
  return MINUTES_OF_A_DAY % minutes === 0
    ? sound({ interval: minutes, offset: offset.value ?? 0, timeZone: zone.value ?? 'Etc/UTC' })
    : faulty(
        'alignment-invalid',
        `The alignment interval must divide a day into equal parts, and ${minutes} minutes do not. Choose 5, 10, 15, 20, 30, 45, 60 …`,
        `${firstParameter(layers, 'alignmentInterval').value?.path}.value`,
      );
}

/** The largest number of appointments at the same time; by default one. */
export function capacityParameter(layers: readonly Layer[]): Checked<number> {
  const { value: found, problems } = firstParameter(layers, 'slotCapacity');
  if (!found) {
    return problems.length > 0 ? { value: undefined, problems } : sound(1);
  }
  const { valuePositiveInt, valueInteger, valueUnsignedInt } = found.extension;
  const lanes = valuePositiveInt ?? valueInteger ?? valueUnsignedInt ?? Number.NaN;
  return Number.isInteger(lanes) && lanes >= 1 && lanes <= MAX_CAPACITY
    ? sound(lanes)
    : faulty(
        'capacity-invalid',
        `The parameter slotCapacity must be from 1 to ${MAX_CAPACITY}.`,
        `${found.path}.value`,
      );
}

/** The most entries of opening hours that one resource can have. */
export const MAX_HOURS = 200;

/** The most closures that one resource can have. */
export const MAX_CLOSURES = 1000;

/** The largest number of Slots a day of one service, and of all services of a Schedule, when open all day. */
export const MAX_SLOTS_A_DAY = { service: 3_000, schedule: 10_000 } as const;

/** The number of Slots of a service on a day that is open all day. */
export const slotsADay = ({ interval }: Alignment, capacity: number): number =>
  Math.ceil(MINUTES_OF_A_DAY / interval) * capacity;

/** The problem of a list that is too long. Its entries are not checked. */
export function countProblems(count: number, most: number, what: string, path: string): readonly CalendarProblem[] {
  return count > most
    ? faulty('hours-invalid', `There can be at most ${most} ${what}, not ${count}.`, path).problems
    : [];
}

/** The problem of a service with more Slots a day than can be published. */
export function slotCountProblems(alignment: Alignment, capacity: number, path: string): readonly CalendarProblem[] {
  const count = slotsADay(alignment, capacity);
  const found = `An appointment every ${alignment.interval} minutes at ${capacity} places makes ${count} slots a day`;
  return count > MAX_SLOTS_A_DAY.service
    ? faulty(
        'slots-too-many',
        `${found}, and at most ${MAX_SLOTS_A_DAY.service} are possible. Choose a longer alignment interval or fewer places.`,
        path,
      ).problems
    : [];
}
