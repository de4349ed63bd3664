import { allOk, badRequest, forbidden, isResource, isResourceType, OperationOutcomeError } from '@medplum/core';
import { type FhirRequest, type FhirResponse, FhirRouter, type HttpMethod } from '@medplum/fhir-router';
import type { Bundle, BundleEntry, ParametersParameter, Resource } from '@medplum/fhirtypes';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { executeBot } from '../bots/call.ts';
import { deployBot } from '../bots/deploy.ts';
import type { Session } from '../platform.ts';
import { validate } from '../repository/validation.ts';
import { bookProposed } from '../scheduling/book.ts';
import { cancelAppointment, confirmAppointment } from '../scheduling/end.ts';
import { findAppointments } from '../scheduling/find.ts';
import { rescheduleAppointment } from '../scheduling/reschedule.ts';
import { repositoryOf, type Services } from '../services.ts';
import { websocketBindingToken } from '../websockets/binding-token.ts';
import { sendOutcome, sendResource } from './answer.ts';
import type { Authenticate } from './binary.ts';

function hidden(parameter: ParametersParameter): ParametersParameter {
  return { ...parameter, part: parameter.part?.filter(({ name }) => name !== 'type') };
}

function withoutFhirPathPatch(entry: BundleEntry): BundleEntry {
  const { request, resource } = entry;
  const isPatch = request?.method === 'PATCH' && resource?.resourceType === 'Parameters';
  return isPatch ? { ...entry, resource: { ...resource, parameter: resource.parameter?.map(hidden) } } : entry;
}

/**
 * Medplum 5.1 supports FHIRPath Patch only in a request of its own. Inside a Bundle it expects the `op` of JSON Patch
 * and answers 400. The newer router would accept such a patch, so this removes the part by which it recognizes one.
 */
export function asMedplum51(body: unknown): unknown {
  if (!isResource<Bundle>(body, 'Bundle') || !Array.isArray(body.entry)) {
    return body;
  }
  return { ...body, entry: body.entry.map((entry) => (entry ? withoutFhirPathPatch(entry) : entry)) };
}

const base = '/fhir/R4';
const methods: readonly HttpMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
const executePath = /^\/Bot(?:\/([^/]+))?\/\$execute(?:\/|$)/;
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

/** The query of a request. A repeated parameter becomes a list. */
function queryOf(url: string): Record<string, string | string[]> {
  const { searchParams } = new URL(url, 'http://localhost');
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => {
      const [first = '', ...others] = searchParams.getAll(name);
      return [name, others.length > 0 ? [first, ...others] : first];
    }),
  );
}

async function validateBody({ platform }: Services, body: Resource): Promise<FhirResponse> {
  validate(platform.unit, body);
  return [allOk];
}

/** As in Medplum, a missing resource is a success, too. */
async function expunge({ platform }: Services, session: Session, reference: string): Promise<FhirResponse> {
  const [type = '', id = ''] = reference.split('/');
  if (!session.membership.admin) {
    return [forbidden];
  }
  if (isResourceType(type)) {
    await platform.expunge(type, id);
  }
  return [allOk];
}

/** Executes an operation; `id` is the first group of its path. */
type Operation = (server: Services, session: Session, id: string, request: FhirRequest) => Promise<FhirResponse>;

/** Medplum's operations besides the plain FHIR interactions, by method and path. */
const operations: readonly (readonly [HttpMethod, RegExp, Operation])[] = [
  ['POST', /^\/Bot\/([^/]+)\/\$deploy$/, (server, session, id, { body }) => deployBot(server, session, id, body)],
  ['GET', /^\/Subscription\/([^/]+)\/\$get-ws-binding-token$/, websocketBindingToken],
  ['POST', /^\/([A-Za-z]+\/[^/]+)\/\$expunge$/, expunge],
  ['POST', /^\/[A-Za-z]+\/\$validate$/, (server, _session, _id, { body }) => validateBody(server, body)],
  [
    'GET',
    /^\/Appointment\/\$find$/,
    (server, session, _id, { url }) =>
      findAppointments(repositoryOf(server, session), new URL(url, 'http://localhost').searchParams),
  ],
  [
    'POST',
    /^\/Appointment\/\$(book|hold)$/,
    (server, session, kind, { body }) =>
      bookProposed(repositoryOf(server, session), kind === 'hold' ? 'hold' : 'book', body),
  ],
  [
    'POST',
    /^\/Appointment\/([^/]+)\/\$cancel$/,
    (server, session, id) => cancelAppointment(repositoryOf(server, session), id),
  ],
  [
    'POST',
    /^\/Appointment\/([^/]+)\/\$reschedule$/,
    (server, session, id, { body }) => rescheduleAppointment(repositoryOf(server, session), id, body),
  ],
  [
    'POST',
    /^\/Appointment\/([^/]+)\/\$confirm$/,
    (server, session, id) => confirmAppointment(repositoryOf(server, session), id),
  ],
];

/** The path of a request below the base address; some clients encode the dollar of an operation. */
const pathOf = (url: string): string => (url.split('?', 1)[0] ?? '').replaceAll('%24', '$');

async function builtIn(server: Services, session: Session, request: FhirRequest): Promise<FhirResponse | undefined> {
  for (const [method, pattern, run] of operations) {
    const match = method === request.method ? pattern.exec(pathOf(request.url)) : null;
    if (match) {
      return run(server, session, match[1] ?? '', request);
    }
  }
  return undefined;
}

/**
 * The routes below `/fhir/R4` that need a token: FHIR's interactions, Bots, operations.
 *
 * @see https://hl7.org/fhir/R4/http.html
 */
export function fhirRoutes(app: FastifyInstance, server: Services, authenticate: Authenticate): void {
  const router = new FhirRouter();

  async function respond(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const session = authenticate(request, reply);
    const url = request.raw.url?.slice(base.length) ?? '';
    const execute = executePath.exec(pathOf(url));
    if (execute && (request.method === 'GET' || request.method === 'POST')) {
      return executeBot(server, session, execute[1], queryOf(url), request, reply);
    }
    const asked = fhirRequest(request, session, url);
    const [outcome, resource, options] =
      (await builtIn(server, session, asked)) ?? (await router.handleRequest(asked, repositoryOf(server, session)));
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
