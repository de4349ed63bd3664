import { isObject } from '../../core/fhir/resource.ts';
import { type ServedTypeName, servedTypeNames } from '../served-types.ts';

/** The rules of an AccessPolicy of any shape. */
export function rulesOf(policy: unknown): readonly unknown[] {
  return isObject(policy) && Array.isArray(policy.resource) ? policy.resource : [];
}

/** Whether a rule of an AccessPolicy lets its holder find every resource of a type. */
function opens(rule: unknown, type: ServedTypeName): boolean {
  if (!isObject(rule) || (rule.resourceType !== type && rule.resourceType !== '*')) {
    return false;
  }
  const isSearchable = !Array.isArray(rule.interaction) || rule.interaction.includes('search');
  return isSearchable && rule.criteria === undefined && rule.compartment === undefined;
}

/**
 * The types of the service of which the holder of an AccessPolicy finds every resource in its project.
 *
 * @param policy - as `GET /auth/me` returns it, with its parameters filled in; of any shape: what it does not state
 *   clearly counts as restricted
 * @see https://www.medplum.com/docs/access/access-policies
 */
export function typesFoundWhole(policy: unknown): readonly ServedTypeName[] {
  const rules = rulesOf(policy);
  return servedTypeNames.filter((type) => rules.some((rule) => opens(rule, type)));
}
