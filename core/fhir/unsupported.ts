import type { Issue } from './outcome/outcome.ts';
import { isObject } from './resource.ts';

/** What the service cannot honour, by the name of the element, and why. */
const unsupported: ReadonlyMap<string, string> = new Map([
  ['implicitRules', 'implicitRules is not supported; leave it out.'],
  ['modifierExtension', 'modifierExtension is not supported, because it could change the meaning; leave it out.'],
]);

/**
 * Why an element cannot be honoured. No FHIR element has the name of something that every object has (`toString`,
 * `constructor`), but Medplum takes these for elements, and code that converts such an object to text fails.
 */
function problemOf(name: string): string | undefined {
  return unsupported.get(name) ?? (name in Object.prototype ? `FHIR has no element ${name}.` : undefined);
}

/**
 * Finds what would change the meaning of a resource in a way that the service does not know, and what is not an element
 * of any resource, at any depth.
 *
 * @param sent - of any content, at most as deep as `DEEPEST`
 * @param path - FHIRPath of what was sent
 * @returns a `malformed-request` for each
 * @see https://hl7.org/fhir/R4/extensibility.html#modifierExtension; https://hl7.org/fhir/R4/resource.html#implicitRules
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
