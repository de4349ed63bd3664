import type {
  FastifyError,
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
} from 'fastify';
import { isId } from '../core/fhir/reference/reference.ts';
import { isObject } from '../core/fhir/resource.ts';
import type { Admission } from './admission/admission.ts';
import type { GatewayContext } from './context.ts';
import { fastifyHandler, type Handler, representationOf, representationOrDefault } from './handler.ts';
import { addBodyParsers, announcesBody, type BodyKind, isPatchBody, isReadBody, isSupportedBody } from './http/body.ts';
import { problem, refusal } from './http/errors.ts';
import { formats, JSON_PATCH } from './http/formats.ts';
import { type FhirResponse, send } from './http/response.ts';
import { cancelBookingJob, readBookingJob } from './interactions/async-book.ts';
import { batch } from './interactions/batch.ts';
import { book } from './interactions/book.ts';
import { capabilityStatement } from './interactions/capability-statement.ts';
import { history, vread } from './interactions/history.ts';
import { hold } from './interactions/hold.ts';
import { patchAppointment } from './interactions/patch.ts';
import { createPatient, updatePatient } from './interactions/patient.ts';
import { read } from './interactions/read.ts';
import { createSubscription, deleteSubscription, updateSubscription } from './interactions/subscription.ts';
import { subscriptionEvents, subscriptionStatus, websocketToken } from './interactions/subscription-operations.ts';
import { errorResponse } from './operations/error-handler.ts';
import { searchByGet, searchByPost } from './search/search.ts';
import {
  type Interaction,
  type OperationName,
  type ServedOperation,
  type ServedType,
  type ServedTypeName,
  servedOperations,
  servedTypeNames,
  servedTypes,
} from './served-types.ts';

/** One route below the FHIR base address. */
interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly handler: Handler;
  readonly body?: BodyKind;
  readonly isPublic?: boolean;
}

/** The handlers of writes, by resource type. */
const writes: Readonly<
  Partial<Record<ServedTypeName, Partial<Record<'create' | 'update' | 'patch' | 'delete', Handler>>>>
> = {
  Appointment: { patch: patchAppointment },
  Patient: { create: createPatient, update: updatePatient },
  Subscription: { create: createSubscription, update: updateSubscription, delete: deleteSubscription },
};

const operations: Readonly<Record<OperationName, Handler>> = {
  book,
  hold,
  status: subscriptionStatus,
  events: subscriptionEvents,
  'get-ws-binding-token': websocketToken,
};

function refuseAll(): Promise<FhirResponse> {
  return Promise.resolve(problem('method-not-allowed'));
}

/** The routes that carry out an interaction. */
const routesOf: Readonly<Record<Interaction, (type: ServedTypeName) => readonly Route[]>> = {
  read: (type) => [{ method: 'GET', path: `/${type}/:id`, handler: read(type) }],
  vread: (type) => [{ method: 'GET', path: `/${type}/:id/_history/:vid`, handler: vread(type) }],
  'history-instance': (type) => [{ method: 'GET', path: `/${type}/:id/_history`, handler: history(type) }],
  'search-type': (type) => [
    { method: 'GET', path: `/${type}`, handler: searchByGet(type) },
    { method: 'POST', path: `/${type}/_search`, handler: searchByPost(type), body: 'form' },
  ],
  create: (type) => [{ method: 'POST', path: `/${type}`, handler: writes[type]?.create ?? refuseAll, body: 'fhir' }],
  update: (type) => [{ method: 'PUT', path: `/${type}/:id`, handler: writes[type]?.update ?? refuseAll, body: 'fhir' }],
  patch: (type) => [
    { method: 'PATCH', path: `/${type}/:id`, handler: writes[type]?.patch ?? refuseAll, body: 'patch' },
  ],
  delete: (type) => [{ method: 'DELETE', path: `/${type}/:id`, handler: writes[type]?.delete ?? refuseAll }],
};

/** The operations that must have a body. */
const withBody: readonly OperationName[] = ['book', 'hold'];

/** The routes of an operation. */
function routesOfOperation(type: ServedTypeName, name: OperationName): Route[] {
  const { levels, methods }: ServedOperation = servedOperations[name];
  const paths = levels.map((level) => (level === 'type' ? `/${type}/$${name}` : `/${type}/:id/$${name}`));
  return paths.flatMap((path) =>
    methods.map((method) => ({
      method,
      path,
      handler: operations[name],
      ...(withBody.includes(name) && { body: 'fhir' as const }),
    })),
  );
}

/** All routes of the FHIR interface, made from the allow-list. */
function fhirRoutes(metadata: Handler): readonly Route[] {
  const typed = servedTypeNames.flatMap((type) => {
    const served: ServedType = servedTypes[type];
    const called = (served.operations ?? []).flatMap((name) => routesOfOperation(type, name));
    return [...served.interactions.flatMap((interaction) => routesOf[interaction](type)), ...called];
  });
  const routes: readonly Route[] = [
    { method: 'GET', path: '/metadata', handler: metadata, isPublic: true },
    { method: 'GET', path: '/async/:id', handler: readBookingJob },
    { method: 'DELETE', path: '/async/:id', handler: cancelBookingJob },
    ...typed,
  ];
  const readables = routes.filter(({ method }) => method === 'GET');
  return [{ method: 'POST', path: '', handler: batch(readables), body: 'fhir' }, ...routes];
}

const allMethods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const known = formats.map(({ mediaTypes }) => mediaTypes.join(', ')).join(', ');

const notAcceptable = problem('not-acceptable', `Supported formats: ${known}.`);

/** What the headers of a request must say: an acceptable format, a readable kind of body. */
function headerProblem(route: Route, request: FastifyRequest): FhirResponse | undefined {
  if (!representationOf(request)) {
    return notAcceptable;
  }
  if (route.body && announcesBody(request) && !isSupportedBody(request, route.body)) {
    const allowed: Readonly<Record<BodyKind, string>> = {
      form: 'application/x-www-form-urlencoded',
      fhir: `${known}, in UTF-8, not encoded`,
      patch: `${known} (FHIRPath Patch), ${JSON_PATCH}, in UTF-8, not encoded`,
    };
    return problem('unsupported-media-type', `Supported: ${allowed[route.body]}.`);
  }
  return undefined;
}

/** The largest body of a kind, in bytes. */
function bodyLimits({ limits }: GatewayContext): Readonly<Record<BodyKind, number>> {
  return { form: limits.formBytes, patch: limits.patchBytes, fhir: limits.bodyBytes };
}

/** A form that is too large is a search of the wrong form; every other body that is too large is refused as such. */
function formProblem(error: { code?: string }, { limits, config }: GatewayContext): FhirResponse {
  const diagnostics = `The form of a search can have at most ${limits.formBytes} bytes.`;
  return error.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
    ? refusal([{ code: 'malformed-request', diagnostics, expression: 'http.body' }], config)
    : errorResponse(error);
}

function addRoute(app: FastifyInstance, route: Route, context: GatewayContext, admission: Admission): void {
  const { addresses, config } = context;
  const answer = (request: FastifyRequest, reply: FastifyReply, what: FhirResponse) =>
    send(reply, what, representationOrDefault(request), addresses);
  app.route({
    method: route.method,
    url: `${addresses.basePath}${route.path}`,
    ...(route.body && { bodyLimit: bodyLimits(context)[route.body] }),
    ...(route.body === 'form' && {
      errorHandler: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
        answer(request, reply.removeHeader('connection'), formProblem(error, context)),
    }),
    onRequest: async (request, reply) => {
      const refused =
        (route.isPublic ? undefined : await admission.admit(request, reply)) ?? headerProblem(route, request);
      return refused && answer(request, reply, refused);
    },
    preHandler: async (request, reply) => {
      const body = isReadBody(request.body) ? request.body : undefined;
      if (body && 'issues' in body) {
        return answer(request, reply, refusal(body.issues, config));
      }
      request.body = body?.value;
      if (!representationOf(request)) {
        return answer(request, reply, notAcceptable);
      }
      const isMissing =
        route.body === 'patch' ? !isPatchBody(request) : route.body === 'fhir' && !isObject(request.body);
      if (isMissing) {
        const diagnostics = `The body must be a ${route.body === 'patch' ? 'patch' : 'FHIR resource'}.`;
        return answer(
          request,
          reply,
          refusal([{ code: 'malformed-request', diagnostics, expression: 'http.body' }], config),
        );
      }
      return undefined;
    },
    handler: fastifyHandler(route.handler, context, admission),
  });
}

/** Refuses methods without a route with 405; `Allow` lists those of the path. */
function refuseOtherMethods(
  app: FastifyInstance,
  path: string,
  routes: readonly Route[],
  context: GatewayContext,
): void {
  const own = routes.filter((route) => route.path === path).map(({ method }) => method as HTTPMethods);
  const allowed = own.includes('GET') ? [...own, 'HEAD' as const] : own;
  const refused = problem('method-not-allowed', undefined, { allow: allowed.join(', ') });
  app.route({
    method: allMethods.filter((method) => !allowed.includes(method)),
    url: `${context.addresses.basePath}${path}`,
    onRequest: async (request, reply) => {
      const { params } = request;
      const isPath = !isObject(params) || params.id === undefined || isId(params.id);
      const what = isPath ? refused : problem('not-found');
      return send(reply, what, representationOrDefault(request), context.addresses);
    },
    handler: async () => undefined,
  });
}

/**
 * Adds the FHIR interface. What reaches Medplum is put together from the table of types and from checked ids, never from
 * the path a client has sent.
 *
 * @param date - since when the interface is as it is, for the CapabilityStatement
 */
export async function addFhirRoutes(
  app: FastifyInstance,
  context: GatewayContext,
  admission: Admission,
  date: string,
): Promise<void> {
  const statement = capabilityStatement(context.config, date, context.corsOrigins.length > 0);
  const routes = fhirRoutes(async () => ({ status: 200, resource: statement }));
  const fhir: FastifyPluginAsync = async (scope) => {
    addBodyParsers(scope, context.limits.depth);
    for (const route of routes) {
      addRoute(scope, route, context, admission);
    }
    for (const path of new Set(routes.map((route) => route.path))) {
      refuseOtherMethods(scope, path, routes, context);
    }
  };
  await app.register(fhir);
}
