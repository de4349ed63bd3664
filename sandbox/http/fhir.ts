import { allOk, badRequest, isNotFound, OperationOutcomeError } from '@medplum/core';
import { type FhirRequest, type FhirResponse, FhirRouter, type HttpMethod } from '@medplum/fhir-router';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { executeBot } from '../bots/call.ts';
import { customOperation } from '../bots/custom-operation.ts';
import { deployBot } from '../bots/deploy.ts';
import type { Session } from '../platform.ts';
import { validate } from '../repository/validation.ts';
import { repositoryOf, type Server } from '../server.ts';
import { directUnit } from '../storage/unit-of-work.ts';
import { sendOutcome, sendResource } from './answer.ts';
import type { Authenticate } from './binary.ts';
import { asMedplum51 } from './bundle.ts';

const base = '/fhir/R4';
const methods: readonly HttpMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const executePath = /^\/Bot(?:\/([^/]+))?\/(?:\$|%24)execute(?:\/|$)/;
const deployPath = /^\/Bot\/([^/]+)\/(?:\$|%24)deploy$/;
const validatePath = /^\/[A-Za-z]+\/(?:\$|%24)validate$/;
/** A transaction may be larger than a single resource. */
const bundleLimit = 50 * 1024 * 1024;

function isMethod(method: string): method is HttpMethod {
  return methods.some((candidate) => candidate === method);
}

function fhirRequest(request: FastifyRequest, session: Session, url: string): FhirRequest {
  if (!isMethod(request.method)) {
    throw new OperationOutcomeError(badRequest(`Unsupported method: ${request.method}`));
  }
  return {
    method: request.method,
    url,
    pathname: '',
    params: {},
    query: Object.create(null),
    body: asMedplum51(request.body ?? {}),
    headers: request.headers,
    config: { transactions: session.project.features?.includes('transaction-bundles') ?? false },
  };
}

/** The query of a request; a parameter that is given several times becomes a list. */
function queryOf(url: string): Record<string, string | string[]> {
  const { searchParams } = new URL(url, 'http://localhost');
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => {
      const [first = '', ...others] = searchParams.getAll(name);
      return [name, others.length > 0 ? [first, ...others] : first];
    }),
  );
}

/** The operations that Medplum adds to the plain FHIR interactions. */
async function builtIn(server: Server, session: Session, request: FhirRequest): Promise<FhirResponse | undefined> {
  const path = request.url.split('?', 1)[0] ?? '';
  const [, bot] = (request.method === 'POST' && deployPath.exec(path)) || [];
  if (bot) {
    return deployBot(server, session, bot, request.body);
  }
  if (request.method === 'POST' && validatePath.test(path)) {
    validate(directUnit(server.platform.store, server.platform.commit), request.body);
    return [allOk];
  }
  return undefined;
}

/**
 * Everything below `/fhir/R4` that needs a token: FHIR's interactions, Bots, operations.
 *
 * @see https://hl7.org/fhir/R4/http.html
 */
export function fhirRoutes(app: FastifyInstance, server: Server, authenticate: Authenticate): void {
  const router = new FhirRouter();

  async function respond(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const session = authenticate(request, reply);
    const url = request.raw.url?.slice(base.length) ?? '';
    const [, id] = executePath.exec(url.split('?', 1)[0] ?? '') ?? [];
    if (executePath.test(url.split('?', 1)[0] ?? '') && (request.method === 'GET' || request.method === 'POST')) {
      return executeBot(server, session, id, queryOf(url), request, reply);
    }
    const asked = fhirRequest(request, session, url);
    let response = await builtIn(server, session, asked);
    response ??= await router.handleRequest(asked, repositoryOf(server, session));
    if (isNotFound(response[0])) {
      response = (await customOperation(server, session, asked, request)) ?? response;
    }
    const [outcome, resource, options] = response;
    if (!resource) {
      return sendOutcome(request, reply, outcome);
    }
    return sendResource(request, reply, outcome, resource, server.platform.baseUrl(), options?.contentType);
  }

  const method = [...methods];
  for (const url of [base, `${base}/`]) {
    app.route({ method, url, bodyLimit: bundleLimit, handler: respond });
  }
  app.route({ method, url: `${base}/*`, handler: respond });
}
