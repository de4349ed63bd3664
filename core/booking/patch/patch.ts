import type { Appointment } from '@medplum/fhirtypes';
import { sizeBeyond, sizeProblem } from '../../fhir/bounds.ts';
import { narrativeIssues } from '../../fhir/narrative/narrative.ts';
import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isObject, isResource } from '../../fhir/resource.ts';
import { readStructure } from '../../fhir/types/structure.ts';
import { unsupportedIssues } from '../../fhir/unsupported.ts';
import { grownListIssues } from '../appointment/bounds.ts';
import { besides } from '../issues.ts';
import { costOf, MOST_COST } from './cost.ts';
import { type FhirPathOperation, readFhirPathPatch } from './fhirpath-operations.ts';
import { applyFhirPathOperation, type Evaluate } from './fhirpath-patch.ts';
import { type Edited, isEqual } from './json-edit.ts';
import { applyJsonOperation, type JsonOperation, readJsonPatch } from './json-patch.ts';

/** A patch as read, in either form. */
export type Patch =
  | { readonly kind: 'fhirpath'; readonly operations: readonly FhirPathOperation[] }
  | { readonly kind: 'json'; readonly operations: readonly JsonOperation[] };

/** The most operations that a patch can have. */
const MOST_OPERATIONS = 100;

/**
 * The longest patch, and the longest result after any of its operations, as JSON, in characters. An appointment that is
 * already longer may stay so; otherwise it could not be cancelled.
 */
export const LONGEST_PATCH = 256 * 1024;

/** How much longer an appointment that is already too long may become: enough for its cancellation with a reason. */
const CANCELLATION = 1024;

/** The same as a number of values. */
const CANCELLATION_VALUES = 20;

const invalid = (diagnostics: string, expression = 'http.body'): { readonly issues: Issue[] } => ({
  issues: [{ code: 'patch-invalid', diagnostics, expression }],
});

function lengthProblem(operations: readonly unknown[], text: string): string | undefined {
  if (operations.length === 0 || operations.length > MOST_OPERATIONS) {
    return `A patch has 1 to ${MOST_OPERATIONS} operations; this one has ${operations.length}.`;
  }
  return text.length > LONGEST_PATCH ? `A patch has at most ${LONGEST_PATCH} characters.` : undefined;
}

/**
 * Reads a patch: a Parameters resource with a FHIRPath Patch, or the list of a JSON Patch.
 *
 * @param sent - of any content
 * @returns the patch, or a `patch-invalid` for each problem
 * @see specification 2.5; https://hl7.org/fhir/R4/http.html#patch
 */
export function readPatch(sent: unknown): Patch | { readonly issues: readonly Issue[] } {
  const tooLarge = sizeProblem(sent);
  if (tooLarge) {
    return invalid(`A patch must not ${tooLarge}.`);
  }
  const sentOperations = isResource(sent, 'Parameters') ? (sent.parameter ?? []) : sent;
  if (!Array.isArray(sentOperations)) {
    return invalid('The body must be a Parameters resource with a FHIRPath Patch, or a JSON Patch.');
  }
  const problem = lengthProblem(sentOperations, JSON.stringify(sent));
  if (problem) {
    return invalid(problem);
  }
  if (isResource(sent, 'Parameters')) {
    const operations = readFhirPathPatch(sentOperations);
    return 'issues' in operations ? operations : { kind: 'fhirpath', operations };
  }
  const operations = readJsonPatch(sentOperations);
  return 'issues' in operations ? operations : { kind: 'json', operations };
}

/** Changes to what only the server writes, or to what identifies the resource. */
function serverIssues(stored: Appointment, result: Readonly<Record<string, unknown>>): Issue[] {
  const meta = isObject(result.meta) ? result.meta : {};
  const { tag: _, profile: __, security: ___, ...kept } = stored.meta ?? {};
  const touched = Object.entries(kept).filter(([name, value]) => !isEqual(meta[name], value));
  const added = Object.keys(meta).filter(
    (name) => !(name in (stored.meta ?? {})) && !/^_?(tag|profile|security)$/.test(name),
  );
  return [
    ...(result.resourceType === 'Appointment' ? [] : ['resourceType']),
    ...(result.id === stored.id ? [] : ['id']),
    ...[...touched.map(([name]) => name), ...added].map((name) => `meta.${name}`),
  ].map((name) => ({
    code: 'patch-invalid',
    diagnostics: `${name} of an appointment is set by the server and cannot be patched.`,
    expression: `Appointment.${name}`,
  }));
}

/** A patch must not change who may see an appointment. */
function securityIssues(stored: Appointment, { meta }: Readonly<Record<string, unknown>>): Issue[] {
  const labels = isObject(meta) ? meta.security : undefined;
  const diagnostics = 'The security labels of an appointment cannot be patched.';
  return isEqual(labels, stored.meta?.security)
    ? []
    : [{ code: 'immutable-element', diagnostics, expression: 'Appointment.meta.security' }];
}

/** Unsupported elements that a patch adds; existing ones may stay. */
function addedIssues(stored: Appointment, result: unknown): Issue[] {
  const known = new Set(unsupportedIssues(stored, 'Appointment').map(({ expression }) => expression));
  return [
    ...unsupportedIssues(result, 'Appointment').filter(({ expression }) => !known.has(expression)),
    ...narrativeIssues(result, 'Appointment', stored),
  ];
}

function steps(patch: Patch, evaluate: Evaluate): ((document: unknown) => Edited)[] {
  return patch.kind === 'json'
    ? patch.operations.map((operation) => (document) => applyJsonOperation(document, operation))
    : patch.operations.map((operation) => (document) => applyFhirPathOperation(document, operation, evaluate));
}

/** What a patch makes of an appointment. */
export interface Patched {
  /** Without what could not be read. */
  readonly result: Appointment;
  /** Changes to what no patch may touch, and elements that FHIR does not have; if any, nothing is to be written. */
  readonly issues: readonly Issue[];
  /** The paths of what could not be read. */
  readonly unreadable: readonly string[];
}

/** The result as an Appointment, with everything that is wrong with its form. */
function readResult(stored: Appointment, document: Readonly<Record<string, unknown>>): Patched | undefined {
  const { readable, issues: structure, unreadable } = readStructure(document, 'Appointment', 'Appointment');
  const touched = [
    ...serverIssues(stored, document),
    ...securityIssues(stored, document),
    ...addedIssues(stored, document),
  ];
  const result = { ...Object(readable), resourceType: 'Appointment' };
  return isResource(result, 'Appointment')
    ? { result, issues: [...touched, ...besides(structure, touched)], unreadable }
    : undefined;
}

/**
 * Applies a patch in memory, all of its operations or none.
 *
 * @param stored - the appointment as it is; left unchanged
 * @param evaluate - the FHIRPath engine
 * @returns the result, still to be judged by `validateChange`, with what is wrong with its form; or `patch-invalid` with the
 *   operation that cannot be applied
 */
export function applyPatch(
  stored: Appointment,
  patch: Patch,
  evaluate: Evaluate,
): Patched | { readonly issues: readonly Issue[] } {
  if (patch.kind === 'fhirpath' && costOf(stored, patch.operations) > MOST_COST) {
    return invalid('The patch is too costly: send fewer operations, with shorter paths, or a JSON Patch.');
  }
  const longest = Math.max(LONGEST_PATCH, JSON.stringify(stored).length + CANCELLATION);
  let document: unknown = stored;
  for (const [index, step] of steps(patch, evaluate).entries()) {
    const edited = step(document);
    const isFhirPath = patch.kind === 'fhirpath';
    if ('problem' in edited) {
      return invalid(
        isFhirPath ? edited.problem : `Operation ${index}: ${edited.problem}`,
        isFhirPath ? `Parameters.parameter[${index}]` : undefined,
      );
    }
    document = edited.document;
    if (JSON.stringify(document).length > longest) {
      return invalid(`The appointment would have more than ${longest} characters.`, 'Appointment');
    }
  }
  const most = sizeBeyond(stored, { values: CANCELLATION_VALUES, text: CANCELLATION, listed: CANCELLATION });
  const tooLarge = sizeProblem(document, most);
  if (tooLarge) {
    return invalid(`The appointment must not ${tooLarge}.`, 'Appointment');
  }
  const tooLong = grownListIssues(stored, document);
  if (tooLong.length > 0) {
    return { issues: tooLong };
  }
  const patched = isObject(document) ? readResult(stored, document) : undefined;
  return patched ?? invalid('The result is not an Appointment.', 'Appointment');
}

/** Whether two appointments are equal. */
export function hasNoEffect(stored: Appointment, result: Appointment): boolean {
  return isEqual(stored, result);
}
