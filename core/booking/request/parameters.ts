import type { Appointment, Patient, QuestionnaireResponse, RelatedPerson, ResourceType } from '@medplum/fhirtypes';
import type { PublicConfig } from '../../fhir/artefacts.ts';
import {
  type Bounds,
  boundIssues,
  identifierIssues,
  personBounds,
  sizeProblem,
  unsupportedIssues,
} from '../../fhir/bounds.ts';
import { narrativeIssues } from '../../fhir/narrative/narrative.ts';
import { besides, type Issue } from '../../fhir/outcome/outcome.ts';
import { isObject, isResource } from '../../fhir/resource.ts';
import { withoutReserved } from '../../fhir/tags.ts';
import { readStructure } from '../../fhir/types/structure.ts';
import { appointmentBounds } from '../appointment/elements.ts';
import { mergeIssues } from '../patients/conformance.ts';

/** A value together with the FHIRPath of its element. */
export interface Located<T> {
  readonly value: T;
  readonly path: string;
}

/** An appointment to book. `sent` is the submitted one, with the parts that are reserved for the service. */
export interface LocatedAppointment extends Located<Appointment> {
  readonly sent?: Readonly<Record<string, unknown>> | undefined;
}

export const MAX_APPOINTMENTS = 20;

/** The inputs of `$book` from its body. Their structure is checked, their content is not. */
export interface BookInputs {
  readonly appointments: readonly LocatedAppointment[];
  readonly patients: readonly Located<Patient>[];
  readonly relatedPerson?: Located<RelatedPerson> | undefined;
  readonly answers: readonly Located<QuestionnaireResponse>[];
  /** The reference of the parameter `schedule`. */
  readonly schedule?: Located<unknown> | undefined;
  /** The uris or references of the parameters `cancelled-appt-id`. */
  readonly replaced: readonly Located<unknown>[];
  readonly personalOffer?: Located<unknown> | undefined;
  readonly dryRun?: Located<unknown> | undefined;
}

type Input = 'appointment' | 'patient' | Exclude<keyof BookInputs, 'appointments' | 'patients'>;

/**
 * The content of a parameter: a resource of one type, a reference (as Reference or, with `uri`, as uri), or a boolean.
 */
interface ParameterDefinition {
  readonly input: Input;
  readonly resourceType?: ResourceType;
  readonly uri?: true;
  readonly boolean?: true;
  /** The maximum lengths of the resource's lists. */
  readonly bounds?: Bounds;
  /** The maximum number of repetitions; 1 if absent. */
  readonly most?: number;
}

const appointment: ParameterDefinition = {
  input: 'appointment',
  resourceType: 'Appointment',
  bounds: appointmentBounds,
};

type Definitions = Readonly<Record<string, ParameterDefinition>>;

/** The parameters of `$book` by name (specification 4.4). */
const definitions: Definitions = {
  'appt-resource': { ...appointment, most: MAX_APPOINTMENTS },
  appointment: { ...appointment, most: MAX_APPOINTMENTS },
  patient: { input: 'patient', resourceType: 'Patient', bounds: personBounds, most: MAX_APPOINTMENTS },
  'related-person': { input: 'relatedPerson', resourceType: 'RelatedPerson', bounds: personBounds },
  patientSubmittedInformation: { input: 'answers', resourceType: 'QuestionnaireResponse', most: 20 },
  schedule: { input: 'schedule' },
  'cancelled-appt-id': { input: 'replaced', uri: true, most: MAX_APPOINTMENTS },
  'dry-run': { input: 'dryRun', boolean: true },
};

const holdDefinitions: Definitions = { ...definitions, 'personal-offer': { input: 'personalOffer', boolean: true } };

const waitlistDefinitions: Definitions = {
  'appt-resource': appointment,
  appointment,
  patient: { input: 'patient', resourceType: 'Patient', bounds: personBounds },
  'related-person': { input: 'relatedPerson', resourceType: 'RelatedPerson', bounds: personBounds },
  patientSubmittedInformation: { input: 'answers', resourceType: 'QuestionnaireResponse', most: 20 },
  'standing-appt-id': { input: 'replaced', uri: true },
};

const definitionsOf = { book: definitions, hold: holdDefinitions, waitlist: waitlistDefinitions } as const;

/** An operation with an appointment and its participants as input. */
type OperationName = keyof typeof definitionsOf;

interface ReadParameter {
  readonly input?: Input;
  readonly located?: Located<unknown> & Pick<LocatedAppointment, 'sent'>;
  readonly issues: readonly Issue[];
  /** The paths of malformed elements, which `located` leaves out. */
  readonly unreadable?: readonly string[];
  /** Whether a list is too long. Then the request is not processed further. */
  readonly isTooLong?: boolean;
}

interface ReadInputs {
  readonly inputs: BookInputs;
  readonly issues: readonly Issue[];
  /** The paths of malformed parts: nothing is known about them. */
  readonly unreadable: readonly string[];
  /** Whether the body is too large or does not belong to this operation. Then nothing else can be validated. */
  readonly isUnreadable: boolean;
}

const pathsOf = (issues: readonly Issue[]): string[] => issues.flatMap(({ expression }) => expression ?? []);

const malformed = (diagnostics: string, expression?: string): Issue => ({
  code: 'malformed-request',
  diagnostics,
  ...(expression && { expression }),
});

/** Reads a resource. Reserved and malformed parts are dropped; if a list is too long, the whole resource. */
function readResource(
  sent: Readonly<Record<string, unknown>>,
  type: ResourceType,
  { input, bounds = {} }: ParameterDefinition,
  path: string,
  config: PublicConfig,
): ReadParameter {
  const tooLong = boundIssues(sent, bounds, path);
  if (tooLong.length > 0) {
    return { issues: tooLong, isTooLong: true };
  }
  const value = withoutReserved(sent, config);
  const { readable, issues: structure, codes, unreadable } = readStructure(value, type, path);
  const unsupported = unsupportedIssues(value, path);
  const issues = [
    ...besides(structure, unsupported),
    ...unsupported,
    // The status of an appointment has a rule of its own.
    ...codes.filter(({ expression }) => type !== 'Appointment' || expression !== `${path}.status`),
    ...identifierIssues(value, path),
    ...narrativeIssues(value, path),
    ...(type === 'Patient' ? mergeIssues(value, path) : []),
  ];
  return { input, located: { value: readable, path, sent }, issues, unreadable };
}

function readBoolean(
  { name, valueBoolean }: Readonly<Record<string, unknown>>,
  input: Input,
  path: string,
): ReadParameter {
  return typeof valueBoolean === 'boolean'
    ? { input, located: { value: valueBoolean, path: `${path}.valueBoolean` }, issues: [] }
    : { issues: [malformed(`The parameter ${String(name)} must hold a valueBoolean.`, path)] };
}

/** Reads the content of a parameter. If it has another type than the definition demands, there is only an issue. */
function readValue(
  definition: ParameterDefinition,
  parameter: Readonly<Record<string, unknown>>,
  path: string,
  config: PublicConfig,
): ReadParameter {
  const { input, resourceType, uri } = definition;
  if (uri && typeof parameter.valueUri === 'string') {
    return { input, located: { value: parameter.valueUri, path: `${path}.valueUri` }, issues: [] };
  }
  if (definition.boolean) {
    return readBoolean(parameter, input, path);
  }
  const element = resourceType ? 'resource' : 'valueReference';
  const value = parameter[element];
  if (!isObject(value) || (resourceType && value.resourceType !== resourceType)) {
    const wanted = resourceType ? `a ${resourceType} in resource` : `a valueReference${uri ? ' or a valueUri' : ''}`;
    return { issues: [malformed(`The parameter ${String(parameter.name)} must hold ${wanted}.`, path)] };
  }
  if (resourceType) {
    return readResource(value, resourceType, definition, `${path}.${element}`, config);
  }
  const { issues } = readStructure(value, 'Reference', `${path}.${element}`);
  const located = { value: value.reference, path: `${path}.${element}` };
  return issues.length > 0 ? { issues } : { input, located, issues };
}

/** Reads one parameter of an operation. Without a name, or with an unknown one, there is only an issue. */
function readParameter(
  parameter: unknown,
  path: string,
  operation: OperationName,
  config: PublicConfig,
): ReadParameter {
  const definitions = definitionsOf[operation];
  const name = isObject(parameter) ? parameter.name : undefined;
  if (!isObject(parameter) || typeof name !== 'string') {
    return { issues: [malformed('Every parameter needs a name.', path)] };
  }
  const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  if (!definition) {
    const names = Object.keys(definitions).join(', ');
    const diagnostics = `$${operation} has no parameter ${JSON.stringify(name).slice(0, 80)}; its parameters are ${names}.`;
    return { issues: [{ code: 'parameter-unknown', diagnostics, expression: `${path}.name` }] };
  }
  return readValue(definition, parameter, path, config);
}

/** @returns a `malformed-request` for each parameter that is repeated too often */
function repetitionIssues(parameters: readonly unknown[], operation: OperationName): Issue[] {
  const definitions = definitionsOf[operation];
  const counts = new Map<Input, number>();
  return parameters.flatMap((parameter, index) => {
    const name = isObject(parameter) ? parameter.name : undefined;
    const definition = typeof name === 'string' && Object.hasOwn(definitions, name) ? definitions[name] : undefined;
    if (!definition) {
      return [];
    }
    const { input, resourceType, boolean, most = 1 } = definition;
    const count = (counts.get(input) ?? 0) + 1;
    counts.set(input, count);
    const limit = most === 1 ? 'only once' : `at most ${most} times`;
    const isTooOften = count === most + 1;
    const element = resourceType
      ? 'resource'
      : boolean
        ? 'valueBoolean'
        : isObject(parameter) && parameter.valueUri
          ? 'valueUri'
          : 'valueReference';
    const expression = `Parameters.parameter[${index}].${element}`;
    return isTooOften ? [malformed(`The parameter ${name} may be given ${limit}.`, expression)] : [];
  });
}

function ofType<T extends ResourceType>(type: T) {
  return <L extends Located<unknown>>(located: L) =>
    isResource(located.value, type) ? [{ ...located, value: located.value }] : [];
}

/** The most parameters of one request: more than the sum of all allowed repetitions. */
const MAX_PARAMETERS = 100;

const unreadableInputs = (issues: readonly Issue[]): ReadInputs => ({
  inputs: { appointments: [], patients: [], answers: [], replaced: [] },
  issues,
  unreadable: [],
  isUnreadable: true,
});

/** Reads the inputs by name. With too many or repeated parameters none is read. */
function readParameters(parameters: readonly unknown[], operation: OperationName, config: PublicConfig): ReadInputs {
  const repeated = repetitionIssues(parameters, operation);
  if (parameters.length > MAX_PARAMETERS || repeated.length > 0) {
    const issues = boundIssues({ parameter: parameters }, { parameter: MAX_PARAMETERS }, 'Parameters');
    return unreadableInputs([...issues, ...repeated]);
  }
  const read = parameters.map((parameter, index) =>
    readParameter(parameter, `Parameters.parameter[${index}]`, operation, config),
  );
  const found = (input: Input) => read.flatMap((one) => (one.input === input && one.located ? [one.located] : []));
  const inputs: BookInputs = {
    appointments: found('appointment').flatMap(ofType('Appointment')),
    patients: found('patient').flatMap(ofType('Patient')),
    relatedPerson: found('relatedPerson').flatMap(ofType('RelatedPerson'))[0],
    answers: found('answers').flatMap(ofType('QuestionnaireResponse')),
    schedule: found('schedule')[0],
    replaced: found('replaced'),
    personalOffer: found('personalOffer')[0],
    dryRun: found('dryRun')[0],
  };
  const unreadable = read.flatMap((one) => one.unreadable ?? (one.located ? [] : pathsOf(one.issues)));
  const isUnreadable = read.some(({ isTooLong }) => isTooLong === true);
  return { inputs, issues: read.flatMap(({ issues }) => issues), unreadable, isUnreadable };
}

/**
 * Parses the body of `$book`, `$hold` or `$waitlist`: a bare Appointment, or Parameters with the inputs by name. Tags,
 * extensions and identifiers that only the service may set are dropped. Sizes and numbers are checked first.
 * @param body - parsed JSON of any kind
 * @returns the inputs without malformed parts, and an issue (`malformed-request`, `parameter-unknown`,
 *   `profile-violation`) for each part that the operation does not accept
 * @see specification 4.4; https://hl7.org/fhir/R4/operations.html#request
 */
export function readInputs(body: unknown, config: PublicConfig, operation: OperationName = 'book'): ReadInputs {
  const tooLarge = sizeProblem(body);
  if (tooLarge) {
    return unreadableInputs([malformed(`The body of $${operation} must not ${tooLarge}.`, 'http.body')]);
  }
  if (isObject(body) && body.resourceType === 'Appointment') {
    const {
      located,
      issues,
      unreadable = [],
      isTooLong = false,
    } = readResource(body, 'Appointment', appointment, 'Appointment', config);
    const appointments = located ? ofType('Appointment')(located) : [];
    return {
      inputs: { appointments, patients: [], answers: [], replaced: [] },
      issues,
      unreadable,
      isUnreadable: isTooLong,
    };
  }
  if (!isResource(body, 'Parameters') || !Array.isArray(body.parameter)) {
    const diagnostics = `The body of $${operation} must be an Appointment, or Parameters with an appt-resource.`;
    return unreadableInputs([
      malformed(diagnostics, isResource(body, 'Parameters') ? 'Parameters.parameter' : 'http.body'),
    ]);
  }
  return readParameters(body.parameter, operation, config);
}
