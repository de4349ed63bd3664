import { badRequest, OperationOutcomeError, projectAdminResourceTypes, resolveId } from '@medplum/core';
import type {
  AccessPolicy,
  AccessPolicyResource,
  ProjectMembership,
  ProjectMembershipAccess,
  Reference,
} from '@medplum/fhirtypes';

/**
 * The types of project administration in Medplum 5.1: a rule for `*` does not cover them, and only administrators can
 * access them. Newer versions of `@medplum/core` list more.
 */
export const adminTypes: readonly string[] = [
  'Package',
  'PackageRelease',
  'PackageInstallation',
  'Project',
  'ProjectMembership',
  'User',
  'UserSecurityRequest',
];

/** Types that a rule for `*` covers in Medplum 5.1, but not in the `@medplum/core` that decides here. */
const typesUnderWildcard: readonly string[] = projectAdminResourceTypes.filter((type) => !adminTypes.includes(type));

type ReadPolicy = (reference: Reference<AccessPolicy>) => AccessPolicy | undefined;

const readOnly: AccessPolicyResource['interaction'] = ['search', 'read', 'history', 'vread'];
const everythingButDelete: AccessPolicyResource['interaction'] = [
  'read',
  'vread',
  'update',
  'history',
  'create',
  'search',
];

/** Replaces `%name` and `%name.id` everywhere in a policy, the parameters in the order in which they are given. */
function resolveParameters(
  { parameter = [] }: ProjectMembershipAccess,
  policy: AccessPolicy,
  profile: Reference,
): AccessPolicy {
  const parameters = [...parameter, { name: 'profile', valueReference: profile }];
  if (!parameters.some(({ name }) => name === 'patient')) {
    parameters.push({ name: 'patient', valueReference: profile });
  }
  let json = JSON.stringify(policy);
  for (const { name, valueString, valueReference } of parameters) {
    if (valueString) {
      json = json.replaceAll(`%${name}`, valueString);
    } else if (valueReference) {
      json = json.replaceAll(`%${name}.id`, resolveId(valueReference) ?? '');
      json = json.replaceAll(`%${name}`, valueReference.reference ?? '');
    }
  }
  return JSON.parse(json);
}

function accessOf({ accessPolicy, access = [] }: ProjectMembership): ProjectMembershipAccess[] {
  return [...(accessPolicy ? [{ policy: accessPolicy }] : []), ...access];
}

function memberRules(membership: ProjectMembership, read: ReadPolicy): AccessPolicyResource[] {
  const all = accessOf(membership);
  if (all.length === 0) {
    return [{ resourceType: '*' }];
  }
  return all.flatMap((entry) => {
    const policy = read(entry.policy);
    if (!policy) {
      throw new OperationOutcomeError(
        badRequest(
          'Cannot authenticate: Invalid access policy configuration. Please contact your administrator to update your project membership.',
        ),
      );
    }
    return resolveParameters(entry, policy, membership.profile).resource ?? [];
  });
}

/** Everyone may read these types unless a policy says something about them. */
const defaultTypes = ['SearchParameter', 'StructureDefinition'];

function adminRules(project: string): AccessPolicyResource[] {
  return [
    {
      resourceType: 'Project',
      criteria: `Project?_id=${project}`,
      readonlyFields: ['features', 'link', 'systemSetting'],
      hiddenFields: ['superAdmin', 'systemSecret', 'strictMode'],
      interaction: everythingButDelete,
    },
    {
      resourceType: 'Project',
      hiddenFields: ['superAdmin', 'setting', 'systemSetting', 'secret', 'systemSecret', 'strictMode'],
      interaction: ['read', 'vread', 'history', 'search'],
    },
    {
      resourceType: 'ProjectMembership',
      criteria: `ProjectMembership?_project=${project}`,
      readonlyFields: ['project', 'user'],
    },
    { resourceType: 'UserSecurityRequest', criteria: `UserSecurityRequest?_project=${project}`, readonly: true },
    {
      resourceType: 'User',
      criteria: `User?_project=${project}`,
      hiddenFields: ['passwordHash', 'mfaSecret'],
      readonlyFields: ['email', 'emailVerified', 'mfaEnrolled', 'project'],
    },
    { resourceType: 'Package', readonly: true },
    { resourceType: 'PackageRelease', readonly: true },
    { resourceType: 'PackageInstallation', readonly: true },
  ];
}

/** Repeats a rule for `*` for the types that the wildcard does not cover. */
function spelledOut(rule: AccessPolicyResource): AccessPolicyResource[] {
  if (rule.resourceType !== '*') {
    return [rule];
  }
  const others = typesUnderWildcard.map((resourceType) => ({
    ...rule,
    resourceType,
    ...(rule.criteria && { criteria: rule.criteria.replace('*', resourceType) }),
  }));
  return [rule, ...others];
}

/**
 * The effective rights of a project member: its policies with their parameters filled in, Medplum's defaults, and the
 * rules for the types of project administration, which only administrators see.
 *
 * @throws OperationOutcomeError (400) if a policy of the membership does not exist
 * @see https://www.medplum.com/docs/access/access-policies
 */
export function effectivePolicy(membership: ProjectMembership, read: ReadPolicy): AccessPolicy {
  const rules = memberRules(membership, read).map((rule) =>
    rule.readonly && !rule.interaction ? { ...rule, interaction: readOnly } : rule,
  );
  for (const resourceType of defaultTypes) {
    if (!rules.some((rule) => rule.resourceType === resourceType)) {
      rules.push({ resourceType, readonly: true });
    }
  }
  const ordinary = rules.filter(({ resourceType }) => !adminTypes.includes(resourceType)).flatMap(spelledOut);
  const admin = membership.admin ? adminRules(resolveId(membership.project) ?? '') : [];
  const basedOn = accessOf(membership).map(({ policy }) => policy);
  return { resourceType: 'AccessPolicy', basedOn, resource: [...ordinary, ...admin] };
}
