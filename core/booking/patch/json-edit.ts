import { isObject } from '../../fhir/resource.ts';

/** The location of a value in a JSON document: the names of properties and the positions in lists that lead to it. */
export type Location = readonly (string | number)[];

/** Why an edit cannot be made, as a sentence. */
export type EditProblem = { readonly problem: string };

/** A document that was edited, or why it was not. */
export type Edited = { readonly document: unknown } | EditProblem;

/** Names that lead out of a document into the internals of JavaScript. */
const forbidden: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

const absent = (location: Location): EditProblem => ({ problem: `There is nothing at ${location.join('.')}.` });

/** The value at a location, or `undefined`. */
export function valueAt(document: unknown, location: Location): unknown {
  let value = document;
  for (const step of location) {
    const next: unknown =
      Array.isArray(value) && typeof step === 'number'
        ? value[step]
        : isObject(value) && typeof step === 'string' && Object.hasOwn(value, step)
          ? value[step]
          : undefined;
    value = next;
  }
  return value;
}

/** Changes one entry of a list or an object. */
type Change = (container: unknown, step: string | number) => Edited;

/** Changes the entry at a location. The path to it is copied; the original document stays unchanged. */
function change(document: unknown, location: Location, apply: Change, whole: Location = location): Edited {
  const [step, ...rest] = location;
  if (step === undefined) {
    return { problem: 'The resource as a whole cannot be changed.' };
  }
  if (typeof step === 'string' && forbidden.has(step)) {
    return { problem: `${step} is not an element.` };
  }
  if (rest.length === 0) {
    return apply(document, step);
  }
  const inner = valueAt(document, [step]);
  if (inner === undefined) {
    return absent(whole);
  }
  const edited = change(inner, rest, apply, whole);
  return 'problem' in edited ? edited : { document: replaced(document, step, edited.document) };
}

function replaced(container: unknown, step: string | number, value: unknown): unknown {
  if (Array.isArray(container) && typeof step === 'number') {
    return container.with(step, value);
  }
  return isObject(container) ? { ...container, [step]: value } : container;
}

/** Adds a new element, or inserts into a list before a position (which may be the end of the list). */
export function insertAt(document: unknown, location: Location, value: unknown): Edited {
  return change(document, location, (container, step) => {
    if (Array.isArray(container) && typeof step === 'number') {
      return step <= container.length
        ? { document: container.toSpliced(step, 0, value) }
        : { problem: `The list has ${container.length} entries; nothing can be inserted at ${step}.` };
    }
    return isObject(container) && typeof step === 'string'
      ? { document: { ...container, [step]: value } }
      : absent(location);
  });
}

/** Replaces an existing value. */
export function replaceAt(document: unknown, location: Location, value: unknown): Edited {
  return valueAt(document, location) === undefined
    ? absent(location)
    : change(document, location, (container, step) => ({ document: replaced(container, step, value) }));
}

/** Removes an existing value. With `dropEmpty` it also removes a list that becomes empty, since FHIR has no empty lists. */
export function removeAt(document: unknown, location: Location, dropEmpty = false): Edited {
  if (valueAt(document, location) === undefined) {
    return absent(location);
  }
  const parent = location.slice(0, -1);
  const siblings = valueAt(document, parent);
  if (dropEmpty && Array.isArray(siblings) && siblings.length === 1) {
    return removeAt(document, parent);
  }
  return change(document, location, (container, step) => {
    if (Array.isArray(container) && typeof step === 'number') {
      return { document: container.toSpliced(step, 1) };
    }
    const { [step]: _, ...rest } = isObject(container) ? container : {};
    return { document: rest };
  });
}

/** Whether two JSON values are equal; the order of an object's properties does not count. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, index) => isEqual(value, other[index]));
  }
  if (isObject(one) && isObject(other)) {
    const names = Object.keys(one);
    return (
      names.length === Object.keys(other).length &&
      names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
    );
  }
  return one === other;
}
