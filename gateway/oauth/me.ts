import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Admission } from '../admission/admission.ts';
import type { GatewayContext } from '../context.ts';
import { defaultRepresentation, type FhirResponse, send } from '../http/response.ts';
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
export function addMe(app: FastifyInstance, { addresses }: GatewayContext, admission: Admission): void {
  const answer = (reply: FastifyReply, what: FhirResponse) => send(reply, what, defaultRepresentation, addresses);
  app.get('/auth/me', {
    onRequest: async (request, reply) => {
      const refused = await admission.admit(request, reply);
      return refused && answer(reply, refused);
    },
    handler: async ({ caller }, reply) =>
      reply.header('cache-control', 'no-store').send(caller ? sessionOf(caller) : {}),
  });
}
