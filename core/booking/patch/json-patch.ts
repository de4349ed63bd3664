import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isObject } from '../../fhir/resource.ts';
import { type Edited, insertAt, isEqual, type Location, removeAt, replaceAt, valueAt } from './json-edit.ts';

/** One operation of a JSON Patch. */
export interface JsonOperation {
  readonly op: JsonOperationName;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** The members that an operation needs besides `op` and `path`. */
const needs = {
  add: 'value',
  remove: undefined,
  replace: 'value',
  move: 'from',
  copy: 'from',
  test: 'value',
} as const;

/** Name of an operation. */
type JsonOperationName = keyof typeof needs;

const pointerPattern = /^(?:\/(?:[^~/]|~[01])*)*$/;

const invalid = (index: number, diagnostics: string): Issue => ({
  code: 'patch-invalid',
  diagnostics: `Operation ${index}: ${diagnostics}`,
  expression: 'http.body',
});

function isOperationName(value: unknown): value is JsonOperationName {
  return typeof value === 'string' && Object.hasOwn(needs, value);
}

function isPointer(value: unknown): value is string {
  return typeof value === 'string' && pointerPattern.test(value);
}

function readOperation(sent: unknown, index: number): JsonOperation | Issue {
  if (!isObject(sent) || !isOperationName(sent.op)) {
    return invalid(index, `op must be one of ${Object.keys(needs).join(', ')}.`);
  }
  const { op, path, from, value } = sent;
  if (!isPointer(path)) {
    return invalid(index, 'path must be a JSON Pointer such as /status.');
  }
  if (needs[op] === 'value') {
    return value === undefined ? invalid(index, `${op} needs a value.`) : { op, path, value };
  }
  if (needs[op] === 'from') {
    return isPointer(from) ? { op, path, from } : invalid(index, `${op} needs from, a JSON Pointer.`);
  }
  return { op, path };
}

/**
 * Reads a JSON Patch.
 *
 * @param sent - a list of any content
 * @returns the operations, or a `patch-invalid` for each entry that is not one
 * @see https://www.rfc-editor.org/rfc/rfc6902#section-4
 */
export function readJsonPatch(sent: readonly unknown[]): readonly JsonOperation[] | { readonly issues: Issue[] } {
  const read = sent.map(readOperation);
  const issues = read.filter((one): one is Issue => 'code' in one);
  return issues.length > 0 ? { issues } : read.filter((one): one is JsonOperation => 'op' in one);
}

/** The location that a JSON Pointer leads to in a document: where it comes to a list, its token is a position. */
function locate(document: unknown, pointer: string): Location | undefined {
  const location: (string | number)[] = [];
  for (const token of pointer.split('/').slice(1)) {
    const name = token.replaceAll('~1', '/').replaceAll('~0', '~');
    const container = valueAt(document, location);
    if (!Array.isArray(container)) {
      location.push(name);
    } else if (name === '-' || /^(?:0|[1-9]\d{0,8})$/.test(name)) {
      location.push(name === '-' ? container.length : Number(name));
    } else {
      return undefined;
    }
  }
  return location;
}

const noPosition: Edited = { problem: 'An entry of a list needs its position, such as /participant/0.' };

/** Removes a value and then inserts it elsewhere: positions in the target are counted without it. */
function move(document: unknown, source: Location, from: string, path: string): Edited {
  const value = valueAt(document, source);
  const removed = removeAt(document, source);
  if ('problem' in removed || path.startsWith(`${from}/`)) {
    return 'problem' in removed ? removed : { problem: 'An element cannot be moved into itself.' };
  }
  const target = locate(removed.document, path);
  return target ? insertAt(removed.document, target, value) : noPosition;
}

/**
 * Applies one operation of a JSON Patch.
 *
 * @param document - left unchanged
 * @see https://www.rfc-editor.org/rfc/rfc6902#section-4
 */
export function applyJsonOperation(document: unknown, { op, path, from = '', value }: JsonOperation): Edited {
  const target = locate(document, path);
  const source = locate(document, from);
  if (!target || !source) {
    return noPosition;
  }
  const found = valueAt(document, source);
  const apply: Readonly<Record<JsonOperationName, () => Edited>> = {
    add: () => insertAt(document, target, value),
    remove: () => removeAt(document, target),
    replace: () => replaceAt(document, target, value),
    move: () => move(document, source, from, path),
    copy: () => (found === undefined ? { problem: `There is nothing at ${from}.` } : insertAt(document, target, found)),
    test: () =>
      isEqual(valueAt(document, target), value) ? { document } : { problem: `The value at ${path} is different.` },
  };
  return apply[op]();
}
