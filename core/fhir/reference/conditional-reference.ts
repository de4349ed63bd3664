import type { Issue } from '../outcome/outcome.ts';

/** A value within what was sent: the name of its element, and its FHIRPath. */
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
 * rights of the client that stores it; the result can reveal resources that the sender may not read.
 *
 * @param value - what was sent, of any shape and depth
 * @param path - FHIRPath of the value
 * @param told - the issues found already: the elements that they name are skipped
 * @returns a `malformed-request` for each, with the path of its `reference`, and for 50 at most
 * @see https://hl7.org/fhir/R4/http.html#trules, conditional references
 */
export function conditionalReferenceIssues(value: unknown, path: string, told: readonly Issue[] = []): Issue[] {
  const known = new Set(told.map(({ expression }) => expression));
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
