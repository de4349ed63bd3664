import type { Session } from '../platform.ts';

const favorites = ['Patient', 'Practitioner', 'Organization', 'ServiceRequest', 'DiagnosticReport', 'Questionnaire'];

/** The response of `GET /auth/me` to a member of the project. */
export function aboutMe({ project, membership, profile, caller }: Session): object {
  const link = favorites.map((name) => ({ name, target: `/${name}` }));
  return {
    project: {
      resourceType: 'Project',
      id: project.id,
      name: project.name,
      features: project.features,
      description: project.description,
      strictMode: project.strictMode,
      superAdmin: project.superAdmin,
    },
    membership: {
      resourceType: 'ProjectMembership',
      id: membership.id,
      identifier: membership.identifier,
      user: membership.user,
      profile: membership.profile,
      admin: membership.admin,
    },
    profile,
    config: { resourceType: 'UserConfiguration', menu: [{ title: 'Favorites', link }] },
    accessPolicy: caller.accessPolicy,
  };
}
