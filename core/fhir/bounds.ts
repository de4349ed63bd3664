import type { Issue } from './outcome/outcome.ts';
import { isObject } from './resource.ts';

/** How deep what is sent may be nested. */
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
 * How many values (objects, lists, and what they hold) a request has at most. Medplum checks each of them at one go: this
 * many take it a tenth of a second or two, in which it serves nobody else.
 */
export const MOST_VALUES = 10_000;

/** How many values a JSON value consists of, itself included, counted no further than one beyond a number. */
export function countValues(value: unknown, most: number): number {
  const waiting: unknown[] = [value];
  let count = 0;
  while (waiting.length > 0 && count <= most) {
    const next = waiting.pop();
    count++;
    if (typeof next === 'object' && next !== null) {
      for (const one of Object.values(next)) {
        waiting.push(one);
      }
    }
  }
  return count;
}

/** Why a value is too large to be looked at any further, as the rest of a sentence; `undefined` if it is not. */
export function sizeProblem(value: unknown, mostValues = MOST_VALUES): string | undefined {
  if (isDeeperThan(value, DEEPEST)) {
    return `be nested deeper than ${DEEPEST} levels`;
  }
  return countValues(value, mostValues) > mostValues ? `have more than ${mostValues} values` : undefined;
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

/** The most characters that identifiers have in the address of a search for all of them: Medplum takes 70,000 in all. */
const LONGEST_IDENTIFIERS = 50_000;

/** How long a text is in an address, with what escapes it in the value of a search. */
function lengthInSearch(text: unknown): number {
  const escaped = typeof text === 'string' ? text.replace(/[\\,$|]/g, '\\$&') : '';
  return new URLSearchParams({ '': escaped }).toString().length;
}

/** @returns a `malformed-request` if the identifiers of a resource are too long to be searched for */
export function identifierIssues(resource: unknown, path: string): Issue[] {
  const identifiers = isObject(resource) && Array.isArray(resource.identifier) ? resource.identifier : [];
  const length = identifiers
    .flatMap((identifier: unknown) => (isObject(identifier) ? [identifier.system, identifier.value] : []))
    .reduce<number>((sum, text) => sum + lengthInSearch(text), 0);
  const expression = `${path}.identifier`;
  const diagnostics = `${expression} is too long to be searched for: its systems and values can have at most ${LONGEST_IDENTIFIERS} characters in an address.`;
  return length > LONGEST_IDENTIFIERS ? [{ code: 'malformed-request', diagnostics, expression }] : [];
}
