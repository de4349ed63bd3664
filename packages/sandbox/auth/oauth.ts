import { createReference, type WithId } from '@medplum/core';
import type { ClientApplication, ProjectMembership } from '@medplum/fhirtypes';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { findMembership } from '../access/membership.ts';
import { isForm } from '../http/body.ts';
import type { Services } from '../services.ts';
import { resourceOf } from '../storage/unit-of-work.ts';
import { isVerified, type Login, newSecret } from './logins.ts';
import { isSame } from './tokens.ts';

/** Error code and description of a refused token request, in Medplum's words (RFC 6749, section 5.2). */
interface Refusal {
  readonly error: string;
  readonly error_description: string;
}

const formShape = z.record(z.string(), z.string());
const defaultLifetime = 3600;
const REFRESH_LIFETIME = 14 * 86_400;
const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

function refusal(error_description: string): Refusal {
  return { error: 'invalid_request', error_description };
}

function lifetimeOf({ accessTokenLifetime }: ClientApplication): number {
  const [, amount, unit = ''] = accessTokenLifetime?.match(/^(\d+)([smhd])$/) ?? [];
  return amount ? Number(amount) * (secondsOf[unit] ?? 1) : defaultLifetime;
}

/** Id and secret come in the header or in the body. */
function credentials(
  authorization: string | undefined,
  form: Readonly<Record<string, string>>,
): { id?: string | undefined; secret?: string | undefined } | Refusal {
  if (!authorization) {
    return { id: form.client_id, secret: form.client_secret };
  }
  if (!authorization.startsWith('Basic ')) {
    return refusal('Invalid authorization header');
  }
  const [id, secret] = Buffer.from(authorization.slice(6), 'base64').toString('ascii').split(':');
  return { id, secret };
}

function clientOf(
  { sessions, platform }: Services,
  authorization: string | undefined,
  form: Readonly<Record<string, string>>,
): WithId<ClientApplication> | Refusal {
  const given = credentials(authorization, form);
  if ('error' in given) {
    return given;
  }
  if (!given.id) {
    return refusal('Missing client_id');
  }
  if (!given.secret) {
    return refusal('Missing client_secret');
  }
  const known = resourceOf(platform.unit, 'ClientApplication', given.id);
  const isUsable = known && (!known.status || known.status === 'active');
  return isUsable ? (sessions.client(given.id, given.secret) ?? refusal('Invalid secret')) : refusal('Invalid client');
}

function tokenResponse({ platform }: Services, { project, profile }: ProjectMembership) {
  return {
    project,
    profile,
    smart_style_url: `${platform.baseUrl()}fhir/R4/.well-known/smart-styles.json`,
    need_patient_banner: false,
  };
}

function grantToClient(server: Services, client: WithId<ClientApplication>, scope: string): object | Refusal {
  const { platform, sessions, tokens } = server;
  const membership = findMembership(platform.unit, createReference(client));
  const session = membership && sessions.of(membership, false);
  if (!membership || !session) {
    return refusal('Invalid client');
  }
  const profile = membership.profile.reference ?? '';
  const lifetime = lifetimeOf(client);
  const claims = { client_id: client.id, login_id: membership.id, sub: client.id, profile, scope };
  return {
    token_type: 'Bearer',
    expires_in: lifetime,
    scope,
    id_token: tokens.issue(claims, lifetime),
    access_token: tokens.issue(claims, lifetime),
    ...tokenResponse(server, membership),
  };
}

/** Issues tokens to a person who has signed in. Each login has its own tokens. */
function grantToPerson(server: Services, login: Login): object {
  const { user, membership, scope, clientId, refreshSecret } = login;
  const client = resourceOf(server.platform.unit, 'ClientApplication', clientId);
  const lifetime = client ? lifetimeOf(client) : defaultLifetime;
  const profile = membership.profile.reference ?? '';
  const claims = { client_id: clientId, login_id: membership.id, sub: user.id, profile, scope, session_id: login.id };
  const { tokens } = server;
  return {
    token_type: 'Bearer',
    expires_in: lifetime,
    scope,
    id_token: tokens.issue(claims, lifetime),
    access_token: tokens.issue(claims, lifetime),
    ...(refreshSecret && {
      refresh_token: tokens.issue({ ...claims, refresh_secret: refreshSecret }, REFRESH_LIFETIME),
    }),
    ...tokenResponse(server, membership),
  };
}

/** The grant `authorization_code` with PKCE (RFC 7636, section 4.5). */
function exchangeCode(server: Services, form: Form): object | Refusal {
  if (!form.code) {
    return refusal('Missing code');
  }
  const login = server.logins.byCode(form.code);
  if (!login) {
    return refusal('Invalid code');
  }
  if (form.client_id && form.client_id !== login.clientId) {
    return refusal('Invalid client');
  }
  if (login.isGranted) {
    login.isRevoked = true;
    return { error: 'invalid_grant', error_description: 'Token already granted' };
  }
  if (!login.codeChallenge) {
    return refusal('Missing verification context');
  }
  if (!form.code_verifier) {
    return refusal('Missing code verifier');
  }
  if (!isVerified(login, form.code_verifier)) {
    return refusal('Invalid code verifier');
  }
  login.isGranted = true;
  return grantToPerson(server, login);
}

/** The grant `refresh_token`. Each use replaces the refresh token. */
function refresh(server: Services, form: Form): object | Refusal {
  const claims = server.tokens.verify(form.refresh_token ?? '');
  const login = server.logins.byId(claims?.session_id ?? '');
  if (!claims?.refresh_secret || !login?.refreshSecret) {
    return refusal('Invalid refresh token');
  }
  if (login.isRevoked) {
    return { error: 'invalid_grant', error_description: 'Token revoked' };
  }
  if (!isSame(login.refreshSecret, claims.refresh_secret)) {
    return refusal('Invalid token');
  }
  login.refreshSecret = newSecret();
  return grantToPerson(server, login);
}

type Form = Readonly<Record<string, string>>;

const grants: Readonly<
  Record<string, (server: Services, authorization: string | undefined, form: Form) => object | Refusal>
> = {
  client_credentials: (server, authorization, form) => {
    const client = clientOf(server, authorization, form);
    return 'error' in client ? client : grantToClient(server, client, form.scope || 'openid');
  },
  authorization_code: (server, _authorization, form) => exchangeCode(server, form),
  refresh_token: (server, _authorization, form) => refresh(server, form),
};

function answer(server: Services, authorization: string | undefined, form: Form): object {
  if (!form.grant_type) {
    return refusal('Missing grant_type');
  }
  const grant = Object.hasOwn(grants, form.grant_type) ? grants[form.grant_type] : undefined;
  return grant ? grant(server, authorization, form) : refusal('Unsupported grant_type');
}

function send(reply: FastifyReply, result: object): FastifyReply {
  return reply.code('error' in result ? 400 : 200).send(result);
}

/** The response of `/oauth2/introspect` (RFC 7662). */
function introspection({ platform, tokens }: Services, token: string): object {
  const claims = tokens.verify(token);
  if (!claims || !resourceOf(platform.unit, 'ProjectMembership', claims.login_id)) {
    return { active: false };
  }
  const { iat, exp, iss, sub, client_id, scope } = claims;
  return { active: true, iat, exp, iss, sub, client_id, scope };
}

/**
 * `POST /oauth2/token` with the grants `client_credentials`, `authorization_code` and `refresh_token`, and
 * `POST /oauth2/introspect`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4 and https://www.rfc-editor.org/rfc/rfc7662
 */
export function oauthRoutes(app: FastifyInstance, server: Services): void {
  app.post('/oauth2/token', async (request, reply) => {
    if (!isForm(request.headers['content-type'])) {
      return reply.code(400).type('text/html; charset=utf-8').send('Unsupported content type');
    }
    const form = formShape.safeParse(request.body);
    return send(reply, answer(server, request.headers.authorization, form.success ? form.data : {}));
  });
  app.post('/oauth2/introspect', async (request, reply) => {
    const form = formShape.safeParse(request.body);
    const token = form.success ? form.data.token : undefined;
    return token
      ? reply.send(introspection(server, token))
      : reply.code(400).send('Token to introspect must be provided');
  });
}
