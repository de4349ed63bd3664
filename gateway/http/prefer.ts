import type { SearchHandling } from '../../core/config/config.ts';

/** The values of preferences by name in lower case; `''` for a preference without a value. */
type Preferences = ReadonlyMap<string, string>;

/** The content of the response to a write (https://hl7.org/fhir/R4/http.html#ops). */
export type ReturnPreference = 'minimal' | 'representation' | 'OperationOutcome';

const returnPreferences: readonly ReturnPreference[] = ['minimal', 'representation', 'OperationOutcome'];

const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** Splits at separators outside quoted strings; in a quoted string, a backslash escapes the next character. */
function splitOutsideQuotes(text: string, separator: ',' | ';' | '='): string[] {
  const parts = [''];
  let isQuoted = false;
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if (character === separator && !isQuoted) {
      parts.push('');
      continue;
    }
    const isEscape = isQuoted && character === '\\';
    parts[parts.length - 1] += isEscape ? character + text.charAt(++i) : character;
    if (character === '"') {
      isQuoted = !isQuoted;
    }
  }
  return parts;
}

/** Reads `name`, `name=word`, `name="quoted string"`; anything else is `undefined`. */
function parsePair(text: string): { name: string; value: string } | undefined {
  const [rawName = '', ...rest] = splitOutsideQuotes(text, '=');
  const name = rawName.trim().toLowerCase();
  const word = rest.join('=').trim();
  const quoted = /^"((?:[^"\\]|\\.)*)"$/s.exec(word)?.[1];
  const value = quoted === undefined ? word : quoted.replace(/\\(.)/gs, '$1');
  const isWord = quoted !== undefined || word === '' || token.test(word);
  return token.test(name) && isWord ? { name, value } : undefined;
}

/**
 * Reads a `Prefer` header: several preferences, names in any case, words or quoted strings; their parameters are ignored.
 * If a preference is named twice, the first counts; anything that is not a preference is ignored, as the RFC permits.
 *
 * @param header - the header's value; several header lines are joined by commas
 * @returns the preferences by name in lower case
 * @see https://www.rfc-editor.org/rfc/rfc7240#section-2
 */
export function parsePrefer(header: string | readonly string[] | undefined): Preferences {
  const preferences = new Map<string, string>();
  const text = typeof header === 'string' ? header : (header ?? []).join(',');
  for (const part of splitOutsideQuotes(text, ',')) {
    const [head = ''] = splitOutsideQuotes(part, ';');
    const preference = parsePair(head);
    if (preference && !preferences.has(preference.name)) {
      preferences.set(preference.name, preference.value);
    }
  }
  return preferences;
}

/** The client's `return` preference; `undefined` if it is no value that FHIR defines. */
export function preferredReturn(preferences: Preferences): ReturnPreference | undefined {
  const wanted = preferences.get('return')?.toLowerCase();
  return returnPreferences.find((known) => known.toLowerCase() === wanted);
}

/**
 * The client's wish for the handling of unknown search parameters; `undefined` if it has none.
 *
 * @see https://hl7.org/fhir/R4/search.html#errors
 */
export function preferredHandling(preferences: Preferences): SearchHandling | undefined {
  const wanted = preferences.get('handling')?.toLowerCase();
  return wanted === 'strict' || wanted === 'lenient' ? wanted : undefined;
}

/**
 * Whether the client asks for asynchronous execution (`respond-async`).
 *
 * @see https://www.rfc-editor.org/rfc/rfc7240#section-4.1
 */
export function prefersAsync(preferences: Preferences): boolean {
  return preferences.has('respond-async');
}
