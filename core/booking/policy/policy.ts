import type { Extension, HealthcareService, Schedule, Task } from '@medplum/fhirtypes';
import { artefactUri, type PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant, milliseconds, unitCodes, units } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { reservationsIn } from '../../slots/reservation.ts';
import { longestBuffers, withServices } from '../../slots/terms.ts';
import type { Interval } from '../../time/interval.ts';
import { DAY, instantOf, localTimeOf, YEAR } from '../../time/time-zone.ts';
import type { Role } from './caller-rights.ts';

/** The earliest and the latest start that a policy permits, both inclusive; in milliseconds since 1970 UTC. */
export interface StartBounds {
  readonly earliest: number;
  readonly latest: number;
}

/**
 * The permitted starts of an appointment that a requestor books now. The search for free Slots and `$book` both use
 * this.
 * @returns `undefined` if nothing may be booked because the policy is invalid
 */
export function permittedStarts({ policy, isReadable }: EffectivePolicy, now: number): StartBounds | undefined {
  const { leadTime = 0, window = Number.POSITIVE_INFINITY } = policy;
  return isReadable ? { earliest: now + leadTime, latest: now + window } : undefined;
}

/** The action of a requestor: `take` is `$book` or `$hold`, `cancel` releases time. */
type PolicyAction = 'take' | 'cancel';

/** Checks one rule; `start` and `now` in milliseconds since 1970 UTC. */
type PolicyRule = (effective: EffectivePolicy, start: number, now: number, expression: string) => Issue[];

const rulesByAction: Readonly<Record<PolicyAction, PolicyRule>> = {
  take: (effective, start, now, expression) => {
    const bounds = permittedStarts(effective, now);
    const { leadTime = 0, window = 0 } = effective.policy;
    if (!bounds) {
      const diagnostics = 'The booking policy of this schedule is invalid; the clinic must correct it.';
      return [{ code: 'policy-invalid', diagnostics, expression }];
    }
    if (start < bounds.earliest) {
      const diagnostics = `Book at least ${lengthText(leadTime)} in advance: the earliest start is now ${formatInstant(bounds.earliest)}.`;
      return [{ code: 'too-soon', diagnostics, expression }];
    }
    if (start > bounds.latest) {
      const diagnostics = `Book at most ${lengthText(window)} in advance: the latest start is now ${formatInstant(bounds.latest)}.`;
      return [{ code: 'too-far-ahead', diagnostics, expression }];
    }
    return [];
  },
  cancel: ({ policy: { cancelUntil = 0 }, isReadable }, start, now, expression) => {
    if (!isReadable) {
      const diagnostics = 'The booking policy of this schedule is invalid; ask the clinic to cancel.';
      return [{ code: 'cancellation-closed', diagnostics, expression }];
    }
    const until = formatInstant(start - cancelUntil);
    const diagnostics = `Portals could cancel the appointment only until ${until}, ${lengthText(cancelUntil)} before it starts; ask the clinic.`;
    return cancelUntil > 0 && now > start - cancelUntil
      ? [{ code: 'cancellation-closed', diagnostics, expression }]
      : [];
  },
};

/**
 * Checks an action of a requestor against the policies. Policies do not apply to staff: do not call this function for
 * them.
 * @param policies - of all Schedules concerned
 * @param interval - of the appointment
 * @param expression - FHIRPath of the element at fault
 * @returns for `take`: `too-soon`, `too-far-ahead`, `policy-invalid`; for `cancel`: `cancellation-closed`. Equal texts
 *   are returned once.
 */
export function policyIssues(
  action: PolicyAction,
  policies: readonly EffectivePolicy[],
  { start }: Interval,
  now: number,
  expression: string,
): Issue[] {
  const issues = policies.flatMap((policy) => rulesByAction[action](policy, start, now, expression));
  return [...new Map(issues.map((issue) => [issue.diagnostics, issue])).values()];
}

/**
 * The permitted starts of an appointment that is booked now in a Schedule.
 * @returns `undefined` if nothing may be booked: the Schedule is inactive, or its policy is invalid
 */
export function permittedIn(
  schedule: Schedule,
  services: readonly HealthcareService[],
  role: Role,
  now: number,
  config: PublicConfig,
): StartBounds | undefined {
  const { services: servicesOfSchedule } = withServices(schedule, services);
  const everything = { earliest: now, latest: Number.POSITIVE_INFINITY };
  if (schedule.active === false) {
    return undefined;
  }
  return role === 'staff' ? everything : permittedStarts(effectivePolicy(schedule, servicesOfSchedule, config), now);
}

const isUnbounded = ({ earliest, latest }: StartBounds, now: number): boolean =>
  earliest <= now && latest === Number.POSITIVE_INFINITY;

/**
 * The condition under which a free Slot can be booked, as a value of `_filter`: its Schedule is active, its start is
 * within the limits of the policy, and its time is not reserved. `$book` applies the same rules.
 * @param schedules - all Schedules whose Slots are searched
 * @param services - of these Schedules
 * @param rows - with their reservations
 * @returns `undefined` if everything can be booked
 * @see https://hl7.org/fhir/R4/search_filter.html
 */
export function bookableFilter(
  schedules: readonly Schedule[],
  services: readonly HealthcareService[],
  rows: readonly Task[],
  role: Role,
  now: number,
  config: PublicConfig,
): string | undefined {
  const reserved = rows.flatMap((row) => reservedFilters(row, schedules, services, now, config));
  const permitted = permittedFilter(schedules, services, role, now, config);
  const all = [...(permitted ? [reserved.length > 0 ? `(${permitted})` : permitted] : []), ...reserved];
  return all.length > 0 ? all.join(' and ') : undefined;
}

/** A condition for each reservation in a row: another Schedule, or outside the time with its longest buffers. */
function reservedFilters(
  row: Task,
  schedules: readonly Schedule[],
  services: readonly HealthcareService[],
  now: number,
  config: PublicConfig,
): string[] {
  const schedule = schedules.find(({ id }) => row.focus?.reference === `Schedule/${id}`);
  const { before, after } = schedule ? longestBuffers(withServices(schedule, services)) : { before: 0, after: 0 };
  return reservationsIn(row, now, config)
    .filter(({ until }) => now < until)
    .map(({ start, end }) => {
      const [first, last] = [formatInstant(start - after), formatInstant(end + before)];
      return `(schedule ne "${row.focus?.reference}" or end le "${first}" or start ge "${last}")`;
    });
}

/** The condition for permitted starts; `undefined` if no Schedule restricts them. */
function permittedFilter(
  schedules: readonly Schedule[],
  services: readonly HealthcareService[],
  role: Role,
  now: number,
  config: PublicConfig,
): string | undefined {
  const limited = schedules
    .map((schedule) => ({
      key: `"Schedule/${schedule.id}"`,
      bounds: permittedIn(schedule, services, role, now, config),
    }))
    .filter(({ bounds }) => !bounds || !isUnbounded(bounds, now));
  if (limited.length === 0) {
    return undefined;
  }
  const others = limited.map(({ key }) => `schedule ne ${key}`).join(' and ');
  const within = limited.flatMap(({ key, bounds }) => {
    const latest = bounds && Number.isFinite(bounds.latest) ? ` and start le "${formatInstant(bounds.latest)}"` : '';
    return bounds ? [`(schedule re ${key} and start ge "${formatInstant(bounds.earliest)}"${latest})`] : [];
  });
  return [`(${others})`, ...within].join(' or ');
}

/** A length of time as text for people: `90 min`, `3 d`. */
export function lengthText(length: number): string {
  const [code = 's', unit = 1_000] =
    Object.entries(units).findLast(([name, size]) => name !== 'wk' && length >= size && length % size === 0) ?? [];
  return `${length / unit} ${code}`;
}

/** The parts of a policy that are lengths of time, with the bounds of each in milliseconds. */
const lengths = {
  leadTime: { least: 0, most: YEAR },
  window: { least: 60_000, most: 10 * YEAR },
  cancelUntil: { least: 0, most: YEAR },
  holdFor: { least: 1_000, most: DAY },
  longest: { least: 60_000, most: DAY },
  confirmWithin: { least: 1_000, most: YEAR },
  refillNotice: { least: 0, most: YEAR },
  offerFor: { least: 1_000, most: 7 * DAY },
  attendanceBy: { least: 3_600_000, most: 6 * DAY },
} as const;

/** The parts of a policy that are numbers of appointments, with the maximum of each. */
const counts = { maxOpenPerPatient: 100, maxPerPortalAndDay: 1_000 } as const;

/** The parts of a policy of other types. Each is stored as a number. */
const others = {
  /** 1 if freed time is offered to the people on the waitlist. */
  refill: {
    said: 'a valueBoolean',
    read: ({ valueBoolean }: Extension) => (typeof valueBoolean === 'boolean' ? Number(valueBoolean) : undefined),
  },
  /** The daily hours without personal offers: the minute of their begin times 1440, plus the minute of their end. */
  quietHours: {
    said: 'a valueString such as 22:00-07:00',
    read: ({ valueString }: Extension) => dailyHours(valueString),
  },
} as const;

const MINUTES_A_DAY = 1_440;

const dailyPattern = /^(?:[01][0-9]|2[0-3]):[0-5][0-9]-(?:[01][0-9]|2[0-3]):[0-5][0-9]$/;

function dailyHours(text: unknown): number | undefined {
  const times = typeof text === 'string' && dailyPattern.test(text) ? text.split('-') : [];
  const [begin, end] = times.map((time) => Number(time.slice(0, 2)) * 60 + Number(time.slice(3)));
  return begin === undefined || end === undefined || begin === end ? undefined : begin * MINUTES_A_DAY + end;
}

/** The end of the quiet hours around a moment; outside of quiet hours the moment itself. */
export function afterQuietHours({ quietHours }: BookingPolicy, time: number, timeZone: string): number {
  if (quietHours === undefined) {
    return time;
  }
  const [begin, end] = [Math.floor(quietHours / MINUTES_A_DAY) * 60_000, (quietHours % MINUTES_A_DAY) * 60_000];
  const local = localTimeOf(timeZone, time);
  const clock = local % DAY;
  const isQuiet = begin < end ? clock >= begin && clock < end : clock >= begin || clock < end;
  const midnight = local - clock + (clock >= end ? DAY : 0);
  return isQuiet ? instantOf(timeZone, midnight + end) : time;
}

type Length = keyof typeof lengths;
type Count = keyof typeof counts;
type Other = keyof typeof others;

type PolicyPart = Length | Count | Other;

const isLength = (name: string): name is Length => Object.hasOwn(lengths, name);
const isOther = (name: string): name is Other => Object.hasOwn(others, name);
const isCount = (name: string): name is Count => Object.hasOwn(counts, name);

const policyParts = [...Object.keys(lengths), ...Object.keys(counts), ...Object.keys(others)] as readonly PolicyPart[];

/**
 * The booking policy of one resource: lengths in milliseconds, numbers of appointments, and the others as they are
 * read. An absent part sets no limit.
 */
type BookingPolicy = Readonly<Partial<Record<PolicyPart, number>>>;

interface ReadPolicy {
  readonly policy: BookingPolicy;
  readonly issues: readonly Issue[];
}

/** A resource that can carry a policy. */
export type PolicyHolder = Schedule | HealthcareService;

const invalid = (diagnostics: string, expression: string): Issue => ({
  code: 'policy-invalid',
  diagnostics,
  expression,
});

type ReadPart = { readonly name: PolicyPart; readonly value: number } | { readonly issue: Issue };

function readLength(name: Length, { valueDuration }: Extension, path: string): ReadPart {
  const { least, most } = lengths[name];
  const value = milliseconds(valueDuration);
  const bounds = `from ${least === 0 ? '0' : lengthText(least)} to ${lengthText(most)}`;
  const diagnostics = `${name} must be a valueDuration ${bounds}, with one of the codes ${unitCodes.join(', ')}.`;
  return value !== undefined && value >= least && value <= most
    ? { name, value }
    : { issue: invalid(diagnostics, `${path}.value`) };
}

function readCount(name: Count, { valuePositiveInt: value }: Extension, path: string): ReadPart {
  const diagnostics = `${name} must be a valuePositiveInt from 1 to ${counts[name]}.`;
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= counts[name]
    ? { name, value }
    : { issue: invalid(diagnostics, `${path}.value`) };
}

function readOther(name: Other, part: Extension, path: string): ReadPart {
  const value = others[name].read(part);
  return value === undefined
    ? { issue: invalid(`${name} must be ${others[name].said}.`, `${path}.value`) }
    : { name, value };
}

function readPart(part: Extension, path: string): ReadPart {
  const { url } = part;
  if (isLength(url)) {
    return readLength(url, part, path);
  }
  if (isOther(url)) {
    return readOther(url, part, path);
  }
  return isCount(url)
    ? readCount(url, part, path)
    : { issue: invalid(`A booking policy can only have the parts ${policyParts.join(', ')}.`, `${path}.url`) };
}

/** Whether nothing could ever be booked, because every time within the window is too soon. */
function isContradictory({ leadTime = 0, window }: BookingPolicy): boolean {
  return window !== undefined && window <= leadTime;
}

const contradiction = (expression: string): Issue =>
  invalid('window must be longer than leadTime; otherwise no time could ever be booked.', expression);

/** Reads the parts of a policy. Faulty parts are left out; of repeated parts the last one counts. */
function readExtension(extension: Extension, path: string): ReadPolicy {
  const inner = Array.isArray(extension.extension) ? extension.extension : [];
  const read = inner.map((part, index) => readPart(part, `${path}.extension[${index}]`));
  const issues = read.flatMap((part) => ('issue' in part ? part.issue : []));
  const parts = read.flatMap((part) => ('issue' in part ? [] : [part]));
  const repeated = parts.filter(({ name }, index) => parts.findIndex((part) => part.name === name) < index);
  const policy: BookingPolicy = Object.fromEntries(parts.map(({ name, value }) => [name, value]));
  return {
    policy,
    issues: [
      ...issues,
      ...(inner.length === 0
        ? [invalid(`A booking policy must have at least one of the parts ${policyParts.join(', ')}.`, path)]
        : []),
      ...repeated.map(({ name }) => invalid(`${name} is given more than once.`, path)),
      ...(isContradictory(policy) ? [contradiction(path)] : []),
    ],
  };
}

/**
 * Reads the booking policy in a Schedule or HealthcareService: the extension LocalBookingPolicy.
 * @returns the policy, and a `policy-invalid` with its path for each part that is out of range, contradictory, unknown
 *   or repeated
 */
export function readPolicy(holder: PolicyHolder, config: PublicConfig): ReadPolicy {
  const url = artefactUri(config, 'LocalBookingPolicy');
  const extensions: readonly (Extension | null)[] = Array.isArray(holder.extension) ? holder.extension : [];
  const found = extensions.flatMap((extension, index) =>
    extension?.url === url ? [{ extension, path: `${holder.resourceType}.extension[${index}]` }] : [],
  );
  const [first, second] = found;
  if (!first) {
    return { policy: {}, issues: [] };
  }
  const { policy, issues } = readExtension(first.extension, first.path);
  return {
    policy,
    issues: [...issues, ...(second ? [invalid('The booking policy is given more than once.', second.path)] : [])],
  };
}

/** The policy that applies to bookings in a Schedule. */
export interface EffectivePolicy {
  readonly policy: BookingPolicy;
  /** The source of each part: `Schedule/1`, `HealthcareService/2`. */
  readonly saidBy: Readonly<Partial<Record<PolicyPart, string>>>;
  /** Whether all policies involved are valid; if not, nothing may be booked. */
  readonly isReadable: boolean;
}

const stricter: Readonly<Record<PolicyPart, (one: number, other: number) => number>> = {
  leadTime: Math.max,
  window: Math.min,
  cancelUntil: Math.max,
  holdFor: Math.min,
  longest: Math.min,
  confirmWithin: Math.min,
  maxOpenPerPatient: Math.min,
  maxPerPortalAndDay: Math.min,
  refill: Math.max,
  refillNotice: Math.max,
  offerFor: Math.min,
  attendanceBy: Math.max,
  quietHours: Math.max,
};

interface Said {
  readonly value: number;
  readonly by: string;
}

/**
 * The policy of a Schedule: its own parts, and for every other part the strictest value of its services.
 * @param services - the services that are actors of the Schedule or that it offers
 */
export function effectivePolicy(
  schedule: Schedule,
  services: readonly HealthcareService[],
  config: PublicConfig,
): EffectivePolicy {
  const own = readPolicy(schedule, config);
  const others = services.map((service) => ({ service, ...readPolicy(service, config) }));
  const saidFor = (part: PolicyPart): Said | undefined => {
    const value = own.policy[part];
    if (value !== undefined) {
      return { value, by: `Schedule/${schedule.id}` };
    }
    const said = others.flatMap(({ service, policy }) =>
      policy[part] === undefined ? [] : [{ value: policy[part], by: `HealthcareService/${service.id}` }],
    );
    return said.reduce<Said | undefined>(
      (strictest, one) =>
        strictest && stricter[part](strictest.value, one.value) === strictest.value ? strictest : one,
      undefined,
    );
  };
  const said = policyParts.flatMap((part) => {
    const found = saidFor(part);
    return found ? [{ part, ...found }] : [];
  });
  const policy: BookingPolicy = Object.fromEntries(said.map(({ part, value }) => [part, value]));
  return {
    policy,
    saidBy: Object.fromEntries(said.map(({ part, by }) => [part, by])),
    isReadable: [own, ...others].every(({ issues }) => issues.length === 0) && !isContradictory(policy),
  };
}
