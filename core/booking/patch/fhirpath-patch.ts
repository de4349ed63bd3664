import { isObject } from '../../fhir/resource.ts';
import type { FhirPathOperation, FhirPathOperationName } from './fhirpath-operations.ts';
import { type Edited, type EditProblem, insertAt, type Location, removeAt, replaceAt, valueAt } from './json-edit.ts';

/**
 * Evaluates a FHIRPath.
 *
 * @returns the paths of the elements found, such as `Appointment.participant[0].actor`
 * @throws when the path cannot be evaluated
 */
export type Evaluate = (path: string, resource: unknown) => readonly string[];

/** The elements of an Appointment that repeat, by the element they belong to: adding to them appends to a list. */
export const repeating: Readonly<Record<string, readonly string[]>> = {
  Appointment: [
    'contained',
    'extension',
    'modifierExtension',
    'identifier',
    'serviceCategory',
    'serviceType',
    'specialty',
    'reasonCode',
    'reasonReference',
    'supportingInformation',
    'slot',
    'basedOn',
    'participant',
    'requestedPeriod',
  ],
  participant: ['extension', 'modifierExtension', 'type'],
  meta: ['extension', 'profile', 'security', 'tag'],
};

const everywhere: readonly string[] = ['coding', 'extension'];

/** FHIRPath sees the extensions of a primitive element below the element; in JSON they are beside it. */
function asSeenByFhirPath(document: unknown): unknown {
  const aside = Object.entries(isObject(document) ? document : {}).flatMap(([name, value]) =>
    name.startsWith('_') && valueAt(document, [name.slice(1)]) === undefined ? [[name.slice(1), value] as const] : [],
  );
  return isObject(document) && aside.length > 0 ? { ...document, ...Object.fromEntries(aside) } : document;
}

/** The location of an element in the JSON of its resource. */
function locate(document: unknown, elementPath: string): Location {
  const location: (string | number)[] = [];
  for (const [, name, position] of elementPath.matchAll(/\.([^.[\]]+)|\[(\d+)\]/g)) {
    const container = valueAt(document, location);
    const isThere = name === undefined || (isObject(container) && Object.hasOwn(container, name));
    const others = isObject(container) && !isThere ? Object.keys(container) : [];
    const choice = others.find((key) => key === `_${name}` || (name === 'value' && /^value[A-Z]/.test(key)));
    location.push(position === undefined ? (choice ?? name ?? '') : Number(position));
  }
  return location;
}

const isProblem = (found: Location | EditProblem): found is EditProblem => 'problem' in found;

/** The one element that a path leads to. */
function single(document: unknown, path: string, evaluate: Evaluate): Location | EditProblem {
  const found = evaluate(path, asSeenByFhirPath(document));
  const [first] = found;
  return first !== undefined && found.length === 1
    ? locate(document, first)
    : { problem: `The path ${path} leads to ${found.length} elements; it must lead to exactly one.` };
}

/** The whole list that a path leads to. */
function collection(document: unknown, path: string, evaluate: Evaluate): Location | EditProblem {
  const found = evaluate(path, asSeenByFhirPath(document)).map((one) => locate(document, one));
  const list = found[0]?.slice(0, -1) ?? [];
  const entries = valueAt(document, list);
  const isWhole =
    Array.isArray(entries) &&
    entries.length === found.length &&
    !/\[\d+\]$/.test(path) &&
    found.every((one, index) => one.slice(0, -1).join() === list.join() && one.at(-1) === index);
  return isWhole ? list : { problem: `The path ${path} must lead to an existing list as a whole.` };
}

function add(document: unknown, { path, name = '', value }: FhirPathOperation, evaluate: Evaluate): Edited {
  const parent = single(document, path, evaluate);
  if (isProblem(parent)) {
    return parent;
  }
  const typed = name === 'value' && parent.some((step) => step === 'extension') ? `value${value?.type}` : name;
  const target = [...parent, typed];
  const present = valueAt(document, target);
  const owner = parent.findLast((step) => typeof step === 'string') ?? 'Appointment';
  const isList = everywhere.includes(name) || repeating[owner]?.includes(name);
  if (Array.isArray(present)) {
    return insertAt(document, [...target, present.length], value?.value);
  }
  return present === undefined
    ? insertAt(document, target, isList ? [value?.value] : value?.value)
    : { problem: `${path}.${name} already exists; use replace.` };
}

function replace(document: unknown, { path, value }: FhirPathOperation, evaluate: Evaluate): Edited {
  const target = single(document, path, evaluate);
  if (isProblem(target)) {
    return target;
  }
  const last = target.at(-1);
  const typed = typeof last === 'string' && /^value[A-Z]/.test(last) ? `value${value?.type}` : last;
  const removed = typed === last ? { document } : removeAt(document, target);
  if (typed === last || 'problem' in removed) {
    return replaceAt(document, target, value?.value);
  }
  return insertAt(removed.document, [...target.slice(0, -1), String(typed)], value?.value);
}

function move(document: unknown, { path, source = 0, destination = 0 }: FhirPathOperation, evaluate: Evaluate): Edited {
  const list = collection(document, path, evaluate);
  if (isProblem(list)) {
    return list;
  }
  const value = valueAt(document, [...list, source]);
  const removed = removeAt(document, [...list, source]);
  return 'problem' in removed ? removed : insertAt(removed.document, [...list, destination], value);
}

function insert(document: unknown, { path, index = 0, value }: FhirPathOperation, evaluate: Evaluate): Edited {
  const list = collection(document, path, evaluate);
  return isProblem(list) ? list : insertAt(document, [...list, index], value?.value);
}

function remove(document: unknown, { path }: FhirPathOperation, evaluate: Evaluate): Edited {
  const target = single(document, path, evaluate);
  return isProblem(target) ? target : removeAt(document, target, true);
}

const apply: Readonly<
  Record<FhirPathOperationName, (document: unknown, operation: FhirPathOperation, evaluate: Evaluate) => Edited>
> = { add, insert, delete: remove, replace, move };

/**
 * Applies one operation of a FHIRPath Patch. Unlike in FHIR's own table, a `delete` of what does not exist is refused, too,
 * so that a portal that misspells a path learns of it.
 *
 * @param document - left unchanged
 * @param evaluate - the FHIRPath engine
 * @see https://hl7.org/fhir/R4/fhirpatch.html
 */
export function applyFhirPathOperation(document: unknown, operation: FhirPathOperation, evaluate: Evaluate): Edited {
  try {
    return apply[operation.type](document, operation, evaluate);
  } catch {
    return { problem: `The path ${operation.path} cannot be evaluated.` };
  }
}
