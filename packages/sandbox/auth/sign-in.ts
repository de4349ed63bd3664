import { allOk, badRequest, isOperationOutcome, OperationOutcomeError, operationOutcomeToString } from '@medplum/core';
import type { ClientApplication } from '@medplum/fhirtypes';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { sendOutcome } from '../http/answer.ts';
import type { Server } from '../server.ts';
import { type Login, redirectUris } from './logins.ts';
import { signInPage, signInPolicy } from './sign-in-page.ts';

const parametersShape = z.record(z.string(), z.string());

const loginShape = z.object({
  clientId: z.string().optional(),
  email: z.string().default(''),
  password: z.string().default(''),
  scope: z.string().optional(),
  codeChallenge: z.string().optional(),
  codeChallengeMethod: z.string().optional(),
});

type Parameters = Readonly<Record<string, string>>;

function parametersIn(value: unknown): Parameters {
  const parsed = parametersShape.safeParse(value ?? {});
  return parsed.success ? parsed.data : {};
}

function clientOf({ platform }: Server, id: string | undefined): ClientApplication | undefined {
  const known = id ? platform.store.find('ClientApplication', id, Number.POSITIVE_INFINITY)?.resource : undefined;
  return known?.resourceType === 'ClientApplication' ? known : undefined;
}

/** What keeps people from being sent back to the client; it is shown on a page, never sent by a redirect. */
function clientProblem(server: Server, { client_id, redirect_uri }: Parameters): string | undefined {
  const client = clientOf(server, client_id);
  if (!client) {
    return 'Client not found';
  }
  if (!redirect_uri) {
    return 'Missing redirect URI';
  }
  return redirectUris(client).includes(redirect_uri) ? undefined : 'Invalid redirect URI';
}

/** What else is wrong with the request: error and description for the client. */
function requestProblem(parameters: Parameters): readonly [string, string] | undefined {
  if (!parameters.scope) {
    return ['invalid_request', 'Missing scope'];
  }
  if (parameters.response_type !== 'code') {
    return ['unsupported_response_type', 'Invalid response type'];
  }
  return parameters.code_challenge && !parameters.code_challenge_method
    ? ['invalid_request', 'Missing code challenge method']
    : undefined;
}

/** The client's address with the answer to the client and its `state`. */
function backTo({ redirect_uri = '', state = '' }: Parameters, said: Parameters): string {
  const url = new URL(redirect_uri);
  for (const [name, value] of Object.entries({ ...said, state })) {
    url.searchParams.append(name, value);
  }
  return url.href;
}

function sendPage(reply: FastifyReply, parameters: Parameters, problem?: string): FastifyReply {
  return reply
    .code(problem ? 400 : 200)
    .header('content-security-policy', signInPolicy(parameters.redirect_uri ?? ''))
    .type('text/html; charset=utf-8')
    .send(signInPage(parameters, problem));
}

function signIn({ logins }: Server, parameters: Parameters): Login | string {
  try {
    return logins.start({
      clientId: parameters.client_id,
      email: parameters.email ?? '',
      password: parameters.password ?? '',
      scope: parameters.scope,
      codeChallenge: parameters.code_challenge,
      codeChallengeMethod: parameters.code_challenge_method,
    });
  } catch (error) {
    if (error instanceof OperationOutcomeError && isOperationOutcome(error.outcome)) {
      return operationOutcomeToString(error.outcome);
    }
    throw error;
  }
}

/**
 * How people sign in: `GET /oauth2/authorize`, the page that it leads to, `POST /auth/login` behind such a page, and
 * `POST /oauth2/logout`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1
 */
export function signInRoutes(app: FastifyInstance, server: Server): void {
  app.get('/oauth2/authorize', async (request, reply) => {
    const parameters = parametersIn(request.query);
    const problem = clientProblem(server, parameters);
    if (problem) {
      return reply.code(400).type('text/html; charset=utf-8').send(problem);
    }
    const wrong = requestProblem(parameters);
    return reply.redirect(
      wrong
        ? backTo(parameters, { error: wrong[0], error_description: wrong[1] })
        : `/oauth?${new URLSearchParams(parameters)}`,
    );
  });
  app.get('/oauth', async (request, reply) => {
    const parameters = parametersIn(request.query);
    const problem = clientProblem(server, parameters);
    return problem ? reply.code(400).send(problem) : sendPage(reply, parameters);
  });
  app.post('/oauth', async (request, reply) => {
    const parameters = parametersIn(request.body);
    const problem = clientProblem(server, parameters);
    if (problem) {
      return reply.code(400).send(problem);
    }
    const login = signIn(server, parameters);
    return typeof login === 'string'
      ? sendPage(reply, parameters, login)
      : reply.redirect(backTo(parameters, { code: login.code }), 303);
  });
  app.post('/auth/login', async (request) => {
    const parsed = loginShape.safeParse(request.body ?? {});
    if (!parsed.success) {
      throw new OperationOutcomeError(badRequest('Invalid login request'));
    }
    const { id, code } = server.logins.start(parsed.data);
    return { login: id, code };
  });
  app.post('/oauth2/logout', async (request, reply) => {
    const [, token = ''] = request.headers.authorization?.split(' ') ?? [];
    const login = server.logins.byId(server.tokens.verify(token)?.session_id ?? '');
    if (login) {
      login.isRevoked = true;
    }
    return sendOutcome(request, reply, allOk);
  });
}
