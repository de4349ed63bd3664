import type { FastifyReply, FastifyRequest } from 'fastify';
import { decodeJwt, type JWTPayload } from 'jose';
import { isObject, parseJson } from '../../core/fhir/resource.ts';
import type { GatewayContext, Sealing } from '../context.ts';
import { only, tracing } from '../handler.ts';
import { problem } from '../http/errors.ts';
import { isCaller, nameOf } from '../medplum/current-profile.ts';
import { failureResponse, upstreamProblem } from '../medplum/errors.ts';
import { isPortal } from '../sealing/access-tokens.ts';
import { isSealedSecret, openSecret } from '../sealing/sealed-secret.ts';
import type { MedplumToken } from '../sealing/sealed-token.ts';
import { type OAuthRefusal, sendMedplumRefusal, sendOAuthProblem, sendOAuthRefusal } from './errors.ts';
import { readTokenRequest, type TokenRequest } from './token-request.ts';

const invalidClient = (description: string): OAuthRefusal => ({ status: 401, error: 'invalid_client', description });

const unreadable = invalidClient(
  'This secret cannot be read: it is not the one of this client, or the key it was sealed with is no longer in use. ' +
    'Ask the clinic for a new one.',
);

const notSealed = invalidClient(
  "This is Medplum's own secret, which portals no longer use here. Ask the clinic for a sealed one (npm run requestor -- " +
    'rotate).',
);

/** The form for Medplum; `undefined` if the secret is sealed and cannot be opened. */
function formFor({ clientId, clientSecret, scope }: TokenRequest, { keys }: Sealing): string | undefined {
  const isSealed = clientSecret !== undefined && isSealedSecret(clientSecret);
  const secret = isSealed ? openSecret(keys, clientId, clientSecret) : clientSecret;
  return isSealed && secret === undefined
    ? undefined
    : new URLSearchParams({
        grant_type: 'client_credentials',
        ...(clientId && { client_id: clientId }),
        ...(secret !== undefined && { client_secret: secret }),
        ...(scope !== undefined && { scope }),
      }).toString();
}

/** The claims of a token of Medplum's, not verified: it has just been issued. */
function claimsOf(token: string): JWTPayload {
  try {
    return decodeJwt(token);
  } catch {
    return {};
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The token in a response of Medplum's token endpoint; `undefined` if it has no token or no `expires_in`. */
function tokenIn(body: unknown, now: number): MedplumToken | undefined {
  const { access_token: token, scope, expires_in: seconds } = isObject(body) ? body : {};
  if (typeof token !== 'string' || typeof seconds !== 'number') {
    return undefined;
  }
  const { exp = Math.floor(now / 1000) + seconds, client_id: client, profile } = claimsOf(token);
  return { token, expires: exp, client: textOf(client), profile: textOf(profile), scope: textOf(scope) };
}

/** The members of Medplum's answer that are passed on. Its ID token is not: Medplum accepts it like its access token. */
const passedOn = ['expires_in', 'scope', 'project', 'profile'] as const;

/**
 * Makes the handler of `POST /oauth2/token`: opens the secret, asks Medplum, and responds with a token of the service.
 * A portal that sends Medplum's own secret is refused, or let in while an installation is changing over.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.4
 */
export function giveSealedToken({ callers, config, now, sealing, upstream }: GatewayContext) {
  /** The function that refuses a portal with Medplum's own secret; `undefined` if the client is admitted. */
  const refusalOf = async (
    token: string,
    request: FastifyRequest,
  ): Promise<((reply: FastifyReply) => FastifyReply) | undefined> => {
    const caller = await callers.find(`Bearer ${token}`);
    if (!isCaller(caller)) {
      return (reply) => sendOAuthProblem(reply, upstreamProblem(caller, config));
    }
    if (!isPortal(caller)) {
      return undefined;
    }
    request.log.warn({ client: nameOf(caller) }, "A portal sends Medplum's own secret.");
    return sealing.unsealed === 'refused' ? (reply) => sendOAuthRefusal(reply, notSealed) : undefined;
  };
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const tokenRequest = readTokenRequest(
      typeof request.body === 'string' ? request.body : '',
      request.headers.authorization,
    );
    if ('error' in tokenRequest) {
      return sendOAuthRefusal(reply, tokenRequest);
    }
    const form = formFor(tokenRequest, sealing);
    if (form === undefined) {
      return sendOAuthRefusal(reply, unreadable);
    }
    // Medplum limits logins by address, and would have one limit for all clients, and for the gateway itself.
    const raw = await upstream.send({
      method: 'POST',
      path: 'oauth2/token',
      headers: {
        ...only(request.headers, tracing),
        'content-type': 'application/x-www-form-urlencoded',
        'x-forwarded-for': request.ip,
        'x-request-id': request.id,
      },
      body: form,
    });
    if ('failure' in raw) {
      return sendOAuthProblem(reply, failureResponse(raw, config));
    }
    if (raw.status >= 400) {
      return sendMedplumRefusal(reply, raw);
    }
    const body = parseJson(raw.text);
    const token = tokenIn(body, now());
    if (!token) {
      return sendOAuthProblem(reply, problem('bad-gateway'));
    }
    const isSealed = tokenRequest.clientSecret !== undefined && isSealedSecret(tokenRequest.clientSecret);
    const refuse = isSealed ? undefined : await refusalOf(token.token, request);
    if (refuse) {
      return refuse(reply);
    }
    const sent: Readonly<Record<string, unknown>> = isObject(body) ? body : {};
    return reply.header('cache-control', 'no-store').send({
      token_type: 'Bearer',
      access_token: await sealing.tokens.seal(token),
      ...(sent.id_token !== undefined && { id_token: await sealing.tokens.identify(token) }),
      ...Object.fromEntries(passedOn.flatMap((name) => (sent[name] === undefined ? [] : [[name, sent[name]]]))),
    });
  };
}
