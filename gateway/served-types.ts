import type { Artefact } from '../core/fhir/artefacts.ts';

/** A FHIR interaction with resources of a type, without operations. */
export type Interaction =
  | 'read'
  | 'vread'
  | 'history-instance'
  | 'search-type'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete';

/** The levels, methods and definition of an operation. */
export interface ServedOperation {
  readonly levels: readonly ('type' | 'instance')[];
  readonly methods: readonly ('GET' | 'POST')[];
  /** An artefact of the installation, or the canonical URL of another publisher's definition. */
  readonly definition: Artefact | `http://${string}`;
}

const backportOperation = (name: string): `http://${string}` =>
  `http://hl7.org/fhir/uv/subscriptions-backport/OperationDefinition/backport-subscription-${name}`;

/** Every operation of the service. */
export const servedOperations = {
  book: { levels: ['type'], methods: ['POST'], definition: 'book' },
  answer: { levels: ['type'], methods: ['POST'], definition: 'answer' },
  feed: { levels: ['type'], methods: ['POST'], definition: 'feed' },
  hold: { levels: ['type'], methods: ['POST'], definition: 'hold' },
  find: { levels: ['type'], methods: ['POST'], definition: 'find' },
  waitlist: { levels: ['type'], methods: ['POST'], definition: 'waitlist' },
  absence: { levels: ['type'], methods: ['POST'], definition: 'absence' },
  status: { levels: ['type', 'instance'], methods: ['GET', 'POST'], definition: backportOperation('status') },
  events: { levels: ['instance'], methods: ['GET', 'POST'], definition: backportOperation('events') },
  'get-ws-binding-token': {
    levels: ['instance'],
    methods: ['GET', 'POST'],
    definition: backportOperation('get-ws-binding-token'),
  },
  deliver: { levels: ['instance'], methods: ['POST'], definition: 'deliver' },
} as const satisfies Record<string, ServedOperation>;

/** Name of an operation of the service. */
export type OperationName = keyof typeof servedOperations;

/** A resource type of the service: its interactions, operations, and the profile its resources conform to. */
export interface ServedType {
  readonly interactions: readonly Interaction[];
  readonly operations?: readonly OperationName[];
  /** Whether a create supports `If-None-Exist`. */
  readonly conditionalCreate?: true;
  readonly profile?: Artefact;
}

const readOnly: ServedType = { interactions: ['read', 'search-type'] };

/** The interactions with resources of a requestor, which may read their versions. */
const withVersions = ['read', 'vread', 'history-instance', 'search-type'] as const;

/**
 * The allow-list: every resource type of the service with its interactions and operations. Routes, CapabilityStatement,
 * search and the filter of responses read this table. A type that is not in it does not exist (404); a method that it
 * does not allow is refused (405).
 */
export const servedTypes = {
  Appointment: {
    interactions: [...withVersions, 'patch'],
    operations: ['book', 'hold', 'find', 'waitlist', 'answer'],
    profile: 'LocalTermin',
  },
  Patient: {
    interactions: [...withVersions, 'create', 'update'],
    conditionalCreate: true,
    profile: 'LocalPatient',
  },
  Slot: { ...readOnly, profile: 'LocalSlot' },
  Schedule: { ...readOnly, operations: ['absence', 'feed'], profile: 'LocalSchedule' },
  HealthcareService: readOnly,
  CodeSystem: readOnly,
  ValueSet: readOnly,
  Practitioner: readOnly,
  PractitionerRole: readOnly,
  Location: readOnly,
  Organization: readOnly,
  Questionnaire: readOnly,
  QuestionnaireResponse: { interactions: withVersions, profile: 'LocalQuestionnaireResponse' },
  Encounter: { interactions: ['read', 'vread', 'search-type'] },
  RelatedPerson: { interactions: withVersions },
  Subscription: {
    interactions: ['read', 'search-type', 'create', 'update', 'delete'],
    operations: ['status', 'events', 'get-ws-binding-token', 'deliver'],
    profile: 'LocalSubscriptionTermin',
  },
} as const satisfies Record<string, ServedType>;

/** A resource type of the service. */
export type ServedTypeName = keyof typeof servedTypes;

/** The names of the service's resource types. */
export const servedTypeNames = Object.keys(servedTypes) as readonly ServedTypeName[];

/** Whether a value names a resource type of the service. */
export function isServedType(value: unknown): value is ServedTypeName {
  return typeof value === 'string' && Object.hasOwn(servedTypes, value);
}

/** The readable types of the definitions in the CapabilityStatement: profiles, operations, search parameters. */
export const definitionTypes = ['StructureDefinition', 'OperationDefinition', 'SearchParameter'] as const;

/** A type of definitions. */
export type DefinitionType = (typeof definitionTypes)[number];
