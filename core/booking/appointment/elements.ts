import type { Appointment } from '@medplum/fhirtypes';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isObject } from '../../fhir/resource.ts';

/**
 * The JSON shape of an element, as far as the rules read it: a primitive, an object with known children, or a list.
 * What a shape does not name is not looked at; FHIR as a whole is validated by Medplum when the resource is written.
 */
export type Shape = 'string' | 'number' | 'boolean' | { readonly list: Shape } | { readonly [child: string]: Shape };

const isList = (shape: Shape): shape is { readonly list: Shape } =>
  typeof shape === 'object' && Object.keys(shape).join() === 'list';

function nameOf(shape: Shape): string {
  return typeof shape === 'string' ? shape : isList(shape) ? 'list' : 'object';
}

function fits(value: unknown, shape: Shape): boolean {
  return typeof shape === 'string'
    ? typeof value === shape
    : isList(shape)
      ? Array.isArray(value) && value.length > 0
      : isObject(value);
}

/**
 * Compares a JSON value with the shape that the rules rely on.
 *
 * @param value - what was sent; `undefined` always fits, for the rules themselves say what is required
 * @param shape - what the rules read of it
 * @param path - FHIRPath of the value
 * @returns a `malformed-request` for each element of another JSON type, with its exact path; an empty list is one, too
 * @see https://hl7.org/fhir/R4/json.html
 */
export function shapeIssues(value: unknown, shape: Shape, path: string): Issue[] {
  if (value === undefined) {
    return [];
  }
  if (!fits(value, shape)) {
    const diagnostics = `${path} must be a JSON ${nameOf(shape)}${isList(shape) ? ' with at least one entry' : ''}.`;
    return [{ code: 'malformed-request', diagnostics, expression: path }];
  }
  if (isList(shape) && Array.isArray(value)) {
    return value.flatMap((entry, index) => missingEntry(entry, shape.list, `${path}[${index}]`));
  }
  return typeof shape === 'object' && isObject(value)
    ? Object.entries(shape).flatMap(([child, inner]) => shapeIssues(value[child], inner, `${path}.${child}`))
    : [];
}

/**
 * A JSON value without what has another shape: the rules can judge the rest. In lists the places stay: what cannot be
 * read there becomes empty.
 *
 * @param value - what was sent, with problems that `shapeIssues` has reported
 */
export function withoutMisshapen(value: unknown, shape: Shape): unknown {
  if (value === undefined || !fits(value, shape)) {
    return undefined;
  }
  if (isList(shape) && Array.isArray(value)) {
    const empty = typeof shape.list === 'string' ? '' : {};
    return value.map((entry) => withoutMisshapen(entry ?? null, shape.list) ?? empty);
  }
  if (typeof shape !== 'object' || !isObject(value)) {
    return value;
  }
  const read = Object.entries(shape).filter(([child]) => value[child] !== undefined);
  return {
    ...value,
    ...Object.fromEntries(read.map(([child, inner]) => [child, withoutMisshapen(value[child], inner)])),
  };
}

/**
 * Finds elements that a resource cannot have.
 *
 * @param shape - names every element that the resource may have
 * @returns a `malformed-request` for each that it does not name
 */
export function unknownIssues(value: unknown, shape: Shape, path: string): Issue[] {
  const known = typeof shape === 'object' ? shape : {};
  return Object.keys(isObject(value) ? value : {})
    .filter((name) => !Object.hasOwn(known, name) && !Object.hasOwn(known, name.replace(/^_/, '')))
    .map((name) => ({
      code: 'malformed-request',
      diagnostics: `${path} has no element ${name}.`,
      expression: `${path}.${name}`,
    }));
}

function missingEntry(entry: unknown, shape: Shape, path: string): Issue[] {
  return shapeIssues(entry ?? null, shape, path);
}

const coding: Shape = { system: 'string', code: 'string' };
const codeableConcept: Shape = { coding: { list: coding } };
const identifiers: Shape = { list: { system: 'string', value: 'string' } };
const reference: Shape = { reference: 'string' };
const meta: Shape = { tag: { list: coding }, profile: { list: 'string' } };

/** FHIR's own list of the elements of an Appointment, and the extensions of its priority. */
type AppointmentElement = keyof Appointment | '_priority';

/**
 * Every element of an Appointment, and what the rules read of it (specification 2.1). It compiles only if it names
 * exactly the elements of FHIR's type.
 */
export const appointmentShape = {
  resourceType: 'string',
  id: 'string',
  meta,
  implicitRules: 'string',
  language: 'string',
  text: { div: 'string' },
  modifierExtension: { list: { url: 'string' } },
  identifier: identifiers,
  contained: { list: { id: 'string' } },
  status: 'string',
  cancelationReason: codeableConcept,
  serviceCategory: { list: codeableConcept },
  appointmentType: codeableConcept,
  reasonCode: { list: codeableConcept },
  reasonReference: { list: reference },
  priority: 'number',
  description: 'string',
  minutesDuration: 'number',
  created: 'string',
  comment: 'string',
  patientInstruction: 'string',
  basedOn: { list: reference },
  requestedPeriod: { list: { start: 'string', end: 'string' } },
  start: 'string',
  end: 'string',
  serviceType: { list: codeableConcept },
  specialty: { list: codeableConcept },
  slot: { list: reference },
  participant: { list: { actor: reference, status: 'string' } },
  supportingInformation: { list: {} },
  extension: { list: { url: 'string' } },
  _priority: { extension: { list: { url: 'string', valueCodeableConcept: codeableConcept } } },
} as const satisfies Readonly<Record<AppointmentElement, Shape>>;

/** The parts of a Patient and of a RelatedPerson that the rules read. */
export const personShape: Shape = {
  id: 'string',
  meta,
  identifier: identifiers,
  active: 'boolean',
  link: { list: {} },
};

/** The parts of a QuestionnaireResponse that the rules read (specification 2.3); items are walked as deep as they go. */
export const answersShape: Shape = {
  meta,
  text: { div: 'string' },
  item: { list: { text: 'string', linkId: 'string' } },
};
