import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isObject } from '../../fhir/resource.ts';
import { pathProblem } from './fhirpath-subset.ts';

/** A value in a Parameters resource, with the type that its property is named after (`Code` in `valueCode`). */
interface PatchValue {
  readonly value: unknown;
  readonly type: string;
}

/** One operation of a FHIRPath Patch. */
export interface FhirPathOperation {
  readonly type: FhirPathOperationName;
  readonly path: string;
  readonly name?: string | undefined;
  readonly value?: PatchValue | undefined;
  readonly index?: number | undefined;
  readonly source?: number | undefined;
  readonly destination?: number | undefined;
}

/** The parts of each operation besides `type` and `path` (https://hl7.org/fhir/R4/fhirpatch.html). */
const needs = {
  add: ['name', 'value'],
  insert: ['index', 'value'],
  delete: [],
  replace: ['value'],
  move: ['source', 'destination'],
} as const;

/** Name of an operation. */
export type FhirPathOperationName = keyof typeof needs;

const elementName = /^_?[A-Za-z][A-Za-z0-9]{0,63}$/;

const partsOf = (parameter: unknown): readonly unknown[] =>
  isObject(parameter) && Array.isArray(parameter.part) ? parameter.part : [];

function valueIn(part: unknown): PatchValue | undefined {
  if (!isObject(part)) {
    return undefined;
  }
  const [property] = Object.keys(part).filter((name) => /^value[A-Z]/.test(name));
  if (property !== undefined) {
    return { value: part[property], type: property.slice('value'.length) };
  }
  return Array.isArray(part.part) ? { value: elementOf(part.part), type: 'BackboneElement' } : undefined;
}

/** An element without a data type of its own is given as one part for each child; repeated names form a list. */
function elementOf(parts: readonly unknown[]): Record<string, unknown> {
  const values = new Map<string, unknown[]>();
  for (const part of parts) {
    const name = isObject(part) && typeof part.name === 'string' ? part.name : '';
    const value = valueIn(part)?.value;
    if (elementName.test(name) && name !== 'constructor' && name !== 'prototype' && value !== undefined) {
      const present = values.get(name);
      present ? present.push(value) : values.set(name, [value]);
    }
  }
  return Object.fromEntries([...values].map(([name, all]) => [name, all.length === 1 ? all[0] : all]));
}

function positionIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

function nameIn(value: unknown): string | undefined {
  return typeof value === 'string' && elementName.test(value) ? value : undefined;
}

function readOperation(parameter: unknown, at: number): FhirPathOperation | Issue {
  const expression = `Parameters.parameter[${at}]`;
  const invalid = (diagnostics: string): Issue => ({ code: 'patch-invalid', diagnostics, expression });
  const parts = partsOf(parameter);
  const part = (name: string) => parts.filter((one) => isObject(one) && one.name === name);
  const value = (name: string): unknown => valueIn(part(name)[0])?.value;
  const [type, path] = [value('type'), value('path')];
  if (!isObject(parameter) || parameter.name !== 'operation') {
    return invalid('Every parameter of a patch must be named operation.');
  }
  if (typeof type !== 'string' || !isOperationName(type)) {
    return invalid(`type must be a valueCode, one of ${Object.keys(needs).join(', ')}.`);
  }
  const problem = typeof path === 'string' ? pathProblem(path) : 'path must be a valueString.';
  if (typeof path !== 'string' || problem) {
    return invalid(problem ?? '');
  }
  const operation: FhirPathOperation = {
    type,
    path,
    name: nameIn(value('name')),
    value: valueIn(part('value')[0]),
    index: positionIn(value('index')),
    source: positionIn(value('source')),
    destination: positionIn(value('destination')),
  };
  const missing = needs[type].filter((name) => operation[name] === undefined || part(name).length !== 1);
  return missing.length > 0 ? invalid(`${type} needs one ${missing.join(' and one ')}, of the right type.`) : operation;
}

function isOperationName(value: string): value is FhirPathOperationName {
  return Object.hasOwn(needs, value);
}

/**
 * Reads a FHIRPath Patch.
 *
 * @param parameters - the entries of `Parameters.parameter`, of any content
 * @returns the operations, or a `patch-invalid` for each entry that is not one
 * @see specification 2.5; https://hl7.org/fhir/R4/fhirpatch.html
 */
export function readFhirPathPatch(
  parameters: readonly unknown[],
): readonly FhirPathOperation[] | { readonly issues: Issue[] } {
  const read = parameters.map(readOperation);
  const issues = read.filter((one): one is Issue => 'code' in one);
  return issues.length > 0 ? { issues } : read.filter((one): one is FhirPathOperation => 'path' in one);
}
