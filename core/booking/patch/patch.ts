import type { Appointment, Bundle, BundleEntry } from '@medplum/fhirtypes';
import { sizeBeyond, sizeProblem, unsupportedIssues } from '../../fhir/bounds.ts';
import { narrativeIssues } from '../../fhir/narrative/narrative.ts';
import { besides, type Issue } from '../../fhir/outcome/outcome.ts';
import { isId } from '../../fhir/reference.ts';
import { isObject, isResource, parametersIn, parseJson } from '../../fhir/resource.ts';
import { readStructure } from '../../fhir/types/structure.ts';
import { grownListIssues, unpatchableIssues } from '../appointment/elements.ts';
import { applyEdit, type Edit, type Edited, type Location } from './edit.ts';
import {
  compile,
  costOf,
  type Evaluate,
  type FhirPathOperation,
  MAX_COST,
  readFhirPathOperation,
} from './fhirpath-patch.ts';

/** The members that an operation needs besides `op` and `path`. */
const needs: Readonly<Record<Edit['op'], 'value' | 'from' | undefined>> = {
  add: 'value',
  remove: undefined,
  replace: 'value',
  move: 'from',
  copy: 'from',
  test: 'value',
};

const invalidOperation = (index: number, diagnostics: string): Issue => ({
  code: 'patch-invalid',
  diagnostics: `Operation ${index}: ${diagnostics}`,
  expression: 'http.body',
});

const isOperationName = (value: unknown): value is Edit['op'] =>
  typeof value === 'string' && Object.hasOwn(needs, value);

/** Reads a JSON Pointer (https://www.rfc-editor.org/rfc/rfc6901). */
function readPointer(value: unknown): Location | undefined {
  return typeof value === 'string' && /^(?:\/(?:[^~/]|~[01])*)*$/.test(value)
    ? value
        .split('/')
        .slice(1)
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    : undefined;
}

/**
 * Reads an operation of a JSON Patch.
 * @param sent - of any content
 * @param index - of the operation in the patch
 * @returns the edit, or a `patch-invalid`
 * @see https://www.rfc-editor.org/rfc/rfc6902#section-4
 */
export function readJsonOperation(sent: unknown, index: number): Edit | Issue {
  if (!isObject(sent) || !isOperationName(sent.op)) {
    return invalidOperation(index, `op must be one of ${Object.keys(needs).join(', ')}.`);
  }
  const { op, value } = sent;
  const [path, from] = [readPointer(sent.path), readPointer(sent.from)];
  if (!path) {
    return invalidOperation(index, 'path must be a JSON Pointer such as /status.');
  }
  if (needs[op] === 'value') {
    return value === undefined ? invalidOperation(index, `${op} needs a value.`) : { op, path, value };
  }
  if (needs[op] === 'from') {
    return from ? { op, path, from } : invalidOperation(index, `${op} needs from, a JSON Pointer.`);
  }
  return { op, path };
}

/** The appointment to be changed, as far as the caller may see it. */
type PatchTarget =
  | { readonly kind: 'found'; readonly appointment: Appointment }
  /** Read by id, but not found by a search: it is deleted, or the searched database lags behind. */
  | { readonly kind: 'doubtful'; readonly appointment: Appointment }
  /** It never existed, or the caller may not see it. */
  | { readonly kind: 'unknown' }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'failed'; readonly status: number };

/**
 * The reads before an appointment is changed, as one batch. They must use the caller's own credentials: a caller cannot
 * change an appointment that it may not see. The search gives the current appointment, because Medplum's read by id
 * uses a cache that may be older. The read gives the reason if the search finds nothing.
 * @param id - of the appointment
 */
export function patchReads(id: string): Bundle {
  const urls = [`Appointment?_id=${encodeURIComponent(id)}`, `Appointment/${encodeURIComponent(id)}`];
  const entry = urls.map((url): BundleEntry => ({ request: { method: 'GET', url } }));
  return { resourceType: 'Bundle', type: 'batch', entry };
}

const statusOf = (entry: BundleEntry | undefined): number => Number.parseInt(entry?.response?.status ?? '500', 10);

/** Reads the response to `patchReads`. */
export function readPatchTarget(response: Bundle): PatchTarget {
  const [searched, read] = response.entry ?? [];
  const found = searched?.resource;
  if (statusOf(searched) !== 200 || !isResource(found, 'Bundle')) {
    return { kind: 'failed', status: statusOf(searched) };
  }
  const appointment = found.entry?.[0]?.resource;
  if (isResource(appointment, 'Appointment')) {
    return { kind: 'found', appointment };
  }
  const status = statusOf(read);
  if (status === 404 || status === 403) {
    return { kind: 'unknown' };
  }
  if (isResource(read?.resource, 'Appointment')) {
    return { kind: 'doubtful', appointment: read.resource };
  }
  return status === 410 ? { kind: 'deleted' } : { kind: 'failed', status };
}

type Operation = Edit | FhirPathOperation;

type Patch = readonly Operation[];

const isFhirPath = (operation: Operation): operation is FhirPathOperation => 'type' in operation;

const isIssue = (read: Operation | Issue): read is Issue => 'code' in read;

const MAX_OPERATIONS = 100;

/**
 * The maximum length of a patch, and of the result of each of its operations, in characters of JSON. An appointment
 * that is already longer may stay so; otherwise it could not be cancelled.
 */
export const MAX_PATCH_LENGTH = 256 * 1024;

/** The growth allowed beyond the maximum length, in characters: enough for a cancellation with a reason. */
const CANCELLATION = 1024;

/** The growth allowed beyond the maximum number of values. */
const CANCELLATION_VALUES = 20;

const invalid = (diagnostics: string, expression = 'http.body'): { readonly issues: Issue[] } => ({
  issues: [{ code: 'patch-invalid', diagnostics, expression }],
});

function lengthProblem(operations: readonly unknown[], text: string): string | undefined {
  if (operations.length === 0 || operations.length > MAX_OPERATIONS) {
    return `A patch has 1 to ${MAX_OPERATIONS} operations; this one has ${operations.length}.`;
  }
  return text.length > MAX_PATCH_LENGTH ? `A patch has at most ${MAX_PATCH_LENGTH} characters.` : undefined;
}

/**
 * Reads a patch: a Parameters resource with a FHIRPath Patch, or the list of a JSON Patch.
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
  const readOperation = isResource(sent, 'Parameters') ? readFhirPathOperation : readJsonOperation;
  const read = sentOperations.map((one: unknown, index): Operation | Issue => readOperation(one, index));
  const issues = read.filter(isIssue);
  return issues.length > 0 ? { issues } : read.flatMap((one) => (isIssue(one) ? [] : [one]));
}

export interface PatchRequest {
  readonly id: string;
  readonly patch: Patch;
  readonly ifMatch?: string | undefined;
}

/**
 * Reads the Bot's input for a patch: Parameters with `id` (valueId), `ifMatch` (valueString, a version), and `patch` (a
 * Parameters resource, or valueString with a JSON Patch).
 * @param input - of any content
 * @returns the request, or `patch-invalid` for each problem of the patch
 */
export function parsePatchRequest(input: unknown): PatchRequest | { readonly issues: readonly Issue[] } {
  const named = (wanted: string) => parametersIn(input).find(({ name }) => name === wanted) ?? {};
  const [{ valueId: id }, { valueString: ifMatch }] = [named('id'), named('ifMatch')];
  const { resource, valueString: json } = named('patch');
  if (!isId(id)) {
    return { issues: [{ code: 'patch-invalid', diagnostics: 'The parameter id must be the id of an Appointment.' }] };
  }
  const patch = readPatch(resource ?? (typeof json === 'string' ? parseJson(json) : undefined));
  return 'issues' in patch ? patch : { id, patch, ...(typeof ifMatch === 'string' && { ifMatch }) };
}

/** Unsupported elements that a patch adds; existing ones may stay. */
function addedElementIssues(stored: Appointment, result: unknown): Issue[] {
  const known = new Set(unsupportedIssues(stored, 'Appointment').map(({ expression }) => expression));
  return [
    ...unsupportedIssues(result, 'Appointment').filter(({ expression }) => !known.has(expression)),
    ...narrativeIssues(result, 'Appointment', stored),
  ];
}

interface Patched {
  /** Without malformed elements. */
  readonly result: Appointment;
  /** Forbidden changes, and elements that FHIR does not have. If there are any, nothing may be written. */
  readonly issues: readonly Issue[];
  /** The paths of malformed elements. */
  readonly unreadable: readonly string[];
}

/** Reads the patched document; `undefined` if it is not an Appointment. */
function readResult(stored: Appointment, document: Readonly<Record<string, unknown>>): Patched | undefined {
  const { readable, issues: structure, unreadable } = readStructure(document, 'Appointment', 'Appointment');
  const touched = [...unpatchableIssues(stored, document), ...addedElementIssues(stored, document)];
  const result = { ...Object(readable), resourceType: 'Appointment' };
  return isResource(result, 'Appointment')
    ? { result, issues: [...touched, ...besides(structure, touched)], unreadable }
    : undefined;
}

/** Applies one operation, which may be several edits; the first problem ends it. */
function applyOperation(document: unknown, operation: Operation, evaluate: Evaluate): Edited {
  const edits = isFhirPath(operation) ? compile(document, operation, evaluate) : [operation];
  let edited: Edited = 'problem' in edits ? edits : { document };
  for (const edit of 'problem' in edits ? [] : edits) {
    edited = 'problem' in edited ? edited : applyEdit(edited.document, edit);
  }
  return edited;
}

/**
 * Applies a patch in memory, all of its operations or none.
 * @param stored - the appointment as it is; left unchanged
 * @param evaluate - the FHIRPath engine
 * @returns the result with the issues of its form, for `validateChange`; or `patch-invalid` with the operation that
 *   cannot be applied
 */
export function applyPatch(
  stored: Appointment,
  patch: Patch,
  evaluate: Evaluate,
): Patched | { readonly issues: readonly Issue[] } {
  if (costOf(stored, patch.filter(isFhirPath)) > MAX_COST) {
    return invalid('The patch is too costly: send fewer operations, with shorter paths, or a JSON Patch.');
  }
  const longest = Math.max(MAX_PATCH_LENGTH, JSON.stringify(stored).length + CANCELLATION);
  let document: unknown = stored;
  for (const [index, operation] of patch.entries()) {
    const edited = applyOperation(document, operation, evaluate);
    if ('problem' in edited) {
      return isFhirPath(operation)
        ? invalid(edited.problem, `Parameters.parameter[${index}]`)
        : invalid(`Operation ${index}: ${edited.problem}`);
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
