import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../config/config.ts';
import { type BookingPolicy, isContradictory, type PolicyPart, policyParts, readPolicy } from './policy.ts';

/** The policy that applies to bookings in a Schedule. */
export interface EffectivePolicy {
  readonly policy: BookingPolicy;
  /** Where each part comes from: `Schedule/1`, `HealthcareService/2`. */
  readonly saidBy: Readonly<Partial<Record<PolicyPart, string>>>;
  /** Whether all policies involved are valid; if not, nothing may be booked. */
  readonly isReadable: boolean;
}

/** The stricter of two values of a part. */
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
  drawUntil: Math.max,
};

interface Said {
  readonly value: number;
  readonly by: string;
}

/**
 * The policy of a Schedule: its own parts, and for every part that it leaves out the strictest value of its services.
 *
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
