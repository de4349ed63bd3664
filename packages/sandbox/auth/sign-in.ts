import { createHash } from 'node:crypto';
import { allOk, badRequest, isOperationOutcome, OperationOutcomeError, operationOutcomeToString } from '@medplum/core';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { sendOutcome } from '../http/answer.ts';
import type { Services } from '../services.ts';
import { resourceOf } from '../storage/unit-of-work.ts';
import { type Login, redirectUris } from './logins.ts';

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => entities[character] ?? '');

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:22rem;margin:4rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
label{display:block;margin:1rem 0 .25rem}input{font:inherit;width:100%;padding:.5rem;box-sizing:border-box;border:1px solid #595959}
button{font:inherit;margin-top:1.5rem;padding:.5rem 1.5rem;background:#1a4f8b;color:#fff;border:0;cursor:pointer}
[role=alert]{border-left:4px solid #b3261e;padding-left:.75rem}`;

/** Content-Security-Policy: the page may load nothing. Its form goes to this server and is redirected to the client. */
function signInPolicy(redirectUri: string): string {
  const digest = createHash('sha256').update(style).digest('base64');
  const { origin } = new URL(redirectUri);
  return `default-src 'none'; style-src 'sha256-${digest}'; form-action 'self' ${origin}; frame-ancestors 'none'; base-uri 'none'`;
}

/**
 * The sign-in page that `GET /oauth2/authorize` leads to, in place of the page of Medplum's app.
 *
 * @param parameters - of the authorization request, sent along with the form
 */
function signInPage(parameters: Readonly<Record<string, string>>, problem?: string): string {
  const hidden = Object.entries(parameters)
    .filter(([name]) => name !== 'email' && name !== 'password')
    .map(([name, value]) => `<input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in to the embedded Medplum</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Sign in</h1>
<p>This is the embedded Medplum. On a real server its own page is here.</p>
${problem ? `<p role="alert">${escaped(problem)}</p>` : ''}
<form method="post" action="/oauth">
${hidden.join('\n')}
<label for="email">E-mail</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${escaped(parameters.email ?? '')}">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required>
<button>Sign in</button>
</form>
</main>
</body>
</html>`;
}

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

/** Error that forbids a redirect to the client. It is shown on a page instead. */
function clientProblem({ platform }: Services, { client_id, redirect_uri }: Parameters): string | undefined {
  const client = resourceOf(platform.unit, 'ClientApplication', client_id);
  if (!client) {
    return 'Client not found';
  }
  if (!redirect_uri) {
    return 'Missing redirect URI';
  }
  return redirectUris(client).includes(redirect_uri) ? undefined : 'Invalid redirect URI';
}

/** Any other error of the request: error code and description, sent to the client by a redirect. */
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

/** The client's redirect URI with the response parameters and `state`. */
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

function signIn({ logins }: Services, parameters: Parameters): Login | string {
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
 * Routes of the sign-in: `GET /oauth2/authorize`, its page, `POST /auth/login` and `POST /oauth2/logout`.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-4.1
 */
export function signInRoutes(app: FastifyInstance, server: Services): void {
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
