import type {
  FastifyError,
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  HTTPMethods,
} from 'fastify';
import { isId } from '../core/fhir/reference.ts';
import { isObject } from '../core/fhir/resource.ts';
import type { Admission } from './admission/admission.ts';
import { open, type RouteRule } from './admission/route-rules.ts';
import type { GatewayContext } from './context.ts';
import { fastifyHandler, representationOf, representationOrDefault } from './handler.ts';
import { addBodyParsers, type BodyKind, declaresBody, isPatchBody, isReadBody, isSupportedBody } from './http/body.ts';
import { problem, refusal } from './http/errors.ts';
import { formats, JSON_PATCH } from './http/formats.ts';
import { type FhirResponse, send } from './http/response.ts';
import { capabilityStatement } from './interactions/capability-statement.ts';
import { definitionUrlsIn } from './interactions/definitions.ts';
import { openApi } from './openapi.ts';
import { errorResponse } from './operations/error-handler.ts';
import { fhirRoutes, type Route } from './route-table.ts';

const allMethods: readonly HTTPMethods[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const known = formats.map(({ mediaTypes }) => mediaTypes.join(', ')).join(', ');

const notAcceptable = problem('not-acceptable', `Supported formats: ${known}.`);

/** The refusal of a request without an acceptable response format or with an unsupported content type. */
function headerProblem(route: Route, request: FastifyRequest): FhirResponse | undefined {
  if (!representationOf(request)) {
    return notAcceptable;
  }
  if (route.body && declaresBody(request) && !isSupportedBody(request, route.body)) {
    const allowed: Readonly<Record<BodyKind, string>> = {
      form: 'application/x-www-form-urlencoded',
      fhir: `${known}, in UTF-8, not encoded`,
      patch: `${known} (FHIRPath Patch), ${JSON_PATCH}, in UTF-8, not encoded`,
    };
    return problem('unsupported-media-type', `Supported: ${allowed[route.body]}.`);
  }
  return undefined;
}

function ruleOf({ isPublic, body }: Route, { limits }: GatewayContext): RouteRule {
  const bytes = { form: limits.formBytes, patch: limits.patchBytes, fhir: limits.bodyBytes };
  return { who: isPublic ? 'anyone' : 'client', limit: 'many', bytes: body ? bytes[body] : 0 };
}

/** The response to an error of a search by form: a form that is too large is a malformed search (400), not 413. */
function formProblem(error: { code?: string }, { limits, config }: GatewayContext): FhirResponse {
  const diagnostics = `The form of a search can have at most ${limits.formBytes} bytes.`;
  return error.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
    ? refusal([{ code: 'malformed-request', diagnostics, expression: 'http.body' }], config)
    : errorResponse(error);
}

/** Adds a route: checks headers before the body is read, then the body, then calls the handler. */
function addRoute(app: FastifyInstance, route: Route, context: GatewayContext, admission: Admission): void {
  const { addresses, config } = context;
  const refuse = (request: FastifyRequest, reply: FastifyReply, refused: FhirResponse) =>
    send(reply, refused, representationOrDefault(request), addresses);
  app.route({
    method: route.method,
    url: `${addresses.basePath}${route.path}`,
    config: { rule: ruleOf(route, context) },
    ...(route.body === 'form' && {
      errorHandler: (error: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
        refuse(request, reply.removeHeader('connection'), formProblem(error, context)),
    }),
    onRequest: async (request, reply) => {
      const refused = headerProblem(route, request);
      return refused && refuse(request, reply, refused);
    },
    preHandler: async (request, reply) => {
      const body = isReadBody(request.body) ? request.body : undefined;
      if (body && 'issues' in body) {
        return refuse(request, reply, refusal(body.issues, config));
      }
      request.body = body?.value;
      if (!representationOf(request)) {
        return refuse(request, reply, notAcceptable);
      }
      const isMissing =
        route.body === 'patch' ? !isPatchBody(request) : route.body === 'fhir' && !isObject(request.body);
      if (isMissing) {
        const diagnostics = `The body must be a ${route.body === 'patch' ? 'patch' : 'FHIR resource'}.`;
        return refuse(
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

/** Refuses methods without a route with 405, whose `Allow` lists those of the path; 404 if the id is malformed. */
function refuseOtherMethods(
  app: FastifyInstance,
  path: string,
  routes: readonly Route[],
  context: GatewayContext,
): void {
  const methods = routes.filter((route) => route.path === path).map(({ method }) => method as HTTPMethods);
  const allowed = methods.includes('GET') ? [...methods, 'HEAD' as const] : methods;
  const refused = problem('method-not-allowed', undefined, { allow: allowed.join(', ') });
  app.route({
    method: allMethods.filter((method) => !allowed.includes(method)),
    url: `${context.addresses.basePath}${path}`,
    config: { rule: open },
    onRequest: async (request, reply) => {
      const { params } = request;
      const isPath = !isObject(params) || params.id === undefined || isId(params.id);
      return send(reply, isPath ? refused : problem('not-found'), representationOrDefault(request), context.addresses);
    },
    handler: async () => undefined,
  });
}

/**
 * Adds the FHIR interface. URLs for Medplum are built from the table of types and from validated ids, never from the
 * path that a client has sent.
 *
 * @param date - date of the CapabilityStatement: the last change of the interface
 */
export async function addFhirRoutes(
  app: FastifyInstance,
  context: GatewayContext,
  admission: Admission,
  date: string,
): Promise<void> {
  const statement = capabilityStatement(context.config, date, context.corsOrigins.length > 0);
  const routes = fhirRoutes(async () => ({ status: 200, resource: statement }), definitionUrlsIn(statement));
  const description = JSON.stringify(openApi(context.config, routes));
  app.get(`${context.addresses.basePath}/openapi.json`, {
    config: { rule: { ...open, who: 'client' } },
    handler: async (_request, reply) =>
      reply.type('application/json; charset=utf-8').header('cache-control', 'no-store').send(description),
  });
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
