import type { HealthcareService, Schedule, Task } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import { formatInstant } from '../../fhir/instant.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { reservationsIn } from '../../slots/reservation.ts';
import { longestBuffers, withServices } from '../../slots/terms.ts';
import type { Interval } from '../../time/interval.ts';
import type { Role } from './caller-role.ts';
import { type EffectivePolicy, effectivePolicy, lengthText } from './policy.ts';

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
type PolicyQuestion = 'take' | 'cancel';

/** Checks one rule; `start` and `now` in milliseconds since 1970 UTC. */
type PolicyReasons = (effective: EffectivePolicy, start: number, now: number, expression: string) => Issue[];

const judgements: Readonly<Record<PolicyQuestion, PolicyReasons>> = {
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
 * @param now - milliseconds since 1970 UTC
 * @param expression - FHIRPath of the element at fault
 * @returns for `take`: `too-soon`, `too-far-ahead`, `policy-invalid`; for `cancel`: `cancellation-closed`. Equal texts
 *   are returned once.
 */
export function policyIssues(
  question: PolicyQuestion,
  policies: readonly EffectivePolicy[],
  { start }: Interval,
  now: number,
  expression: string,
): Issue[] {
  const issues = policies.flatMap((policy) => judgements[question](policy, start, now, expression));
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
  const { services: own } = withServices(schedule, services);
  const everything = { earliest: now, latest: Number.POSITIVE_INFINITY };
  if (schedule.active === false) {
    return undefined;
  }
  return role === 'repository' ? everything : permittedStarts(effectivePolicy(schedule, own, config), now);
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
