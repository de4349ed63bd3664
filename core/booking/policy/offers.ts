import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../config/config.ts';
import { formatInstant } from '../../fhir/instant.ts';
import { idIn } from '../../fhir/reference/reference.ts';
import { serviceIdsOf } from '../../fhir/reference/service-reference.ts';
import type { Role } from '../caller-role.ts';
import { effectivePolicy } from './effective-policy.ts';
import { permittedStarts, type StartBounds } from './judge.ts';

/**
 * When an appointment that is booked now in a Schedule may start.
 *
 * @returns `undefined` if nothing may be booked: the Schedule is inactive, or its policy is invalid
 */
export function permittedIn(
  schedule: Schedule,
  services: readonly HealthcareService[],
  role: Role,
  now: number,
  config: PublicConfig,
): StartBounds | undefined {
  const named = [...serviceIdsOf(schedule), ...schedule.actor.map((one) => idIn(one, 'HealthcareService'))];
  const own = services.filter(({ id = '' }) => named.includes(id));
  const everything = { earliest: now, latest: Number.POSITIVE_INFINITY };
  if (schedule.active === false) {
    return undefined;
  }
  return role === 'repository' ? everything : permittedStarts(effectivePolicy(schedule, own, config), now);
}

const isUnbounded = ({ earliest, latest }: StartBounds, now: number): boolean =>
  earliest <= now && latest === Number.POSITIVE_INFINITY;

/**
 * The condition under which a free Slot can be booked, as a value of `_filter`: its Schedule is open, and its start is
 * within the limits of the policy. `$book` applies the same policies.
 *
 * @param schedules - all Schedules whose Slots are searched
 * @param services - of these Schedules
 * @returns `undefined` if everything can be booked
 * @see https://hl7.org/fhir/R4/search_filter.html
 */
export function bookableFilter(
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
