import type { Appointment, Extension, HealthcareService, Schedule } from '@medplum/fhirtypes';
import { hasEnded, isPersonalOffer } from '../booking/appointment/expiry.ts';
import { canBeMoved } from '../booking/appointment/status.ts';
import { lengthText } from '../booking/policy/policy.ts';
import { artefactUri, type PublicConfig } from '../fhir/artefacts.ts';
import { milliseconds, parseInstant, unitCodes } from '../fhir/instant.ts';
import type { Issue } from '../fhir/outcome/outcome.ts';
import { idIn, isId, servesAll, serviceIdsOfSchedule } from '../fhir/reference.ts';
import { isObject } from '../fhir/resource.ts';
import { RECURRENCE_ID } from '../fhir/tags.ts';
import { findResource, type ResourceSet, resourcesOfType } from '../rows/resource-set.ts';
import { DAY, YEAR } from '../time/time-zone.ts';

/** The properties of a step that its order depends on. */
interface OrderedStep {
  readonly name: string;
  /** In milliseconds; absent if the appointments of the pool decide. */
  readonly duration: number | undefined;
  /** Names of the steps that must be over; without any, the step can take place in any order. */
  readonly after: readonly string[];
  /**
   * Shortest and longest time between the step and the end of the one before it, in milliseconds. The one before is the
   * last step in `after`; without any, the previous step in time.
   */
  readonly gapMin: number;
  readonly gapMax: number;
}

/** The most orders of steps that are tried. With more, a possible one is assumed. */
const MAX_ORDERS = 50_000;

/** The minimum length of an appointment, in milliseconds. */
const SHORTEST = 60_000;

/** `to` starts at least `length` after `from` does; both are positions in an order. */
interface Distance {
  readonly from: number;
  readonly to: number;
  readonly length: number;
}

/** Whether there are times that keep all distances: no cycle of them has a positive length (Bellman and Ford). */
function isPossible(count: number, distances: readonly Distance[]): boolean {
  const earliest = Array.from({ length: count }, () => 0);
  for (let round = 0; round <= count; round++) {
    let isChanged = false;
    for (const { from, to, length } of distances) {
      const start = (earliest[from] ?? 0) + length;
      if (start > (earliest[to] ?? 0)) {
        earliest[to] = start;
        isChanged = true;
      }
    }
    if (!isChanged) {
      return true;
    }
  }
  return false;
}

/** The step before a step, from whose end its gap counts: the last one in `after`; without any, the previous one. */
export function stepBefore<T extends OrderedStep>(step: OrderedStep, before: readonly T[]): T | undefined {
  return step.after.length > 0 ? before.findLast(({ name }) => step.after.includes(name)) : before.at(-1);
}

/** The minimum distances between starts of steps, in milliseconds. A longest gap is negative, and backwards. */
function distancesOf(order: readonly OrderedStep[]): Distance[] {
  return order.flatMap((step, to): Distance[] => {
    const earlier = order.slice(0, to);
    const previous = stepBefore(step, earlier);
    const from = previous ? earlier.indexOf(previous) : -1;
    const lengthOf = (index: number): number => order[index]?.duration ?? SHORTEST;
    const apart = to === 0 ? [] : [{ from: to - 1, to, length: lengthOf(to - 1) }];
    const least = from < 0 ? [] : [{ from, to, length: lengthOf(from) + step.gapMin }];
    const most =
      from < 0 || step.gapMax === Number.POSITIVE_INFINITY
        ? []
        : [{ from: to, to: from, length: -(lengthOf(from) + step.gapMax) }];
    return [...apart, ...least, ...most];
  });
}

/** Whether some order of the steps keeps all gaps without overlaps, if all time is free. */
function canFollow(steps: readonly OrderedStep[]): boolean {
  let looked = 0;
  const extend = (order: readonly OrderedStep[]): boolean => {
    looked++;
    if (looked > MAX_ORDERS || order.length === steps.length) {
      return true;
    }
    const placed = order.map(({ name }) => name);
    const isNext = ({ name, after }: OrderedStep): boolean =>
      !placed.includes(name) && after.every((one) => placed.includes(one));
    return steps
      .filter(isNext)
      .map((step) => [...order, step])
      .some((longer) => isPossible(longer.length, distancesOf(longer)) && extend(longer));
  };
  return extend([]);
}

/** The Schedules that can fill a role of a step: those of a service, or listed ones. Both are ids. */
export type Pool =
  | { readonly kind: 'service'; readonly service: string }
  | { readonly kind: 'schedules'; readonly schedules: readonly string[] };

/** A step of a visit: one appointment, for which one Schedule of each pool is needed at the same time. */
export interface VisitStep extends OrderedStep {
  /** The first pool is the step's own. Each pool needs another Schedule. */
  readonly pools: readonly Pool[];
  /** The name of a step whose own Schedule takes this one, too. */
  readonly sameAs: string | undefined;
  /** Whether the visit is complete without it. */
  readonly isOptional: boolean;
}

/** The same appointment several times, at the same time of the day. */
export interface Series {
  readonly count: number;
  /** The distance between two appointments, in days. */
  readonly every: number;
  /** The greatest distance from the regular time, in milliseconds. */
  readonly tolerance: number;
  /** Whether all appointments are in one Schedule. */
  readonly isSameActor: boolean;
}

/** The definition of a visit of more than one appointment. Either `steps` or `series` is filled, never both. */
export interface Visit {
  /** Whether requestors may move and cancel single steps. Appointments of a series can always be moved one by one. */
  readonly isByStep: boolean;
  /** Id of the HealthcareService with this definition. */
  readonly service: string;
  readonly steps: readonly VisitStep[];
  readonly series: Series | undefined;
}

interface ReadVisit {
  /** Absent if the service is an ordinary one, or if its definition has a problem. */
  readonly visit: Visit | undefined;
  readonly issues: readonly Issue[];
}

/** The maximum numbers of steps in a visit, roles in a step, and Schedules in a pool. */
export const MAX_STEPS = 10;
const MAX_POOLS = 4;
const MAX_SCHEDULES_IN_POOL = 100;
/** The most appointments in one booking. */
const MAX_OCCURRENCES = 20;
const MAX_NAME_LENGTH = 64;

const parts = ['step', 'series', 'byStep'] as const;
const stepParts = [
  'name',
  'service',
  'schedule',
  'with',
  'duration',
  'after',
  'gapMin',
  'gapMax',
  'sameAs',
  'optional',
] as const;
const poolParts = ['service', 'schedule'] as const;
const seriesParts = ['count', 'every', 'tolerance', 'sameActor'] as const;

const repeatable: ReadonlySet<string> = new Set(['step', 'schedule', 'with', 'after']);

const invalid = (diagnostics: string, expression: string): Issue => ({
  code: 'visit-invalid',
  diagnostics,
  expression,
});

interface Parts {
  readonly path: string;
  readonly all: (name: string) => readonly { readonly part: Extension; readonly path: string }[];
}

class Reader {
  readonly issues: Issue[] = [];

  say(diagnostics: string, expression: string): undefined {
    this.issues.push(invalid(diagnostics, expression));
    return undefined;
  }

  /** The parts of an extension, by url. An unknown or repeated one is an issue. */
  partsOf({ extension }: Extension, path: string, known: readonly string[], what: string): Parts {
    const inner: readonly (Extension | null)[] = Array.isArray(extension) ? extension : [];
    const found = inner.flatMap((part, index) => (part ? [{ part, path: `${path}.extension[${index}]` }] : []));
    for (const [index, { part, path: at }] of found.entries()) {
      const isAgain = found.findIndex((one) => one.part.url === part.url) < index;
      if (!known.includes(part.url)) {
        this.say(`${what} can only have the parts ${known.join(', ')}.`, `${at}.url`);
      } else if (isAgain && !repeatable.has(part.url)) {
        this.say(`${part.url} is given more than once.`, at);
      }
    }
    return { path, all: (name) => found.filter(({ part }) => part.url === name) };
  }

  /** A duration in milliseconds; `undefined` if it is absent, or an issue. */
  duration({ all }: Parts, name: string, least: number, most: number): number | undefined {
    const [found] = all(name);
    const value = found && milliseconds(found.part.valueDuration);
    const range = `from ${least === 0 ? '0' : lengthText(least)} to ${lengthText(most)}`;
    return found && (value === undefined || value < least || value > most)
      ? this.say(
          `${name} must be a valueDuration ${range}, with one of the codes ${unitCodes.join(', ')}.`,
          `${found.path}.value`,
        )
      : value;
  }

  boolean({ all }: Parts, name: string): boolean {
    const [found] = all(name);
    if (found && typeof found.part.valueBoolean !== 'boolean') {
      this.say(`${name} must be a valueBoolean.`, `${found.path}.value`);
    }
    return found?.part.valueBoolean === true;
  }

  text(part: Extension, name: string, path: string): string | undefined {
    const value: unknown = part.valueString;
    return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_NAME_LENGTH
      ? value
      : this.say(`${name} must be a valueString of 1 to ${MAX_NAME_LENGTH} characters.`, `${path}.value`);
  }

  /** A pool: a service or Schedules. Neither, both, or too many Schedules are an issue, and result in `undefined`. */
  pool({ all, path }: Parts, what: string): Pool | undefined {
    const [services, schedules] = [all('service'), all('schedule')];
    if (services.length + schedules.length === 0) {
      return this.say(`${what} has nobody: name a service, or the schedules that can take it.`, path);
    }
    if (services.length > 0 && schedules.length > 0) {
      return this.say(`${what} has both a service and schedules: name one of them.`, path);
    }
    if (schedules.length > MAX_SCHEDULES_IN_POOL) {
      return this.say(`A pool can have at most ${MAX_SCHEDULES_IN_POOL} schedules.`, path);
    }
    const ids = (found: typeof services, type: 'HealthcareService' | 'Schedule'): string[] =>
      found.flatMap(({ part, path: at }) => {
        const id = idIn(part.valueReference, type);
        return id ? [id] : (this.say(`${part.url} must be a valueReference to a ${type}.`, `${at}.value`) ?? []);
      });
    const [service] = ids(services, 'HealthcareService');
    return service
      ? { kind: 'service', service }
      : { kind: 'schedules', schedules: [...new Set(ids(schedules, 'Schedule'))] };
  }

  /** A step; `undefined` without a readable name or if a pool is invalid. */
  step(extension: Extension, path: string): VisitStep | undefined {
    const found = this.partsOf(extension, path, stepParts, 'A step');
    const [named] = found.all('name');
    const name = named ? this.text(named.part, 'name', named.path) : this.say('A step must have a name.', path);
    const others = found.all('with');
    if (others.length >= MAX_POOLS) {
      this.say(`A step can need at most ${MAX_POOLS} at once.`, path);
    }
    const pools = [
      this.pool(found, 'The step'),
      ...others.map(({ part, path: at }) => this.pool(this.partsOf(part, at, poolParts, 'with'), 'This role')),
    ];
    const after = found.all('after').flatMap(({ part, path: at }) => this.text(part, 'after', at) ?? []);
    const duration = this.duration(found, 'duration', 60_000, DAY);
    const gapMin = this.duration(found, 'gapMin', 0, YEAR) ?? 0;
    const gapMax = this.duration(found, 'gapMax', 0, YEAR) ?? Number.POSITIVE_INFINITY;
    if (gapMax < gapMin) {
      this.say('gapMax must not be shorter than gapMin.', path);
    }
    const isOptional = this.boolean(found, 'optional');
    const [same] = found.all('sameAs');
    const sameAs = same && this.text(same.part, 'sameAs', same.path);
    const all = pools.filter((pool) => pool !== undefined);
    return name === undefined || all.length < pools.length
      ? undefined
      : { name, pools: all, duration, after: [...new Set(after)], gapMin, gapMax, sameAs, isOptional };
  }

  /** A series; `undefined` if its number or distance of appointments is invalid. */
  series(extension: Extension, path: string): Series | undefined {
    const found = this.partsOf(extension, path, seriesParts, 'A series');
    const [counted] = found.all('count');
    const count: unknown = counted?.part.valuePositiveInt;
    if (typeof count !== 'number' || !Number.isInteger(count) || count < 2 || count > MAX_OCCURRENCES) {
      const diagnostics = `count must be a valuePositiveInt from 2 to ${MAX_OCCURRENCES}.`;
      return this.say(diagnostics, counted ? `${counted.path}.value` : path);
    }
    const every = this.duration(found, 'every', DAY, YEAR);
    if (found.all('every').length === 0 || (every !== undefined && every % DAY !== 0)) {
      return this.say('every must be whole days or weeks.', path);
    }
    const tolerance = this.duration(found, 'tolerance', 0, YEAR) ?? 0;
    if (every !== undefined && tolerance * 2 >= every) {
      return this.say('tolerance must be shorter than half of every; otherwise two could change places.', path);
    }
    const isSameActor = this.boolean(found, 'sameActor');
    return every === undefined ? undefined : { count, every: every / DAY, tolerance, isSameActor };
  }
}

/** A cycle in the order of steps, as the names along it. */
function cycleIn(steps: readonly VisitStep[]): readonly string[] | undefined {
  const left = new Map(steps.map((step) => [step.name, step.after.filter((name) => name !== step.name)]));
  for (let isSmaller = true; isSmaller; ) {
    const free = [...left].filter(([, after]) => !after.some((name) => left.has(name))).map(([name]) => name);
    free.forEach((name) => {
      left.delete(name);
    });
    isSmaller = free.length > 0;
  }
  const [start] = left.keys();
  const walk: string[] = start === undefined ? [] : [start];
  for (;;) {
    const last = walk.at(-1);
    const next = last === undefined ? undefined : left.get(last)?.find((name) => left.has(name));
    if (next === undefined) {
      return undefined;
    }
    if (walk.includes(next)) {
      return [...walk.slice(walk.indexOf(next)), next].reverse();
    }
    walk.push(next);
  }
}

/**
 * @param paths - of the steps
 * @param path - of the visit, for issues that concern several steps
 */
function orderIssues(steps: readonly VisitStep[], paths: readonly string[], path: string): Issue[] {
  const names = steps.map(({ name }) => name);
  const ofStep = ({ name, after, sameAs }: VisitStep, index: number): Issue[] => {
    const isOther = (one: string): boolean => one !== name && names.includes(one);
    const at = paths[index] ?? path;
    return [
      ...(names.indexOf(name) < index ? [invalid(`Two steps have the name ${name}.`, at)] : []),
      ...after
        .filter((one) => !isOther(one))
        .map((one) =>
          one === name
            ? invalid(`The step ${name} cannot come after itself.`, at)
            : invalid(`The step ${name} comes after ${one}, which is not a step.`, at),
        ),
      ...(sameAs !== undefined && !isOther(sameAs)
        ? [invalid(`The step ${name} is the same as ${sameAs}, which is no other step.`, at)]
        : []),
    ];
  };
  const cycle = cycleIn(steps);
  const found = [
    ...steps.flatMap(ofStep),
    ...(cycle ? [invalid(`These steps wait for each other: ${cycle.join(' before ')}.`, path)] : []),
    ...(steps.every(({ isOptional }) => isOptional) ? [invalid('At least one step must not be optional.', path)] : []),
  ];
  const isPossible = found.length > 0 || canFollow(steps);
  return isPossible ? found : [invalid('No order of the steps keeps all of their gaps (gapMin, gapMax).', path)];
}

/**
 * Reads the visit definition of a service: the extension LocalVisit.
 * @returns the visit, if the service has a valid one; and a `visit-invalid` with its path for each part that is
 *   unknown, repeated, out of range or contradictory: empty pools, cycles, gaps that no order of the steps keeps
 */
export function readVisit(service: HealthcareService, config: PublicConfig): ReadVisit {
  const url = artefactUri(config, 'LocalVisit');
  const extensions: readonly (Extension | null)[] = Array.isArray(service.extension) ? service.extension : [];
  const found = extensions.flatMap((extension, index) =>
    extension?.url === url ? [{ extension, path: `HealthcareService.extension[${index}]` }] : [],
  );
  const [first, second] = found;
  if (!first) {
    return { visit: undefined, issues: [] };
  }
  const reader = new Reader();
  const { path } = first;
  const read = reader.partsOf(first.extension, path, parts, 'A visit');
  const [steps, [series]] = [read.all('step'), read.all('series')];
  if (second) {
    reader.say('The visit is given more than once.', second.path);
  }
  if ((steps.length === 0) === (series === undefined)) {
    reader.say('A visit must have either steps or a series.', path);
  }
  if (steps.length > MAX_STEPS) {
    reader.say(`A visit can have at most ${MAX_STEPS} steps; this one has ${steps.length}.`, path);
    return { visit: undefined, issues: reader.issues };
  }
  const readSteps = steps.flatMap(({ part, path: at }) => reader.step(part, at) ?? []);
  const readSeries = series && reader.series(series.part, series.path);
  if (steps.length > 0 && reader.issues.length === 0) {
    const paths = steps.map((one) => one.path);
    reader.issues.push(...orderIssues(readSteps, paths, path));
  }
  const isByStep = reader.boolean(read, 'byStep');
  const visit: Visit = { service: service.id ?? '', steps: readSteps, series: readSeries, isByStep };
  return { visit: reader.issues.length > 0 ? undefined : visit, issues: reader.issues };
}

/** A service for portals: without the pools of its visit, which need the right to read Schedules. */
export function withoutPools(service: HealthcareService, config: PublicConfig): HealthcareService {
  const isPool = ({ url }: Extension): boolean => ['service', 'schedule', 'with'].includes(url);
  const shown = (part: Extension): Extension =>
    part.url === 'step'
      ? { ...part, extension: (part.extension ?? []).filter((extension) => !isPool(extension)) }
      : part;
  return isVisit(service, config)
    ? {
        ...service,
        extension: (service.extension ?? []).map((extension) =>
          extension.url === artefactUri(config, 'LocalVisit')
            ? { ...extension, extension: (extension.extension ?? []).map(shown) }
            : extension,
        ),
      }
    : service;
}

/** Whether a service has a visit definition, valid or not. */
export function isVisit({ extension = [] }: HealthcareService, config: PublicConfig): boolean {
  return extension.some(({ url }) => url === artefactUri(config, 'LocalVisit'));
}

/** A step of a visit that consists of one appointment of a service. */
export const plainStep = (service: string): VisitStep => ({
  name: '',
  pools: [{ kind: 'service', service }],
  duration: undefined,
  after: [],
  gapMin: 0,
  gapMax: Number.POSITIVE_INFINITY,
  sameAs: undefined,
  isOptional: false,
});

/** Whether a Schedule belongs to a pool. The Schedules of a service have it as actor, or name it. */
export function isInPool(pool: Pool, schedule: Schedule): boolean {
  return pool.kind === 'schedules'
    ? pool.schedules.includes(schedule.id ?? '')
    : servesAll(schedule) || serviceIdsOfSchedule(schedule).includes(pool.service);
}

export interface StepMark {
  /** Id of the HealthcareService that carries LocalVisit. */
  readonly service: string;
  /** The name of the step; in a series `1`, `2` … */
  readonly step: string;
}

/** The step of a visit that an appointment is (extension LocalVisitStep); `undefined` if it is none. */
export function stepOf({ extension = [] }: Appointment, config: PublicConfig): StepMark | undefined {
  const mark = extension.find(({ url }) => url === artefactUri(config, 'LocalVisitStep'))?.extension ?? [];
  const service = idIn(mark.find(({ url }) => url === 'service')?.valueReference, 'HealthcareService');
  const step = mark.find(({ url }) => url === 'step')?.valueString;
  return service === undefined || step === undefined ? undefined : { service, step };
}

export function stepExtension({ service, step }: StepMark, config: PublicConfig): Extension {
  return {
    url: artefactUri(config, 'LocalVisitStep'),
    extension: [
      { url: 'service', valueReference: { reference: `HealthcareService/${service}` } },
      { url: 'step', valueString: step },
    ],
  };
}

const MAX_MARK_LENGTH = 200;

/** Reads a step mark of any shape; `undefined` if its service or step is absent or invalid. */
function readMark(parts: unknown): StepMark | undefined {
  const list: readonly unknown[] = Array.isArray(parts) ? parts : [];
  const part = (name: string) => list.filter(isObject).find(({ url }) => url === name);
  const { valueReference } = part('service') ?? {};
  const reference = isObject(valueReference) ? valueReference.reference : undefined;
  const service =
    typeof reference === 'string' ? /(?:^|\/)HealthcareService\/([^/]+)$/.exec(reference)?.[1] : undefined;
  const step = part('step')?.valueString;
  return isId(service) && typeof step === 'string' && step !== '' && step.length <= MAX_MARK_LENGTH
    ? { service, step }
    : undefined;
}

/**
 * Reads the visit step that a submitted appointment names.
 * @param appointment - of any content
 * @param path - of the appointment
 * @returns the step, or a `malformed-request` if its extension cannot be read; neither if it has none
 */
export function readStepMark(
  { extension }: Readonly<Record<string, unknown>>,
  path: string,
  config: PublicConfig,
): { readonly step?: StepMark; readonly issues: readonly Issue[] } {
  const url = artefactUri(config, 'LocalVisitStep');
  const list: readonly unknown[] = Array.isArray(extension) ? extension : [];
  const index = list.findIndex((one) => isObject(one) && one.url === url);
  const found = list[index];
  if (!isObject(found)) {
    return { issues: [] };
  }
  const step = readMark(found.extension);
  const diagnostics = 'LocalVisitStep needs a service (Reference to a HealthcareService) and a step (its name).';
  return step
    ? { step, issues: [] }
    : { issues: [{ code: 'malformed-request', diagnostics, expression: `${path}.extension[${index}]` }] };
}

/** The value of the identifier LocalVisitGroup, which all appointments of a visit share. */
export function visitGroupOf({ identifier }: Appointment, config: PublicConfig): string | undefined {
  const system = artefactUri(config, 'LocalVisitGroup');
  const all: readonly ({ system?: string; value?: string } | null)[] = Array.isArray(identifier) ? identifier : [];
  return all.find((one) => one?.system === system)?.value;
}

const isOccurrence = ({ extension }: Appointment): boolean =>
  extension?.some(({ url }) => url === RECURRENCE_ID) ?? false;

/** The visit group that is notified as a whole; `undefined` for a series, whose appointments are notified singly. */
export const notifiedGroupOf = (appointment: Appointment, config: PublicConfig): string | undefined =>
  isOccurrence(appointment) ? undefined : visitGroupOf(appointment, config);

/** The group of an appointment of a series; `undefined` for other appointments. */
export const seriesOf = (appointment: Appointment, config: PublicConfig): string | undefined =>
  isOccurrence(appointment) ? visitGroupOf(appointment, config) : undefined;

/** The visit definition of a service, if it was read and is valid. */
export function visitOf(service: string, services: ResourceSet | undefined, config: PublicConfig): Visit | undefined {
  const found = services && findResource(services, 'HealthcareService', service);
  return found && readVisit(found, config).visit;
}

/** Whether an appointment was confirmed and has begun. It counts as past, whatever happens to the rest of its visit. */
export const hasBegun = ({ status, start }: Appointment, now: number): boolean =>
  status === 'booked' && (parseInstant(start) ?? now) <= now;

/**
 * Whether requestors may move and cancel an appointment without the others of its visit. Steps stay together even if
 * their service no longer has a visit definition.
 */
export function isByItself(appointment: Appointment, services: ResourceSet | undefined, config: PublicConfig): boolean {
  const mark = stepOf(appointment, config);
  const visit = mark && visitOf(mark.service, services, config);
  return visit ? visit.isByStep || visit.series !== undefined : !mark || isOccurrence(appointment);
}

/**
 * The other open appointments of a visit that were read. For a personal offer, these are the other personal offers of
 * the visit.
 */
export function otherAppointmentsOf(
  appointment: Appointment,
  state: ResourceSet,
  now: number,
  config: PublicConfig,
): Appointment[] {
  const group = visitGroupOf(appointment, config);
  return group === undefined
    ? []
    : resourcesOfType(state, 'Appointment').filter(
        (other) =>
          other.id !== appointment.id &&
          visitGroupOf(other, config) === group &&
          isPersonalOffer(other, config) === isPersonalOffer(appointment, config) &&
          canBeMoved(other) &&
          !hasEnded(other, now, config),
      );
}
