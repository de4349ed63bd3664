import type { Issue } from './outcome/outcome.ts';
import { isObject } from './resource.ts';

/** How deeply a request may be nested. */
export const DEEPEST = 64;

/**
 * Whether a JSON value is nested deeper than a number of levels. It is walked without recursion, each value once, and
 * no further than the limit.
 */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    const containers = level.filter((one) => typeof one === 'object' && one !== null);
    if (containers.length > 0 && depth >= levels) {
      return true;
    }
    level = containers.flatMap((one) => Object.values(one ?? {}));
  }
  return false;
}

/**
 * How many values (objects, lists, and what they hold) a request may have. Medplum checks all of them in one go: this
 * many take it a tenth of a second or two, during which it serves no one else.
 */
export const MAX_VALUES = 5_000;

/** How large a JSON value is. */
interface Size {
  /** Objects, lists, and what they hold, itself included. */
  readonly values: number;
  /** Characters of all texts and names of elements. Files do not count, except in an appointment. */
  readonly text: number;
  /** Characters of the texts in lists, such as `name.given`. */
  readonly listed: number;
}

/**
 * How large a request may be, apart from its files. Medplum copies the input of a Bot character by character, several
 * times for an appointment, and examines each character of texts in lists: with a million of them it serves no one else
 * for a second or more.
 */
export const mostSize: Size = { values: MAX_VALUES, text: 131_072, listed: 32_768 };

const unlimited: Size = {
  values: Number.POSITIVE_INFINITY,
  text: Number.POSITIVE_INFINITY,
  listed: Number.POSITIVE_INFINITY,
};

/** The elements that hold files. */
const files: ReadonlySet<string> = new Set(['data', 'valueBase64Binary']);

const isOver = (size: Size, most: Size): boolean =>
  size.values > most.values || size.text > most.text || size.listed > most.listed;

/** A value that is still to be counted. */
interface Uncounted {
  readonly value: unknown;
  /** The name of its element; absent in a list. */
  readonly name?: string | undefined;
  readonly isInAppointment: boolean;
}

/** The size of a JSON value, counted no further than one beyond a limit. */
function sizeOf(value: unknown, most: Size = unlimited): Size {
  const waiting: Uncounted[] = [{ value, name: '', isInAppointment: false }];
  const size = { values: 0, text: 0, listed: 0 };
  while (waiting.length > 0 && !isOver(size, most)) {
    const { value: next, name, isInAppointment } = waiting.pop() ?? { value: undefined, isInAppointment: false };
    size.values++;
    if (typeof next === 'string') {
      const isFile = name !== undefined && files.has(name) && !isInAppointment;
      size.text += isFile ? 0 : next.length;
      size.listed += name === undefined ? next.length : 0;
    } else if (Array.isArray(next)) {
      for (const one of next) {
        waiting.push({ value: one, isInAppointment });
      }
    } else if (isObject(next)) {
      const isInside = isInAppointment || next.resourceType === 'Appointment';
      for (const [key, one] of Object.entries(next)) {
        size.text += key.length;
        waiting.push({ value: one, name: key, isInAppointment: isInside });
      }
    }
  }
  return size;
}

/**
 * The size that a stored value may grow to: the limit for a request, or so many values and characters more than it has
 * already, whichever is larger.
 */
export function sizeBeyond(stored: unknown, more: Size): Size {
  const { values, text, listed } = sizeOf(stored);
  return {
    values: Math.max(mostSize.values, values + more.values),
    text: Math.max(mostSize.text, text + more.text),
    listed: Math.max(mostSize.listed, listed + more.listed),
  };
}

/** Why a value is too large to be checked any further, as the rest of a sentence; `undefined` if it is not. */
export function sizeProblem(value: unknown, most: Size = mostSize): string | undefined {
  if (isDeeperThan(value, DEEPEST)) {
    return `be nested deeper than ${DEEPEST} levels`;
  }
  const { values, text, listed } = sizeOf(value, most);
  if (values > most.values) {
    return `have more than ${most.values} values`;
  }
  if (listed > most.listed) {
    return `have more than ${most.listed} characters in lists of texts, such as name.given`;
  }
  return text > most.text
    ? `have more than ${most.text} characters of text; send files as attachments of the answers, in the element data`
    : undefined;
}

/** How many entries each list of a resource may have. */
export type Bounds = Readonly<Record<string, number>>;

/** @returns a `malformed-request` for each list of a resource that has more entries than it may */
export function boundIssues(resource: unknown, bounds: Bounds, path: string): Issue[] {
  return Object.entries(bounds).flatMap(([name, most]): Issue[] => {
    const list = isObject(resource) ? resource[name] : undefined;
    const diagnostics = `${path}.${name} can have at most ${most} entries`;
    return Array.isArray(list) && list.length > most
      ? [
          {
            code: 'malformed-request',
            diagnostics: `${diagnostics}; it has ${list.length}.`,
            expression: `${path}.${name}`,
          },
        ]
      : [];
  });
}

/** The most entries of each list of a person. */
export const personBounds: Bounds = Object.fromEntries(
  [
    'identifier',
    'contained',
    'extension',
    'name',
    'telecom',
    'address',
    'photo',
    'contact',
    'communication',
    'generalPractitioner',
    'link',
  ].map((name) => [name, 50]),
);

/**
 * The most characters that identifiers may take in the address of a search for all of them: Medplum accepts 70,000 in
 * all.
 */
const MAX_IDENTIFIERS_LENGTH = 50_000;

/** How long a text is in an address, including the characters that escape it in a search value. */
function lengthInSearch(text: unknown): number {
  const escaped = typeof text === 'string' ? text.replace(/[\\,$|]/g, '\\$&') : '';
  return new URLSearchParams({ '': escaped }).toString().length;
}

/**
 * @param id - in the address that a resource was sent to
 * @returns a `malformed-request` if the resource has another one
 */
export function idIssues(resource: unknown, id: string, path: string): Issue[] {
  const diagnostics = `The id in the body must match the id in the URL, '${id}'.`;
  return isObject(resource) && resource.id === id
    ? []
    : [{ code: 'malformed-request', diagnostics, expression: `${path}.id` }];
}

/** @returns a `malformed-request` if the identifiers of a resource are too long to be searched for */
export function identifierIssues(resource: unknown, path: string): Issue[] {
  const identifiers = isObject(resource) && Array.isArray(resource.identifier) ? resource.identifier : [];
  const length = identifiers
    .flatMap((identifier: unknown) => (isObject(identifier) ? [identifier.system, identifier.value] : []))
    .reduce<number>((sum, text) => sum + lengthInSearch(text), 0);
  const expression = `${path}.identifier`;
  const diagnostics = `${expression} is too long to be searched for: its systems and values can have at most ${MAX_IDENTIFIERS_LENGTH} characters in an address.`;
  return length > MAX_IDENTIFIERS_LENGTH ? [{ code: 'malformed-request', diagnostics, expression }] : [];
}
