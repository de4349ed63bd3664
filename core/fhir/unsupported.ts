import type { Issue } from './outcome.ts';
import { isObject } from './resource.ts';

/** What the service cannot honour in what is sent, by the name of the element, and why. */
const unsupported: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  implicitRules: () => 'The service does not know the rules that implicitRules names; leave it out.',
  modifierExtension: () => 'The service does not know this modifierExtension, which could change the meaning.',
  reference: (value) =>
    typeof value === 'string' && value.includes('?')
      ? 'A reference must name a resource, such as Patient/123; a search is not allowed here.'
      : undefined,
};

/**
 * Finds what would change the meaning of a resource in a way that the service does not know (`implicitRules`,
 * `modifierExtension`), and references by search, at any depth.
 *
 * @param sent - of whatever content, at most as deep as `DEEPEST`
 * @param path - FHIRPath of what was sent
 * @param isReadElsewhere - whether the references in the element of a path are checked by others
 * @returns a `malformed-request` for each
 * @see https://hl7.org/fhir/R4/extensibility.html#modifierExtension; https://hl7.org/fhir/R4/resource.html#implicitRules
 */
export function unsupportedIssues(
  sent: unknown,
  path: string,
  isReadElsewhere: (path: string) => boolean = () => false,
): Issue[] {
  if (Array.isArray(sent)) {
    return sent.flatMap((entry, index) => unsupportedIssues(entry, `${path}[${index}]`, isReadElsewhere));
  }
  return Object.entries(isObject(sent) ? sent : {}).flatMap(([name, value]) => {
    const expression = `${path}.${name}`;
    const check = Object.hasOwn(unsupported, name.replace(/^_/, '')) ? unsupported[name.replace(/^_/, '')] : undefined;
    const diagnostics = check?.(value);
    return diagnostics && !(name === 'reference' && isReadElsewhere(path))
      ? [{ code: 'malformed-request' as const, diagnostics, expression }]
      : unsupportedIssues(value, expression, isReadElsewhere);
  });
}
