import type { FastifyInstance } from 'fastify';
import type { Caller } from '../medplum/current-profile.ts';

/**
 * What `MedplumClient` reads about itself after login: its profile. Medplum's own answer holds the client's secret, its
 * AccessPolicy and the project's settings: none of that is passed on.
 */
const sessionOf = ({ profileType, profileId }: Caller) => ({
  project: { resourceType: 'Project' },
  membership: { resourceType: 'ProjectMembership', profile: { reference: `${profileType}/${profileId}` } },
  profile: { resourceType: profileType, id: profileId },
  config: { resourceType: 'UserConfiguration' },
});

/**
 * Adds `GET /auth/me`, by which `MedplumClient` finds out who it is.
 *
 * @see https://www.medplum.com/docs/sdk/core.medplumclient
 */
export function addMe(app: FastifyInstance): void {
  app.get('/auth/me', async ({ caller }, reply) =>
    reply.header('cache-control', 'no-store').send(caller ? sessionOf(caller) : {}),
  );
}
