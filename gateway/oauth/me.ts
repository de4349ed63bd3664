import type { FastifyInstance } from 'fastify';
import type { Caller } from '../medplum/current-profile.ts';

/**
 * The session that `MedplumClient` reads after login: only its profile. Medplum's response also contains the client's
 * secret, its AccessPolicy and the project's settings.
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
