import type { Appointment, Resource } from '@medplum/fhirtypes';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isResource } from '../../core/fhir/resource.ts';
import type { FhirResponse } from '../http/response.ts';
import { nameOf } from '../medplum/current-profile.ts';

/** The types whose reads and changes are recorded. */
const personal: ReadonlySet<string> = new Set([
  'Appointment',
  'Encounter',
  'Patient',
  'QuestionnaireResponse',
  'RelatedPerson',
]);

/** FHIR's interactions, by method and the end of the route; the first match counts. */
const interactions: readonly (readonly [method: string, route: RegExp, interaction: string])[] = [
  ['POST', /^(?!.*\/[A-Z][a-z])/, 'batch'],
  ['POST', /\/_search$/, 'search-type'],
  ['GET', /\/(\$[a-z-]+)$/, 'operation'],
  ['POST', /\/(\$[a-z-]+)$/, 'operation'],
  ['GET', /\/_history\/:vid$/, 'vread'],
  ['GET', /\/_history$/, 'history-instance'],
  ['GET', /\/:id$/, 'read'],
  ['GET', /./, 'search-type'],
  ['POST', /./, 'create'],
  ['PUT', /./, 'update'],
  ['PATCH', /./, 'patch'],
  ['DELETE', /./, 'delete'],
];

function patientsOf({ participant = [] }: Partial<Appointment>): string[] {
  return participant.flatMap(({ actor }) => (actor?.reference?.startsWith('Patient/') ? [actor.reference] : []));
}

/** The references of the personal resources in a response, also in a Bundle, and of the patients of appointments. */
function referencesIn(resource: Resource | undefined): string[] {
  if (isResource(resource, 'Bundle')) {
    return (resource.entry ?? []).flatMap((entry) => referencesIn(entry.resource));
  }
  if (!resource?.id || !personal.has(resource.resourceType)) {
    return [];
  }
  const reference = `${resource.resourceType}/${resource.id}`;
  return [reference, ...(isResource(resource, 'Appointment') ? patientsOf(resource) : [])];
}

/** The resource that a route names by its type and id. */
function routeReference({ params, routeOptions }: FastifyRequest): string[] {
  const type = /\/([A-Z][A-Za-z]+)\/:id/.exec(routeOptions.url ?? '')?.[1];
  const id = typeof params === 'object' && params !== null && 'id' in params ? params.id : undefined;
  return type && personal.has(type) && typeof id === 'string' ? [`${type}/${id}`] : [];
}

/** A resource that an answer names only by its address (`Prefer: return=minimal`). */
function locationReference({ headers }: FhirResponse): string[] {
  const [, reference] = /\/((?:Appointment|Patient)\/[^/]+)(?:\/_history\/[^/]+)?$/.exec(headers?.location ?? '') ?? [];
  return reference ? [reference] : [];
}

const answers = new WeakMap<FastifyRequest, FhirResponse>();

/** Keeps the answer to a request until the access is recorded. */
export function noteResponse(request: FastifyRequest, response: FhirResponse): void {
  answers.set(request, response);
}

/**
 * Records who reads or changes which appointment or patient: one log line per request of a verified client, with `client`
 * (its profile), `interaction`, `resources` (references) and `status`; the log adds the time and the request's id. It
 * contains no names, no content and no search values.
 *
 * @see https://hl7.org/fhir/R4/codesystem-restful-interaction.html
 */
export function addAudit(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const { caller, method, routeOptions } = request;
    const route = routeOptions.url ?? '';
    const response = answers.get(request);
    const found = response ? [...referencesIn(response.resource), ...locationReference(response)] : [];
    const resources = [...new Set([...routeReference(request), ...found])];
    const isPersonal = [...personal].some((type) => route.includes(`/${type}`));
    if (!caller || (resources.length === 0 && !isPersonal)) {
      return;
    }
    const [, pattern, interaction] = interactions.find((row) => row[0] === method && row[1].test(route)) ?? [];
    const operation = pattern?.exec(route)?.[1];
    request.log.info(
      {
        audit: {
          client: nameOf(caller),
          interaction: interaction ?? method,
          ...(operation && { operation }),
          resources,
          status: reply.statusCode,
        },
      },
      'audit',
    );
  });
}
