import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isObject } from '../../fhir/resource.ts';
import type { Edit, Location } from './edit.ts';

/** The members that an operation needs besides `op` and `path`. */
const needs: Readonly<Record<Edit['op'], 'value' | 'from' | undefined>> = {
  add: 'value',
  remove: undefined,
  replace: 'value',
  move: 'from',
  copy: 'from',
  test: 'value',
};

const invalid = (index: number, diagnostics: string): Issue => ({
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
    return invalid(index, `op must be one of ${Object.keys(needs).join(', ')}.`);
  }
  const { op, value } = sent;
  const [path, from] = [readPointer(sent.path), readPointer(sent.from)];
  if (!path) {
    return invalid(index, 'path must be a JSON Pointer such as /status.');
  }
  if (needs[op] === 'value') {
    return value === undefined ? invalid(index, `${op} needs a value.`) : { op, path, value };
  }
  if (needs[op] === 'from') {
    return from ? { op, path, from } : invalid(index, `${op} needs from, a JSON Pointer.`);
  }
  return { op, path };
}
