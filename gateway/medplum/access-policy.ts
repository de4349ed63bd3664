import type { Resource } from '@medplum/fhirtypes';
import { isObject } from '../../core/fhir/resource.ts';
import { type ServedType, type ServedTypeName, servedTypeNames, servedTypes } from '../served-types.ts';

/** The rules of an AccessPolicy of any shape. */
function rulesOf(policy: unknown): readonly unknown[] {
  return isObject(policy) && Array.isArray(policy.resource) ? policy.resource : [];
}

/** Whether a rule of an AccessPolicy lets its holder find every resource of a type. */
function findsAllBy(rule: unknown, type: ServedTypeName): boolean {
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
  return servedTypeNames.filter((type) => rules.some((rule) => findsAllBy(rule, type)));
}

/** Which versions of a resource a caller may see: all of them, or those with one of these tags (`system|code`). */
type VersionAccess = 'all' | readonly string[];

/** The access to the versions of each type that has a history. */
export type VersionAccesses = Readonly<Partial<Record<ServedTypeName, VersionAccess>>>;

/** The tags in criteria such as `Appointment?_tag=a|b,c|d`; none if the criteria have any other parameter. */
function tagsOf(criteria: unknown): readonly string[] {
  const [, query = ''] = typeof criteria === 'string' ? criteria.split(/\?(.*)/s) : [];
  const parameters = [...new URLSearchParams(query)];
  const [only] = parameters;
  return only && parameters.length === 1 && only[0] === '_tag' ? only[1].split(',').filter(Boolean) : [];
}

/** The access to versions that one rule of an AccessPolicy gives; `[]` is none. */
function versionAccessBy(rule: unknown, type: ServedTypeName): VersionAccess {
  if (!isObject(rule) || (rule.resourceType !== type && rule.resourceType !== '*')) {
    return [];
  }
  const { interaction, criteria, compartment } = rule;
  if (Array.isArray(interaction) && !interaction.includes('vread') && !interaction.includes('history')) {
    return [];
  }
  return criteria === undefined && compartment === undefined
    ? 'all'
    : compartment === undefined
      ? tagsOf(criteria)
      : [];
}

function accessTo(type: ServedTypeName, rules: readonly unknown[]): VersionAccess {
  const given = rules.map((rule) => versionAccessBy(rule, type));
  return given.includes('all')
    ? 'all'
    : [...new Set(given.flatMap((versionAccess) => (versionAccess === 'all' ? [] : versionAccess)))];
}

/**
 * The versions that the holder of an AccessPolicy may see. Medplum checks only the latest version of a history: a caller
 * that may read it would see every earlier version, including those of another owner. The gateway checks each version.
 *
 * @param policy - as `GET /auth/me` returns it, with its parameters filled in; without one the caller sees everything.
 *   The only criteria understood are tags: any others give access to no version
 * @see https://www.medplum.com/docs/access/access-policies
 */
export function versionAccesses(policy: unknown): VersionAccesses {
  const rules = rulesOf(policy);
  const versioned = servedTypeNames.filter((type) => {
    const { interactions }: ServedType = servedTypes[type];
    return interactions.includes('vread');
  });
  const isUnrestricted = policy === undefined || policy === null;
  return Object.fromEntries(versioned.map((type) => [type, isUnrestricted ? 'all' : accessTo(type, rules)]));
}

/** Whether a caller may see only the current version of a resource that it may read. */
export const isCurrentOnly = (access: VersionAccess): boolean => access.length === 0;

/** Whether a version of a resource may be seen. */
export function isVisible({ meta }: Pick<Resource, 'meta'>, access: VersionAccess = []): boolean {
  const tags = Array.isArray(meta?.tag) ? meta.tag : [];
  return (
    access === 'all' || tags.some((tag) => isObject(tag) && access.includes(`${tag.system ?? ''}|${tag.code ?? ''}`))
  );
}
