import type { Issue } from '../../../core/fhir/outcome/outcome.ts';
import { normalized } from '../../../core/fhir/unicode.ts';
import { type SearchParam, searchIssue } from './param.ts';

/** Words of letters and digits, with what separates words in any name: what Medplum's word-by-word search understands. */
const words = /^[\s'’‘`´",()-]*[\p{L}\p{N}]+(?:[\s'’‘`´",()-]+[\p{L}\p{N}]+)*[\s'’‘`´",()-]*$/u;

/** Splits at commas that no backslash escapes; the backslashes are kept. */
export function splitAlternatives(value: string): string[] {
  return value.match(/(?:\\.|[^,\\])+/gs) ?? [];
}

/** Whether a search for Slots is for free ones alone, as Medplum understands its parameters. */
export const isForFree = (params: readonly SearchParam[]): boolean =>
  params.some(({ name, value }) => name === 'status' && splitAlternatives(value).every((one) => one === 'free'));

/** The value without the backslashes before `,`, `$`, `|` and themselves. */
const meaning = (value: string): string => value.replace(/\\(.)/gs, '$1');

/** A text in the two ways in which Unicode writes letters with accents: as one character, or decomposed. */
const spellings = (value: string): readonly string[] => [
  ...new Set([normalized(value, 'NFC'), normalized(value, 'NFD')]),
];

/** The longest text that is searched for. Longer ones would be cut when they are normalized. */
const MAX_LENGTH = 250;

/**
 * Writes the value of a string parameter the way Medplum finds it.
 *
 * Letters with accents are found however they are written. Medplum searches names and addresses (`isWords`) word by word,
 * for which it drops everything but letters and digits from the value, but not from what it has stored: a value that has
 * none (`😀`) would match everyone, and a name such as `St.Clair` no one. A value that `words` does not match is therefore
 * searched for unchanged.
 *
 * @param name - as Medplum knows it, without the modifier
 * @param modifier - `exact`, `contains` or none
 * @param value - as it was sent, alternatives separated by commas
 * @param isWords - whether Medplum searches the element word by word
 * @returns the parameter for Medplum, or the issue if there is nothing to search for
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
  if (alternatives.some(({ length }) => length > MAX_LENGTH)) {
    return searchIssue(name, `A value of '${name}' can have at most ${MAX_LENGTH} characters.`);
  }
  const composed = alternatives.map((one) => normalized(one, 'NFC'));
  if (isWords && modifier === undefined && composed.every((one) => words.test(meaning(one)))) {
    return { name, value: composed.join(',') };
  }
  const comparison = modifier ?? (isWords ? 'contains' : undefined);
  return {
    name: comparison === undefined ? name : `${name}:${comparison}`,
    value: alternatives.flatMap(spellings).join(','),
  };
}
