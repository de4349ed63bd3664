import { isObject, isSameJson } from '../../fhir/resource.ts';

/** The location of a value in a JSON document: names of elements, and indexes in lists; `-` is the end of a list. */
export type Location = readonly string[];

/**
 * One edit of a JSON document: an operation of a JSON Patch. A FHIRPath Patch is compiled to edits.
 * @see https://www.rfc-editor.org/rfc/rfc6902#section-4
 */
export interface Edit {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: Location;
  readonly from?: Location;
  readonly value?: unknown;
}

/** The reason why an edit cannot be made, as a sentence. */
export type EditProblem = { readonly problem: string };

/** The edited document, or the reason why it was not edited. */
export type Edited = { readonly document: unknown } | EditProblem;

/** Names that give access to the internals of JavaScript. */
const forbidden: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

const absent = (location: Location): EditProblem => ({ problem: `There is nothing at ${location.join('.')}.` });

function positionIn(list: readonly unknown[], step: string): number | undefined {
  return step === '-' ? list.length : /^(?:0|[1-9]\d{0,8})$/.test(step) ? Number(step) : undefined;
}

function entryOf(container: unknown, step: string): unknown {
  if (Array.isArray(container)) {
    return container[positionIn(container, step) ?? -1];
  }
  return isObject(container) && Object.hasOwn(container, step) ? container[step] : undefined;
}

/** The value at a location, or `undefined`. */
export const valueAt = (document: unknown, location: Location): unknown => location.reduce(entryOf, document);

/** The change of the list or the object that contains a location. */
interface Change {
  readonly list: (list: readonly unknown[], position: number) => Edited;
  readonly object: (object: Readonly<Record<string, unknown>>, name: string) => unknown;
}

/** Changes the container of a location. All containers on the path are copied; the document itself stays unchanged. */
function changeContainer(document: unknown, location: Location, { list, object }: Change): Edited {
  const [holder, step] = [location.slice(0, -1), location.at(-1)];
  const forbiddenName = location.find((name) => forbidden.has(name));
  if (step === undefined || forbiddenName !== undefined) {
    return {
      problem: forbiddenName ? `${forbiddenName} is not an element.` : 'The resource as a whole cannot be changed.',
    };
  }
  const container = valueAt(document, holder);
  if (!Array.isArray(container) && !isObject(container)) {
    return absent(location);
  }
  const position = Array.isArray(container) ? positionIn(container, step) : 0;
  if (position === undefined) {
    return { problem: 'An entry of a list needs its position, such as /participant/0.' };
  }
  const edited = Array.isArray(container) ? list(container, position) : { document: object(container, step) };
  return 'problem' in edited || holder.length === 0
    ? edited
    : changeContainer(document, holder, setting(edited.document));
}

const setting = (value: unknown): Change => ({
  list: (list, position) => ({ document: list.with(position, value) }),
  object: (object, name) => ({ ...object, [name]: value }),
});

const adding = (value: unknown): Change => ({
  ...setting(value),
  list: (list, position) =>
    position <= list.length
      ? { document: list.toSpliced(position, 0, value) }
      : { problem: `The list has ${list.length} entries; nothing can be inserted at ${position}.` },
});

const removing: Change = {
  list: (list, position) => ({ document: list.toSpliced(position, 1) }),
  object: (object, name) => Object.fromEntries(Object.entries(object).filter(([one]) => one !== name)),
};

const isBelow = (inner: Location, outer: Location): boolean =>
  inner.length > outer.length && outer.every((step, index) => step === inner[index]);

/** Removes a value and then inserts it elsewhere. Indexes in the target are counted without it. */
function move(document: unknown, from: Location, path: Location): Edited {
  const removed = changeContainer(document, from, removing);
  if ('problem' in removed || isBelow(path, from)) {
    return 'problem' in removed ? removed : { problem: 'An element cannot be moved into itself.' };
  }
  return changeContainer(removed.document, path, adding(valueAt(document, from)));
}

/** Makes one edit in a copy. A missing value to remove, replace, move or copy is a problem. */
export function applyEdit(document: unknown, { op, path, from = [], value }: Edit): Edited {
  const needed = { add: [], test: [], remove: path, replace: path, move: from, copy: from }[op];
  if (valueAt(document, needed) === undefined) {
    return absent(needed);
  }
  switch (op) {
    case 'add':
      return changeContainer(document, path, adding(value));
    case 'copy':
      return changeContainer(document, path, adding(valueAt(document, from)));
    case 'remove':
      return changeContainer(document, path, removing);
    case 'replace':
      return changeContainer(document, path, setting(value));
    case 'move':
      return move(document, from, path);
    case 'test':
      return isSameJson(valueAt(document, path), value)
        ? { document }
        : { problem: `The value at /${path.join('/')} is different.` };
  }
}
