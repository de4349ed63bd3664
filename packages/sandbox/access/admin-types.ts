import { projectAdminResourceTypes } from '@medplum/core';

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
export const typesUnderWildcard: readonly string[] = projectAdminResourceTypes.filter(
  (type) => !adminTypes.includes(type),
);
