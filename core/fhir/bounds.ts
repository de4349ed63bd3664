import type { Issue } from './outcome/outcome.ts';
import { isObject } from './resource.ts';

/** The deepest nesting of a request. */
export const MAX_DEPTH = 64;

/** Whether a JSON value is nested deeper than a number of levels. Stops at the limit, without recursion. */
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

/** The most values in a request. Medplum checks them in 0.1 to 0.2 seconds, in which it serves no one else. */
export const MAX_VALUES = 5_000;

interface Size {
  /** Objects, lists and their content, including the value itself. */
  readonly values: number;
  /** Characters of all texts and element names. Files count in an appointment only. */
  readonly text: number;
  /** Characters of texts in lists, such as `name.given`. */
  readonly listed: number;
}

/**
 * The largest size of a request, apart from its files. Medplum copies the input of a Bot character by character,
 * several times for an appointment, and examines each character of texts in lists. With a million of them it serves no
 * one else for a second or more.
 */
export const mostSize: Size = { values: MAX_VALUES, text: 131_072, listed: 32_768 };

const unlimited: Size = {
  values: Number.POSITIVE_INFINITY,
  text: Number.POSITIVE_INFINITY,
  listed: Number.POSITIVE_INFINITY,
};

const files: ReadonlySet<string> = new Set(['data', 'valueBase64Binary']);

const isOver = (size: Size, most: Size): boolean =>
  size.values > most.values || size.text > most.text || size.listed > most.listed;

interface Uncounted {
  readonly value: unknown;
  /** The name of its element; absent in a list. */
  readonly name?: string | undefined;
  readonly isInAppointment: boolean;
}

/** The size of a JSON value. Counting ends as soon as a limit is exceeded. */
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

/** The size limit after a change: that of a request, or the current size and `more` if that is larger. */
export function sizeBeyond(stored: unknown, more: Size): Size {
  const { values, text, listed } = sizeOf(stored);
  return {
    values: Math.max(mostSize.values, values + more.values),
    text: Math.max(mostSize.text, text + more.text),
    listed: Math.max(mostSize.listed, listed + more.listed),
  };
}

/** The reason why a value is too large to be checked, as the rest of a sentence; `undefined` if it is not. */
export function sizeProblem(value: unknown, most: Size = mostSize): string | undefined {
  if (isDeeperThan(value, MAX_DEPTH)) {
    return `be nested deeper than ${MAX_DEPTH} levels`;
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

/** The largest number of entries of each list of a resource. */
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

/** The largest length of identifiers in the address of a search; Medplum accepts 70,000 characters in all. */
const MAX_IDENTIFIERS_LENGTH = 50_000;

function lengthInSearch(text: unknown): number {
  const escaped = typeof text === 'string' ? text.replace(/[\\,$|]/g, '\\$&') : '';
  return new URLSearchParams({ '': escaped }).toString().length;
}

/** @returns a `malformed-request` if the id of a resource differs from the id in the request's path */
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

const unsupported: ReadonlyMap<string, string> = new Map([
  ['implicitRules', 'implicitRules is not supported; leave it out.'],
  ['modifierExtension', 'modifierExtension is not supported, because it could change the meaning; leave it out.'],
]);

/**
 * The diagnostics of an unsupported element. Names of an object's built-in members (`toString`, `constructor`) are
 * refused: Medplum accepts them, and code that converts the object to text then fails.
 */
function problemOf(name: string): string | undefined {
  return unsupported.get(name) ?? (name in Object.prototype ? `FHIR has no element ${name}.` : undefined);
}

/**
 * Finds elements that could change the meaning of a resource, and names that are no element of any resource.
 * @param sent - of any content, at most as deep as `DEEPEST`
 * @returns a `malformed-request` for each
 * @see https://hl7.org/fhir/R4/extensibility.html#modifierExtension;
 *   https://hl7.org/fhir/R4/resource.html#implicitRules
 */
export function unsupportedIssues(sent: unknown, path: string): Issue[] {
  if (Array.isArray(sent)) {
    return sent.flatMap((entry, index) => unsupportedIssues(entry, `${path}[${index}]`));
  }
  return Object.entries(isObject(sent) ? sent : {}).flatMap(([name, value]): Issue[] => {
    const expression = `${path}.${name}`;
    const diagnostics = problemOf(name.replace(/^_(?!_)/, ''));
    return diagnostics
      ? [{ code: 'malformed-request', diagnostics, expression }]
      : unsupportedIssues(value, expression);
  });
}

type Located = readonly [value: unknown, name: string, path: string];

/** The members of an object or list, each with its name (empty in a list) and path. */
function children([value, , path]: Located): Located[] {
  if (Array.isArray(value)) {
    return value.map((one, index): Located => [one, '', `${path}[${index}]`]);
  }
  return typeof value === 'object' && value !== null
    ? Object.entries(value).map(([name, one]): Located => [one, name, `${path}.${name}`])
    : [];
}

const maxIssues = 50;

/**
 * Finds conditional references (`Patient?identifier=…`). The server resolves them when it stores the resource, with the
 * rights of the client that stores it. The result could reveal resources that the sender may not read.
 * @param notified - issues so far; their elements are skipped
 * @returns a `malformed-request` for each, with the path of its `reference`; at most 50
 * @see https://hl7.org/fhir/R4/http.html#trules, conditional references
 */
export function conditionalReferenceIssues(value: unknown, path: string, notified: readonly Issue[] = []): Issue[] {
  const known = new Set(notified.map(({ expression }) => expression));
  const issues: Issue[] = [];
  const waiting: Located[] = [[value, '', path]];
  for (let next = waiting.pop(); next !== undefined && issues.length < maxIssues; next = waiting.pop()) {
    const [found, name, expression] = next;
    if (known.has(expression)) {
      continue;
    }
    if (name === 'reference' && typeof found === 'string' && found.includes('?')) {
      const diagnostics =
        'A reference must name a resource, such as Patient/123. Conditional references are not supported.';
      issues.push({ code: 'malformed-request', diagnostics, expression });
    }
    for (const child of children(next).reverse()) {
      waiting.push(child);
    }
  }
  return issues;
}
