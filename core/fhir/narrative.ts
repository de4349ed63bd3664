import type { Issue } from './outcome.ts';
import { isObject } from './resource.ts';

/**
 * Whether a text cannot be XHTML: a `<` that no `>` follows before the next `<`. It is looked at once from its start to
 * its end, whatever it holds.
 *
 * @see https://www.w3.org/TR/xml/#syntax
 */
export function hasLooseMarkup(text: string): boolean {
  let open = false;
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === LESS_THAN && open) {
      return true;
    }
    open = character === LESS_THAN || (open && character !== GREATER_THAN);
  }
  return open;
}

const LESS_THAN = 0x3c;
const GREATER_THAN = 0x3e;

/** What is left of XHTML without its tags, which `hasLooseMarkup` has found to be closed. */
export function textOf(xhtml: string): string {
  return xhtml
    .replace(/<[^<>]*>/g, '')
    .replace(/&nbsp;|&#160;/g, ' ')
    .trim();
}

/**
 * Checks the narrative of a resource as far as its tags go.
 *
 * @returns a `profile-violation` if it is not XHTML
 * @see https://hl7.org/fhir/R4/narrative.html
 */
export function narrativeIssues(resource: unknown, path: string): Issue[] {
  const text = isObject(resource) && isObject(resource.text) ? resource.text.div : undefined;
  const diagnostics = 'text.div must be XHTML: every < begins a tag that a > ends; write &lt; for the character.';
  return typeof text === 'string' && hasLooseMarkup(text)
    ? [{ code: 'profile-violation', diagnostics, expression: `${path}.text.div` }]
    : [];
}
