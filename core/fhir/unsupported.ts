import type { Issue } from './outcome/outcome.ts';
import { isObject } from './resource.ts';

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
