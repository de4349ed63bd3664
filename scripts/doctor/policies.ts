import type { HealthcareService, Schedule } from '@medplum/fhirtypes';
import {
  type EffectivePolicy,
  effectivePolicy,
  type PolicyHolder,
  readPolicy,
} from '../../core/booking/policy/policy.ts';
import type { PublicConfig } from '../../core/fhir/artefacts.ts';
import { serviceIdsOfSchedule } from '../../core/fhir/reference.ts';
import { byId } from '../../core/rows/resource-set.ts';
import { searchAll } from '../medplum/project.ts';
import { type Check, check, type DoctorResult, error, type Installation, ok } from './check.ts';

interface Holders {
  readonly schedules: readonly Schedule[];
  readonly services: readonly HealthcareService[];
}

function unreadable(holder: PolicyHolder, config: PublicConfig): string[] {
  const [issue] = readPolicy(holder, config).issues;
  return issue ? [`${holder.resourceType}/${holder.id} (${issue.expression}: ${issue.diagnostics})`] : [];
}

function policyOf(schedule: Schedule, services: ReadonlyMap<string, HealthcareService>, config: PublicConfig) {
  const own = serviceIdsOfSchedule(schedule).flatMap((id) => services.get(id) ?? []);
  return effectivePolicy(schedule, own, config);
}

function contradictions({ schedules, services }: Holders, config: PublicConfig): string[] {
  const known = byId(services);
  const isContradictory = ({ isReadable, saidBy }: EffectivePolicy): boolean =>
    !isReadable && saidBy.leadTime !== undefined && saidBy.window !== undefined && saidBy.leadTime !== saidBy.window;
  return schedules.flatMap((schedule) => {
    const policy = policyOf(schedule, known, config);
    const { leadTime, window } = policy.saidBy;
    return isContradictory(policy) ? [`Schedule/${schedule.id} (leadTime of ${leadTime}, window of ${window})`] : [];
  });
}

/**
 * Finds invalid booking policies: their schedules have no bookable slots, and portals cannot cancel. Such policies are
 * normally refused when they are saved. These were saved before the deployment, or bypassed the check.
 */
export function assessPolicies(found: Holders, { config }: { readonly config: PublicConfig }): DoctorResult {
  const wrong = [...found.schedules, ...found.services].flatMap((holder) => unreadable(holder, config));
  const all = wrong.length > 0 ? wrong : contradictions(found, config);
  return all.length > 0
    ? error(
        `${all.join('; ')}: nothing can be booked there`,
        'Correct the extension LocalBookingPolicy in Medplum (docs/clinics.md).',
      )
    : ok('all booking policies can be read');
}

const readHolders = async ({ medplum }: Installation): Promise<Holders> => ({
  schedules: await searchAll(medplum, 'Schedule'),
  services: await searchAll(medplum, 'HealthcareService'),
});

export const policyChecks: readonly Check[] = [check('booking policies', readHolders, assessPolicies)];
