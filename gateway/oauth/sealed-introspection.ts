import type { FastifyReply, FastifyRequest } from 'fastify';
import { isObject } from '../../core/fhir/resource.ts';
import type { GatewayContext } from '../context.ts';
import { hasBearerToken, isCaller } from '../medplum/current-profile.ts';
import type { PresentedToken } from '../sealing/access-tokens.ts';
import { oauthEndpoints } from './discovery.ts';
import { sendOAuthRefusal } from './errors.ts';
import { askMedplum, publicMembers } from './exchange.ts';

const inactive = { active: false };

/**
 * Answers `POST /oauth2/introspect`: whether a token is good here, and until when.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7662
 */
export function introspectSealed(context: GatewayContext) {
  const { accessTokens, callers, addresses } = context;
  const { issuer } = oauthEndpoints(addresses);
  /** The token as Medplum accepts it; `undefined` if it is not good here. */
  const presentedBy = async (token: string): Promise<PresentedToken | undefined> => {
    const authorization = `Bearer ${token}`;
    const presented = hasBearerToken(authorization) ? await accessTokens.read(authorization) : undefined;
    if (!presented || presented.isSealed) {
      return presented;
    }
    const caller = await callers.find(authorization);
    return isCaller(caller) && accessTokens.admits(presented, caller) ? presented : undefined;
  };
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const token = new URLSearchParams(typeof request.body === 'string' ? request.body : '').get('token');
    if (!token) {
      const description = 'Send the parameter token: the access token to examine.';
      return sendOAuthRefusal(reply, { status: 400, error: 'invalid_request', description });
    }
    const presented = await presentedBy(token);
    reply.header('cache-control', 'no-store');
    if (!presented) {
      return reply.send(inactive);
    }
    const body = new URLSearchParams({ token: presented.authorization.replace(/^Bearer /, '') }).toString();
    const answer = await askMedplum({ method: 'POST', path: 'oauth2/introspect', body }, request, context);
    if ('refuse' in answer) {
      return answer.refuse(reply);
    }
    const members = isObject(answer.body) ? publicMembers(answer.body, addresses) : inactive;
    return reply.send({ ...members, ...(presented.isSealed && 'iss' in members && { iss: issuer }) });
  };
}
