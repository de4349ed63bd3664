import type { BookingConfig } from '../core/config/config.ts';
import type { BodyKind } from './http/body.ts';
import { formats, JSON_PATCH } from './http/formats.ts';
import { serviceVersion } from './interactions/capability-statement.ts';
import { oauthEndpoints } from './oauth/discovery.ts';
import type { RouteDescription } from './route-table.ts';
import { commonSearchParameters, searchParameters } from './search/parameters/parameters.ts';
import { searchControls } from './search/result/result-parameters.ts';
import { definitionTypes, isServedType, type ServedTypeName, servedTypeNames } from './served-types.ts';

/** A part of an OpenAPI description; its content is JSON. */
type Json = Readonly<Record<string, unknown>>;

/** The headers that change what a request does. */
const headers = {
  Prefer: 'return=minimal, representation or OperationOutcome; handling=strict or lenient; respond-async',
  'If-Match': 'The version that is changed, as its ETag',
  'If-None-Exist': 'A search: what it finds is answered, and nothing created',
} as const;

/** The description of an interaction, and its successful responses. */
interface InteractionText {
  readonly heeds?: readonly (keyof typeof headers)[];
  readonly summary: string;
  readonly answers: Readonly<Record<string, string>>;
  /** The types of the answer's resource, if it is not the type of the route. */
  readonly gives?: string | readonly string[];
}

const found = { '200': 'Found' };
const done = { '200': 'Done' };

/** One appointment, or a Bundle of those that were sent together. */
const booked = ['Appointment', 'Bundle'];

/** The interactions of FHIR and the operations of the service, as `RouteDescription.interaction` names them. */
const interactions: Readonly<Record<string, InteractionText>> = {
  capabilities: { summary: 'What the service can do', answers: found, gives: 'CapabilityStatement' },
  batch: { summary: 'Several reads in one request', answers: { '200': 'Answered entry by entry' }, gives: 'Bundle' },
  read: { summary: 'Read', answers: { ...found, '304': 'The client has the current version' } },
  vread: { summary: 'Read a version', answers: found },
  'history-instance': { summary: 'The versions, the newest first', answers: found, gives: 'Bundle' },
  'search-type': { summary: 'Search', answers: found, gives: 'Bundle', heeds: ['Prefer'] },
  create: { summary: 'Create', answers: { '201': 'Created' }, heeds: ['Prefer'] },
  'create Patient': {
    summary: 'Create',
    answers: { '200': 'It existed already', '201': 'Created' },
    heeds: ['Prefer', 'If-None-Exist'],
  },
  update: { summary: 'Replace', answers: { '200': 'Replaced' }, heeds: ['Prefer', 'If-Match'] },
  patch: { summary: 'Change parts, or cancel', answers: { '200': 'Changed' }, heeds: ['Prefer', 'If-Match'] },
  delete: { summary: 'Delete', answers: { '204': 'Deleted' } },
  $book: {
    summary: 'Book, move or replace an appointment, or several together',
    gives: booked,
    answers: { '200': 'Booked before, or a dry run', '201': 'Confirmed', '202': 'Waiting for the clinic, or accepted' },
    heeds: ['Prefer', 'If-Match'],
  },
  $hold: {
    summary: 'Hold a time, or several together, for some minutes',
    gives: booked,
    answers: { '200': 'Held before, or a dry run', '201': 'Held' },
    heeds: ['Prefer'],
  },
  $find: {
    summary: 'Visits that can be booked now, each with all of its appointments',
    answers: found,
    gives: 'Bundle',
  },
  $waitlist: {
    summary: 'Wait for a time, or learn at which place somebody waits',
    answers: { '200': 'Waiting before', '201': 'Waiting' },
    heeds: ['Prefer'],
  },
  $absence: { summary: 'Say that somebody is absent, for staff', answers: done, gives: 'Parameters' },
  $answer: { summary: 'What a person answers to a message', answers: done, gives: 'Parameters' },
  $feed: { summary: 'The calendar of a secret link; for staff, the link', answers: done, gives: 'Parameters' },
  $status: { summary: 'The state of Subscriptions', answers: done, gives: 'Bundle' },
  $events: { summary: 'The events of a Subscription', answers: done, gives: 'Bundle' },
  '$get-ws-binding-token': { summary: 'A token that binds a websocket', answers: done, gives: 'Parameters' },
  $deliver: { summary: 'Deliver waiting notifications now, for staff', answers: done, gives: 'Bundle' },
  'async-read': {
    summary: 'The result of an asynchronous booking',
    answers: { '200': 'Booked', '202': 'Not finished yet' },
    gives: booked,
  },
  'async-delete': {
    summary: 'Cancel an asynchronous booking',
    answers: { '202': 'Cancelled, unless it has finished' },
    gives: 'OperationOutcome',
  },
};

/** FHIR's own media types; listing the general ones, which are served too, would say everything twice. */
const fhirTypes = formats.map(({ mediaTypes }) => mediaTypes[0]);

const ref = (type: string): Json => ({ $ref: `#/components/schemas/${type}` });

const contentOf = (types: readonly string[], schema: Json): Json =>
  Object.fromEntries(types.map((type) => [type, { schema }]));

const query = (name: string, description: string): Json => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string' },
});

/** The parameters that shape the result of a search, except `_fields` and those that paging links use. */
const controls = Object.keys(searchControls).filter((name) => !['_offset', '_cursor', '_fields'].includes(name));

/** The name of a component, which cannot contain a colon. */
const nameOf = (parameter: string): string => parameter.replace(':', '-');

/** The parameters of a search, from the tables against which searches are checked. */
function searchQuery(type: ServedTypeName): readonly Json[] {
  const filters = Object.entries({ ...commonSearchParameters, ...searchParameters[type] });
  return [
    ...filters.map(([name, { type: kind }]) => query(name, `Search parameter of type ${kind}`)),
    ...controls.map((name) => ({ $ref: `#/components/parameters/${nameOf(name)}` })),
  ];
}

const textOf = ({ interaction, type }: RouteDescription): InteractionText =>
  interactions[`${interaction} ${type}`] ?? interactions[interaction] ?? { summary: interaction, answers: done };

/** The parameters of an address, besides those of searches. */
const furtherQueries: Readonly<Record<string, readonly string[]>> = {
  'history-instance': ['_count', '_offset'],
  $events: ['eventsSinceNumber', 'eventsUntilNumber', 'content'],
};

/** The parameters of a route: in its path, its query and its headers. */
function parametersOf(route: RouteDescription): readonly Json[] {
  const { path, interaction, type, method } = route;
  const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
  const inPath = names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string', maxLength: 64 } }));
  const isSearch = interaction === 'search-type' && method === 'GET' && isServedType(type) && type;
  const byUrl = interaction === 'search-type' && !isServedType(type) ? [query('url', 'Canonical URL')] : [];
  const further = furtherQueries[interaction]?.map((name) => query(name, 'Shapes the result')) ?? [];
  const inHeaders = (textOf(route).heeds ?? []).map((name) => ({ $ref: `#/components/parameters/${name}` }));
  return [...inPath, ...(isSearch ? searchQuery(isSearch) : []), ...byUrl, ...further, ...inHeaders];
}

/** The request body, by its kind. */
function bodyOf({ body, interaction, type }: RouteDescription): Json {
  const resource = interaction === 'batch' ? ref('Bundle') : ref(type ?? 'Bundle');
  const parameters = ref('Parameters');
  const isAppointment = ['$book', '$hold', '$waitlist'].includes(interaction);
  const operation = isAppointment ? { oneOf: [ref('Appointment'), parameters] } : parameters;
  const contents: Readonly<Record<BodyKind, Json>> = {
    fhir: contentOf(fhirTypes, interaction.startsWith('$') ? operation : resource),
    patch: {
      ...contentOf(fhirTypes, ref('Parameters')),
      [JSON_PATCH]: { schema: { type: 'array', items: { type: 'object' } } },
    },
    form: contentOf(['application/x-www-form-urlencoded'], { type: 'object' }),
  };
  return body ? { requestBody: { required: body !== 'form', content: contents[body] } } : {};
}

/** The Operation Object of a route. */
function operationOf(route: RouteDescription): Json {
  const { interaction, type, isPublic, method, path } = route;
  const { summary, answers, gives, heeds } = textOf(route);
  // A write is answered as `Prefer` asks; so is what is done later, and a dry run.
  const outcome = interaction !== 'search-type' && heeds?.includes('Prefer') ? ['OperationOutcome'] : [];
  const [firstType = 'OperationOutcome', ...furtherTypes] = [gives ?? type ?? [], outcome].flat();
  const schema = furtherTypes.length > 0 ? { oneOf: [firstType, ...furtherTypes].map(ref) } : ref(firstType);
  const content = contentOf(fhirTypes, schema);
  const succeeded = Object.entries(answers).map(([status, description]): [string, Json] => [
    status,
    { description, ...(!['204', '304'].includes(status) && { content }) },
  ]);
  const id = `${method}${path}`.toLowerCase().replace(/[^a-z]+/g, '-');
  return {
    operationId: id.replace(/-$/, ''),
    summary,
    ...(type && { tags: [type] }),
    ...(isPublic && { security: [] }),
    ...(parametersOf(route).length > 0 && { parameters: parametersOf(route) }),
    ...bodyOf(route),
    responses: { ...Object.fromEntries(succeeded), default: { $ref: '#/components/responses/Refused' } },
  };
}

/** A resource, as far as OpenAPI describes it: FHIR itself defines the rest. */
const schemaOf = (resourceType: string): Json => ({
  type: 'object',
  required: ['resourceType'],
  properties: { resourceType: { const: resourceType } },
  externalDocs: { url: `https://hl7.org/fhir/R4/${resourceType.toLowerCase()}.html` },
});

/** Types that are not stored by the service, but sent or answered. */
const others = ['Bundle', 'CapabilityStatement', 'OperationOutcome', 'Parameters'] as const;

/**
 * The interface as OpenAPI describes it, made from the same tables as routes and searches. The content of resources is
 * left to FHIR and to the profiles that the CapabilityStatement names.
 *
 * @see https://spec.openapis.org/oas/v3.1.1
 */
export function openApi(config: Pick<BookingConfig, 'baseUrl'>, routes: readonly RouteDescription[]): Json {
  const paths: Record<string, Record<string, Json>> = {};
  for (const route of routes) {
    const path = route.path.replace(/:(\w+)/g, '{$1}') || '/';
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  const { token_endpoint: tokenUrl } = oauthEndpoints(new URL(config.baseUrl));
  return {
    openapi: '3.1.1',
    info: {
      title: 'Appointment booking',
      version: serviceVersion,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: 'FHIR R4. The CapabilityStatement at /metadata names the profiles; /oauth2 returns OAuth errors.',
    },
    servers: [{ url: config.baseUrl }],
    security: [{ oauth2: [] }],
    tags: [...servedTypeNames, ...definitionTypes].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: { oauth2: { type: 'oauth2', flows: { clientCredentials: { tokenUrl, scopes: {} } } } },
      schemas: Object.fromEntries(
        [...servedTypeNames, ...definitionTypes, ...others].map((type) => [type, schemaOf(type)]),
      ),
      parameters: Object.fromEntries([
        ...controls.map((name) => [nameOf(name), query(name, 'Shapes the result')]),
        ...Object.entries(headers).map(([name, text]) => [name, { ...query(name, text), in: 'header' }]),
      ]),
      responses: {
        Refused: {
          description: 'Every problem that was found',
          content: contentOf(fhirTypes, ref('OperationOutcome')),
        },
      },
    },
  };
}
