import type { Appointment, Patient, QuestionnaireResponse, RelatedPerson, ResourceType } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome.ts';
import { isObject, isResource } from '../../fhir/resource.ts';
import {
  answersShape,
  appointmentShape,
  personShape,
  type Shape,
  shapeIssues,
  unknownIssues,
} from '../appointment/elements.ts';

/** A value together with the FHIRPath of the element it stood in. */
export interface Located<T> {
  readonly value: T;
  readonly path: string;
}

/** The inputs of `$book` as found in its body: their shape is checked, what they say is not. */
export interface BookInputs {
  readonly appointment?: Located<Appointment> | undefined;
  readonly patient?: Located<Patient> | undefined;
  readonly relatedPerson?: Located<RelatedPerson> | undefined;
  readonly answers: readonly Located<QuestionnaireResponse>[];
  /** The reference of the parameter `schedule`. */
  readonly schedule?: Located<unknown> | undefined;
  /** The uri or reference of the parameter `cancelled-appt-id`. */
  readonly replaced?: Located<unknown> | undefined;
}

type Input = keyof BookInputs;

/** What may stand in a parameter: a resource of one type, or a reference (as Reference or, if said, as uri). */
interface ParameterDefinition {
  readonly input: Input;
  readonly resourceType?: ResourceType;
  readonly shape: Shape;
  readonly uri?: true;
}

const appointment: ParameterDefinition = {
  input: 'appointment',
  resourceType: 'Appointment',
  shape: appointmentShape,
};
const referenceShape: Shape = { reference: 'string' };

/** The parameters of `$book` by name (specification 4.4). */
const definitions: Readonly<Record<string, ParameterDefinition>> = {
  'appt-resource': appointment,
  appointment,
  patient: { input: 'patient', resourceType: 'Patient', shape: personShape },
  'related-person': { input: 'relatedPerson', resourceType: 'RelatedPerson', shape: personShape },
  patientSubmittedInformation: { input: 'answers', resourceType: 'QuestionnaireResponse', shape: answersShape },
  schedule: { input: 'schedule', shape: referenceShape },
  'cancelled-appt-id': { input: 'replaced', shape: referenceShape, uri: true },
};

/** One parameter as read: what it holds, or what is wrong with it. */
interface ReadParameter {
  readonly input?: Input;
  readonly located?: Located<unknown>;
  readonly issues: readonly Issue[];
}

const malformed = (diagnostics: string, expression?: string): Issue => ({
  code: 'malformed-request',
  diagnostics,
  ...(expression && { expression }),
});

function readValue(definition: ParameterDefinition, parameter: Readonly<Record<string, unknown>>, path: string) {
  const { input, resourceType, shape, uri } = definition;
  if (uri && typeof parameter.valueUri === 'string') {
    return { input, located: { value: parameter.valueUri, path: `${path}.valueUri` }, issues: [] };
  }
  const element = resourceType ? 'resource' : 'valueReference';
  const value = parameter[element];
  if (!isObject(value) || (resourceType && value.resourceType !== resourceType)) {
    const wanted = resourceType ? `a ${resourceType} in resource` : `a valueReference${uri ? ' or a valueUri' : ''}`;
    return { issues: [malformed(`The parameter ${String(parameter.name)} must hold ${wanted}.`, path)] };
  }
  const issues = shapeIssues(value, shape, `${path}.${element}`);
  const located = { value: resourceType ? value : value.reference, path: `${path}.${element}` };
  const unknown = input === 'appointment' ? unknownIssues(value, shape, located.path) : [];
  return issues.length > 0 ? { issues: [...issues, ...unknown] } : { input, located, issues: unknown };
}

function readParameter(parameter: unknown, path: string): ReadParameter {
  const name = isObject(parameter) ? parameter.name : undefined;
  if (!isObject(parameter) || typeof name !== 'string') {
    return { issues: [malformed('Every parameter needs a name.', path)] };
  }
  const definition = Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  if (!definition) {
    const known = Object.keys(definitions).join(', ');
    const diagnostics = `$book has no parameter ${JSON.stringify(name).slice(0, 80)}; it knows ${known}.`;
    return { issues: [{ code: 'parameter-unknown', diagnostics, expression: `${path}.name` }] };
  }
  return readValue(definition, parameter, path);
}

function tooMany(read: readonly ReadParameter[]): Issue[] {
  const seen = new Set<Input>();
  return read.flatMap(({ input, located }) => {
    const isSecond = input !== undefined && input !== 'answers' && seen.has(input);
    if (input) {
      seen.add(input);
    }
    return isSecond ? [malformed(`A booking has one ${input} at most.`, located?.path)] : [];
  });
}

function isLocated<T extends ResourceType>(type: T) {
  return (located: Located<unknown>) =>
    isResource(located.value, type) ? [{ value: located.value, path: located.path }] : [];
}

/**
 * Takes the body of `$book` apart: a bare Appointment, or Parameters with the inputs by name.
 *
 * @param body - parsed JSON of any kind
 * @returns the inputs, and an issue (`malformed-request`, `parameter-unknown`) for each part that is not what the
 *   operation takes
 * @see specification 4.4; https://hl7.org/fhir/R4/operations.html#request
 */
export function readInputs(body: unknown): { inputs: BookInputs; issues: readonly Issue[] } {
  if (isResource(body, 'Appointment')) {
    const issues = [
      ...shapeIssues(body, appointmentShape, 'Appointment'),
      ...unknownIssues(body, appointmentShape, 'Appointment'),
    ];
    return { inputs: { appointment: { value: body, path: 'Appointment' }, answers: [] }, issues };
  }
  if (!isResource(body, 'Parameters') || !Array.isArray(body.parameter)) {
    const diagnostics = 'The body of $book must be an Appointment, or Parameters with an appt-resource.';
    return { inputs: { answers: [] }, issues: [malformed(diagnostics)] };
  }
  const read = body.parameter.map((parameter, index) => readParameter(parameter, `Parameters.parameter[${index}]`));
  const found = (input: Input) => read.flatMap((one) => (one.input === input && one.located ? [one.located] : []));
  const inputs: BookInputs = {
    appointment: found('appointment').flatMap(isLocated('Appointment'))[0],
    patient: found('patient').flatMap(isLocated('Patient'))[0],
    relatedPerson: found('relatedPerson').flatMap(isLocated('RelatedPerson'))[0],
    answers: found('answers').flatMap(isLocated('QuestionnaireResponse')),
    schedule: found('schedule')[0],
    replaced: found('replaced')[0],
  };
  return { inputs, issues: [...read.flatMap(({ issues }) => issues), ...tooMany(read)] };
}
