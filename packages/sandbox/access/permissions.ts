import {
  type AccessPolicyInteraction,
  accessPolicySupportsInteraction,
  evalFhirPathTyped,
  forbidden,
  OperationOutcomeError,
  parseSearchRequest,
  protectedResourceTypes,
  satisfiedAccessPolicy,
  toTypedValue,
  validateResourceType,
} from '@medplum/core';
import type { AccessPolicyResource, Resource, ResourceType } from '@medplum/fhirtypes';
import type { Caller } from '../platform.ts';
import { type Predicate, predicateOf } from '../search/predicate.ts';
import type { SearchSource } from '../search/source.ts';
import { adminTypes } from './policy.ts';

/** Throws for a name that is not a resource type. */
export function assertResourceType(type: string): asserts type is ResourceType {
  validateResourceType(type);
}

/** Whether the caller may do this with at least some resource of the type. */
function supports(caller: Caller, interaction: AccessPolicyInteraction, type: ResourceType): boolean {
  if (caller.isSystem) {
    return true;
  }
  if (protectedResourceTypes.includes(type)) {
    return false;
  }
  return !caller.accessPolicy || accessPolicySupportsInteraction(caller.accessPolicy, interaction, type);
}

/** Throws 403 if the caller may do this with no resource of the type. */
export function assertSupports(caller: Caller, interaction: AccessPolicyInteraction, type: ResourceType): void {
  if (!supports(caller, interaction, type)) {
    throw new OperationOutcomeError(forbidden);
  }
}

/**
 * Finds the rule that lets the caller do this with a resource, as Medplum decides it in memory: criteria are matched by
 * `@medplum/core`, which does not support chained search.
 */
export function permission(
  caller: Caller,
  interaction: AccessPolicyInteraction,
  resource: Resource,
): AccessPolicyResource | undefined {
  const isOutside =
    protectedResourceTypes.includes(resource.resourceType) || resource.meta?.project !== caller.project?.id;
  if (!caller.isSystem && isOutside) {
    return undefined;
  }
  return satisfiedAccessPolicy(resource, interaction, caller.accessPolicy);
}

/**
 * Whether the caller may write a resource in its present form.
 *
 * @param previous - the version that it replaces
 */
export function isWriteable(
  caller: Caller,
  interaction: 'create' | 'update',
  previous: Resource | undefined,
  current: Resource,
): boolean {
  const rule = permission(caller, interaction, current);
  return Boolean(
    rule?.writeConstraint?.every(({ expression }) => {
      const before = { type: previous?.resourceType ?? 'undefined', value: previous };
      const after = { type: current.resourceType, value: current };
      const [result, ...others] = evalFhirPathTyped(expression ?? '', [toTypedValue(current)], {
        '%before': before,
        '%after': after,
      });
      return result?.value === true && others.length === 0;
    }) ?? rule,
  );
}

function rulesFor(caller: Caller, type: ResourceType, interaction: AccessPolicyInteraction): AccessPolicyResource[] {
  const isAdminType = adminTypes.includes(type);
  return (caller.accessPolicy?.resource ?? []).filter(
    (rule) =>
      (rule.resourceType === type || (rule.resourceType === '*' && !isAdminType)) &&
      (!rule.interaction || rule.interaction.includes(interaction)),
  );
}

/**
 * The criteria for reading a type, as Medplum puts them into its SQL: one of them must hold, chained ones included. A
 * rule without criteria, or with criteria for another type, matches every resource.
 */
export function readable(
  source: SearchSource,
  caller: Caller,
  type: ResourceType,
  interaction: AccessPolicyInteraction,
): Predicate {
  const inProject: Predicate = caller.isSystem
    ? () => true
    : (resource) => resource.meta?.project === caller.project?.id;
  const rules = type === 'Binary' ? [] : rulesFor(caller, type, interaction);
  if (rules.length === 0 || rules.some(({ resourceType, criteria }) => !criteria?.startsWith(`${resourceType}?`))) {
    return inProject;
  }
  const criteria = rules.map((rule) => {
    const query = rule.criteria?.slice(rule.criteria.indexOf('?')) ?? '';
    return predicateOf(source, type, parseSearchRequest(`${type}${query}`).filters ?? []);
  });
  return (resource) => inProject(resource) && criteria.some((isMet) => isMet(resource));
}
