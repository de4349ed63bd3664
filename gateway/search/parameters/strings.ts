import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { type SearchParam, searchIssue } from './param.ts';

/** Words of letters and digits with what parts words in every name: what Medplum's search word by word understands. */
const words = /^[\s'’‘`´",()-]*[\p{L}\p{N}]+(?:[\s'’‘`´",()-]+[\p{L}\p{N}]+)*[\s'’‘`´",()-]*$/u;

/** Splits at commas that no backslash protects; the backslashes stay. */
export function splitAlternatives(value: string): string[] {
  return value.match(/(?:\\.|[^,\\])+/gs) ?? [];
}

/** What a value means: without the backslashes before `,`, `$`, `|` and themselves. */
const meaning = (value: string): string => value.replace(/\\(.)/gs, '$1');

/** A text in the two ways in which Unicode writes letters with accents: as one character, or taken apart. */
const spellings = (value: string): readonly string[] => [...new Set([value.normalize('NFC'), value.normalize('NFD')])];

/**
 * Writes the value of a string parameter the way Medplum finds it.
 *
 * Letters with accents are found however they are written. Names and addresses (`isWords`) are searched by Medplum word
 * by word, for which it drops everything but letters and digits from the value, and not from what it has stored: it would
 * find everybody for a value that has none (`😀`), and nobody for a name such as `St.Clair`. A value with such characters
 * is therefore looked for as it stands.
 *
 * @param name - as Medplum knows it, without the modifier
 * @param modifier - `exact`, `contains` or none
 * @param value - as it was sent, alternatives separated by commas
 * @param isWords - whether Medplum searches the element word by word
 * @returns the parameter for Medplum, or the issue where there is nothing to look for
 * @see https://hl7.org/fhir/R4/search.html#string
 */
export function rewriteString(
  name: string,
  modifier: string | undefined,
  value: string,
  isWords: boolean,
): SearchParam | Issue {
  const alternatives = splitAlternatives(value)
    .map((one) => one.trim())
    .filter(Boolean);
  if (alternatives.length === 0) {
    return searchIssue(
      name,
      `'${name}' has no value to look for. A comma or a backslash itself is written as '\\,' or '\\\\'.`,
    );
  }
  const composed = alternatives.map((one) => one.normalize('NFC'));
  if (isWords && modifier === undefined && composed.every((one) => words.test(meaning(one)))) {
    return { name, value: composed.join(',') };
  }
  const comparison = modifier ?? (isWords ? 'contains' : undefined);
  return {
    name: comparison === undefined ? name : `${name}:${comparison}`,
    value: alternatives.flatMap(spellings).join(','),
  };
}
