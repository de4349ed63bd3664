import type { Handler } from './handler.ts';
import type { BodyKind } from './http/body.ts';
import { cancelBookingJob, readBookingJob } from './interactions/async-book.ts';
import { batch } from './interactions/batch.ts';
import { book, hold, joinWaitlist } from './interactions/book.ts';
import { calendarFeed, findVisits, planAbsence, replyToMessage } from './interactions/bot-operations.ts';
import { type DefinitionUrls, readDefinition, searchDefinitions } from './interactions/definitions.ts';
import { history, vread } from './interactions/history.ts';
import { limitingChanges } from './interactions/limiting-changes.ts';
import { patchAppointment } from './interactions/patch.ts';
import { createPatient, updatePatient } from './interactions/patient.ts';
import { read } from './interactions/read.ts';
import { createSubscription, deleteSubscription, updateSubscription } from './interactions/subscription.ts';
import {
  deliverNow,
  subscriptionEvents,
  subscriptionStatus,
  websocketToken,
} from './interactions/subscription-operations.ts';
import { searchByGet, searchByPost } from './search/search.ts';
import {
  type DefinitionType,
  definitionTypes,
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
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly handler: Handler;
  readonly body?: BodyKind;
  readonly isPublic?: boolean;
  readonly type?: ServedTypeName | DefinitionType;
  /** FHIR's code of the interaction, the name of an operation with its `$`, or `async-…`. */
  readonly interaction: string;
}

/** A route without its handler. */
export type RouteDescription = Omit<Route, 'handler'>;

/** A route before its type and interaction are added. */
type Path = Omit<Route, 'type' | 'interaction'>;

type Write = 'create' | 'update' | 'patch' | 'delete';

/** The handlers of writes by resource type: one for each write in the allow-list. */
const writes: Readonly<Partial<Record<ServedTypeName, Partial<Record<Write, Handler>>>>> = {
  Appointment: { patch: limitingChanges(patchAppointment) },
  Patient: { create: limitingChanges(createPatient, 'size'), update: limitingChanges(updatePatient, 'size') },
  Subscription: {
    create: limitingChanges(createSubscription, 'subscription'),
    update: limitingChanges(updateSubscription, 'subscription'),
    delete: limitingChanges(deleteSubscription, 'size'),
  },
};

const operations: Readonly<Record<OperationName, Handler>> = {
  book: limitingChanges(book),
  hold: limitingChanges(hold),
  find: limitingChanges(findVisits, 'size'),
  waitlist: limitingChanges(joinWaitlist, 'entry'),
  answer: limitingChanges(replyToMessage, 'answer'),
  feed: limitingChanges(calendarFeed, 'size'),
  absence: limitingChanges(planAbsence, 'size'),
  status: limitingChanges(subscriptionStatus, 'size'),
  events: limitingChanges(subscriptionEvents, 'size'),
  'get-ws-binding-token': limitingChanges(websocketToken, 'size'),
  deliver: deliverNow,
};

/** The route of a write; empty if there is no handler. */
function writeRoute(type: ServedTypeName, interaction: Write, route: Omit<Path, 'handler'>): readonly Path[] {
  const handler = writes[type]?.[interaction];
  return handler === undefined ? [] : [{ ...route, handler }];
}

const routesOf: Readonly<Record<Interaction, (type: ServedTypeName) => readonly Path[]>> = {
  read: (type) => [{ method: 'GET', path: `/${type}/:id`, handler: read(type) }],
  vread: (type) => [{ method: 'GET', path: `/${type}/:id/_history/:vid`, handler: vread(type) }],
  'history-instance': (type) => [{ method: 'GET', path: `/${type}/:id/_history`, handler: history(type) }],
  'search-type': (type) => [
    { method: 'GET', path: `/${type}`, handler: searchByGet(type) },
    { method: 'POST', path: `/${type}/_search`, handler: searchByPost(type), body: 'form' },
  ],
  create: (type) => writeRoute(type, 'create', { method: 'POST', path: `/${type}`, body: 'fhir' }),
  update: (type) => writeRoute(type, 'update', { method: 'PUT', path: `/${type}/:id`, body: 'fhir' }),
  patch: (type) => writeRoute(type, 'patch', { method: 'PATCH', path: `/${type}/:id`, body: 'patch' }),
  delete: (type) => writeRoute(type, 'delete', { method: 'DELETE', path: `/${type}/:id` }),
};

/** The operations that must have a body. */
const withBody: readonly OperationName[] = ['book', 'hold', 'find', 'waitlist', 'answer', 'feed', 'absence'];

function routesOfOperation(type: ServedTypeName, name: OperationName): Route[] {
  const { levels, methods }: ServedOperation = servedOperations[name];
  const paths = levels.map((level) => (level === 'type' ? `/${type}/$${name}` : `/${type}/:id/$${name}`));
  return paths.flatMap((path) =>
    methods.map((method) => ({
      method,
      path,
      type,
      interaction: `$${name}`,
      handler: operations[name],
      ...(withBody.includes(name) && { body: 'fhir' as const }),
    })),
  );
}

/**
 * Returns all routes of the FHIR interface, made from the allow-list.
 *
 * @param readable - the definitions that the CapabilityStatement references
 */
export function fhirRoutes(metadata: Handler, readable: DefinitionUrls): readonly Route[] {
  const typed = servedTypeNames.flatMap((type) => {
    const served: ServedType = servedTypes[type];
    const called = (served.operations ?? []).flatMap((name) => routesOfOperation(type, name));
    const plain = served.interactions.flatMap((interaction) =>
      routesOf[interaction](type).map((path): Route => ({ ...path, type, interaction })),
    );
    // Operations first, because a batch uses the first matching route.
    return [...called, ...plain];
  });
  const routes: readonly Route[] = [
    { method: 'GET', path: '/metadata', handler: metadata, isPublic: true, interaction: 'capabilities' },
    { method: 'GET', path: '/async/:id', handler: readBookingJob, interaction: 'async-read' },
    {
      method: 'DELETE',
      path: '/async/:id',
      handler: limitingChanges(cancelBookingJob, 'size'),
      interaction: 'async-delete',
    },
    ...typed,
    ...definitionTypes.flatMap((type): Route[] => [
      { method: 'GET', path: `/${type}/:id`, handler: readDefinition(type, readable), type, interaction: 'read' },
      { method: 'GET', path: `/${type}`, handler: searchDefinitions(type, readable), type, interaction: 'search-type' },
    ]),
  ];
  const readables = routes.filter(({ method }) => method === 'GET');
  return [{ method: 'POST', path: '', handler: batch(readables), body: 'fhir', interaction: 'batch' }, ...routes];
}
