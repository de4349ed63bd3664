import type { Issue } from '../../fhir/outcome/outcome.ts';
import { isObject } from '../../fhir/resource.ts';
import { elementsOf } from '../../fhir/types/structure.ts';
import { type Edit, type EditProblem, type Location, valueAt } from './edit.ts';

/**
 * The FHIRPath that a patch may use: steps by name, indexes, and functions that select elements. Three kinds of
 * functions are excluded, so that the length of a path bounds its cost: those that leave the resource (`resolve`),
 * traverse it repeatedly (`descendants`, `repeat`, `select`) or match patterns.
 * @see https://hl7.org/fhir/R4/fhirpatch.html; https://hl7.org/fhir/R4/fhirpath.html#simple
 */
const functions: ReadonlySet<string> = new Set([
  'where',
  'exists',
  'empty',
  'not',
  'first',
  'last',
  'tail',
  'skip',
  'take',
  'single',
  'extension',
  'ofType',
  'startsWith',
  'endsWith',
  'count',
]);

/** The maximum length of a path, in characters. */
const MAX_PATH_LENGTH = 500;

/** The maximum depth of nested parentheses. */
const MAX_DEPTH = 4;

const tokenPattern =
  /\s+|(?<text>'(?:[^'\\]|\\.)*')|(?<name>[A-Za-z_][A-Za-z0-9_]*|`[A-Za-z_][A-Za-z0-9_]*`|\$this)|(?<position>\[\d{1,9}\])|(?<number>\d{1,9}(?:\.\d{1,9})?)|(?<open>\()|(?<close>\))|(?<operator>\.|!=|=|~|,)/y;

/** Names that give access to the internals of JavaScript. */
const forbidden: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

const operators: ReadonlySet<string> = new Set(['and', 'or']);

function nameProblem(name: string, isCalled: boolean): string | undefined {
  if (isCalled && !functions.has(name) && !operators.has(name)) {
    return `The function ${name.slice(0, 40)}() is not supported. Supported: ${[...functions].join(', ')}.`;
  }
  return forbidden.has(name) ? `${name} is not an element.` : undefined;
}

/**
 * Checks a path before the FHIRPath engine reads it.
 * @param path - of any content
 * @returns the problem, as a sentence; `undefined` if it may be evaluated
 */
export function pathProblem(path: string): string | undefined {
  if (path.length === 0 || path.length > MAX_PATH_LENGTH) {
    return `A path has 1 to ${MAX_PATH_LENGTH} characters; this one has ${path.length}.`;
  }
  let depth = 0;
  /** Whether the last token ends an expression, which the parser takes for the whole path; and whether it is a name. */
  let [isEnd, isName] = [false, false];
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < path.length) {
    const start = tokenPattern.lastIndex;
    const groups = tokenPattern.exec(path)?.groups;
    const { name, text, number, open, operator } = groups ?? {};
    const joins = operator !== undefined || (isEnd && name !== undefined && operators.has(name));
    const begins = (name ?? text ?? number ?? (isName ? undefined : open)) !== undefined && !joins;
    if (!groups || (isEnd && begins)) {
      return `The path is invalid from character ${start} on; use steps such as Appointment.participant[0].status.`;
    }
    if (Object.values(groups).some((token) => token !== undefined)) {
      [isEnd, isName] = [!joins && open === undefined, name !== undefined && !joins];
    }
    depth += open ? 1 : groups.close ? -1 : 0;
    const problem = name && nameProblem(name, /^\s*\(/.test(path.slice(tokenPattern.lastIndex)));
    if (problem) {
      return problem;
    }
    if (depth < 0 || depth > MAX_DEPTH) {
      return `Parentheses in a path must match and be nested at most ${MAX_DEPTH} levels deep.`;
    }
  }
  return depth === 0 ? undefined : 'Parentheses in a path must match.';
}

/** A value in a Parameters resource, with the type that its property is named after (`Code` in `valueCode`). */
interface PatchValue {
  readonly value: unknown;
  readonly type: string;
}

/** An operation of a FHIRPath Patch. Absent parts are missing or malformed. */
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

type FhirPathOperationName = keyof typeof needs;

const elementName = /^_?[A-Za-z][A-Za-z0-9]{0,63}$/;

const partsOf = (parameter: unknown): readonly unknown[] =>
  isObject(parameter) && Array.isArray(parameter.part) ? parameter.part : [];

/** The `value[x]` of a part, else the element that its own parts form; `undefined` if it has neither. */
function patchValueIn(part: unknown): PatchValue | undefined {
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
    const value = patchValueIn(part)?.value;
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

/**
 * Reads an operation of a FHIRPath Patch.
 * @param parameter - an entry of `Parameters.parameter`, of any content
 * @param at - its index there
 * @returns the operation, or a `patch-invalid`
 * @see specification 2.5; https://hl7.org/fhir/R4/fhirpatch.html
 */
export function readFhirPathOperation(parameter: unknown, at: number): FhirPathOperation | Issue {
  const expression = `Parameters.parameter[${at}]`;
  const invalid = (diagnostics: string): Issue => ({ code: 'patch-invalid', diagnostics, expression });
  const parts = partsOf(parameter);
  const part = (name: string) => parts.filter((one) => isObject(one) && one.name === name);
  const value = (name: string): unknown => patchValueIn(part(name)[0])?.value;
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
    value: patchValueIn(part('value')[0]),
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
 * The maximum cost of one FHIRPath Patch: visited elements, counted once for every step of a path. A hundred simple
 * operations on an appointment with two hundred elements in lists stay below it.
 */
export const MAX_COST = 100_000;

/** The number of entries in all lists of a JSON value: an upper bound of the elements that a path visits. */
function entriesIn(value: unknown): number {
  const inner: readonly unknown[] = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return inner.reduce<number>((sum, one) => sum + entriesIn(one), Array.isArray(value) ? inner.length : 0);
}

/**
 * The maximum cost of a patch's paths, before any of them is evaluated.
 * @param document - as it is before the first operation, at most as deep as `DEEPEST`; the values of the operations
 *   count, too
 */
export function costOf(document: unknown, operations: readonly FhirPathOperation[]): number {
  const entries = 1 + entriesIn(document) + entriesIn(operations.map(({ value }) => value?.value));
  const steps = operations.flatMap(({ path }) => path.match(/[A-Za-z_][A-Za-z0-9_]*/g) ?? []);
  return steps.length * entries;
}

/**
 * Evaluates a FHIRPath.
 * @returns the paths of the elements found, such as `Appointment.participant[0].actor`
 * @throws when the path cannot be evaluated
 */
export type Evaluate = (path: string, resource: unknown) => readonly string[];

/**
 * Moves the extensions of a primitive element below the element, where FHIRPath expects them; in JSON they are beside
 * it. An element with a value is replaced only if the path asks for its id or extensions.
 */
function asSeenByFhirPath(document: unknown, path: string): unknown {
  const isAskedFor = (name: string) =>
    valueAt(document, [name]) === undefined || ['extension', 'id'].some((one) => path.includes(`.${name}.${one}`));
  const aside = Object.entries(isObject(document) ? document : {}).flatMap(([name, value]) =>
    name.startsWith('_') && isAskedFor(name.slice(1)) ? [[name.slice(1), value] as const] : [],
  );
  return isObject(document) && aside.length > 0 ? { ...document, ...Object.fromEntries(aside) } : document;
}

const isValue = (value: unknown): boolean => value !== undefined && typeof value !== 'object';

/** The location of the id and the extensions of a primitive element. */
const besideOf = (at: Location): Location => [...at.slice(0, -1), `_${at.at(-1)}`];

/** The location of a found element. `value[x]` and extensions of primitive elements have other names in JSON. */
function locate(document: unknown, elementPath: string): Location {
  const location: string[] = [];
  for (const [, name, position] of elementPath.matchAll(/\.([^.[\]]+)|\[(\d+)\]/g)) {
    if (isValue(valueAt(document, location))) {
      location.push(`_${location.pop()}`);
    }
    const container = valueAt(document, location);
    const isThere = name === undefined || (isObject(container) && Object.hasOwn(container, name));
    const others = isObject(container) && !isThere ? Object.keys(container) : [];
    const choice = others.find((key) => key === `_${name}` || (name === 'value' && /^value[A-Z]/.test(key)));
    location.push(position ?? choice ?? name ?? '');
  }
  return location;
}

/**
 * All locations that a path leads to. Medplum gives no path for the results of `extension(url)`, so it is replaced by
 * the equivalent `where`.
 */
function locations(document: unknown, path: string, evaluate: Evaluate): readonly Location[] {
  const plain = path.replace(/\bextension\s*\(\s*('(?:[^'\\]|\\.)*')\s*\)/g, 'extension.where(url = $1)');
  return evaluate(plain, asSeenByFhirPath(document, path)).map((one) => locate(document, one));
}

/** The only element that a path leads to. */
function single(document: unknown, path: string, evaluate: Evaluate): Location | EditProblem {
  const found = locations(document, path, evaluate);
  const [first] = found;
  return first !== undefined && found.length === 1
    ? first
    : { problem: `The path ${path} leads to ${found.length} elements; it must lead to exactly one.` };
}

/** The whole list that a path leads to. */
function collection(document: unknown, path: string, evaluate: Evaluate): Location | EditProblem {
  const found = locations(document, path, evaluate);
  const list = found[0]?.slice(0, -1) ?? [];
  const entries = valueAt(document, list);
  const isWhole =
    Array.isArray(entries) &&
    entries.length === found.length &&
    !/\[\d+\]$/.test(path) &&
    found.every((one, index) => one.join() === [...list, index].join());
  return isWhole ? list : { problem: `The path ${path} must lead to an existing list as a whole.` };
}

/** Whether an element repeats, according to the type of its parent: adding to it appends to a list. */
function repeats(document: unknown, owner: Location, name: string): boolean {
  let type: string | undefined = 'Appointment';
  for (const [index, step] of owner.entries()) {
    const inner = valueAt(document, owner.slice(0, index + 1));
    const isEntry = /^\d+$/.test(step);
    type = isEntry || type === undefined ? type : step.startsWith('_') ? 'Element' : elementsOf(type)?.get(step)?.type;
    type = isEntry && type === 'Resource' && isObject(inner) ? String(inner.resourceType) : type;
  }
  return (type !== undefined && elementsOf(type)?.get(name)?.repeats) === true;
}

const named = (location: Location, value: PatchValue | undefined): Location => [
  ...location.slice(0, -1),
  `value${value?.type}`,
];

type Compiled = readonly Edit[] | EditProblem;

/** The edits of each operation, for the element or the list at its path. */
const compilers: Readonly<
  Record<FhirPathOperationName, (document: unknown, at: Location, operation: FhirPathOperation) => Compiled>
> = {
  add(document, element, { path, name = '', value: given }) {
    const value = given?.value;
    const at = isValue(valueAt(document, element)) ? besideOf(element) : element;
    if (at !== element && valueAt(document, at) === undefined) {
      return [{ op: 'add', path: at, value: { [name]: name === 'extension' ? [value] : value } }];
    }
    const isTyped = name === 'value' && at.includes('extension');
    const target = isTyped ? named([...at, name], given) : [...at, name];
    const present = valueAt(document, target);
    if (Array.isArray(present)) {
      return [{ op: 'add', path: [...target, '-'], value }];
    }
    return present === undefined
      ? [{ op: 'add', path: target, value: repeats(document, at, name) ? [value] : value }]
      : { problem: `${path}.${name} already exists; use replace.` };
  },
  insert: (_, at, { index, value }) => [{ op: 'add', path: [...at, String(index)], value: value?.value }],
  /**
   * FHIR has no empty lists: with the last entry its list is removed. With a primitive element its id and extensions
   * are removed.
   */
  delete(document, at) {
    const siblings = valueAt(document, at.slice(0, -1));
    const isLast = Array.isArray(siblings) && siblings.length === 1;
    const removed = isLast ? at.slice(0, -1) : at;
    const beside = Array.isArray(siblings) && !isLast ? undefined : besideOf(removed);
    return [removed, ...(beside && valueAt(document, beside) !== undefined ? [beside] : [])].map((path) => ({
      op: 'remove',
      path,
    }));
  },
  replace(_, at, { value: given }) {
    const value = given?.value;
    return /^value[A-Z]/.test(at.at(-1) ?? '')
      ? [
          { op: 'remove', path: at },
          { op: 'add', path: named(at, given), value },
        ]
      : [{ op: 'replace', path: at, value }];
  },
  move: (_, at, { source, destination }) => [
    { op: 'move', from: [...at, String(source)], path: [...at, String(destination)] },
  ],
};

/**
 * Compiles one operation of a FHIRPath Patch to edits. Unlike in FHIR's own table, a `delete` of a missing element is
 * refused, so that a portal notices a misspelled path.
 * @param document - the result of the operations before
 * @param evaluate - the FHIRPath engine
 * @see https://hl7.org/fhir/R4/fhirpatch.html
 */
export function compile(document: unknown, operation: FhirPathOperation, evaluate: Evaluate): Compiled {
  const { type, path } = operation;
  try {
    const find = type === 'insert' || type === 'move' ? collection : single;
    const found = find(document, path, evaluate);
    return 'problem' in found ? found : compilers[type](document, found, operation);
  } catch {
    return { problem: `The path ${path} cannot be evaluated.` };
  }
}
