import { allowedAttributes, allowedElements, forbiddenInStyle } from './narrative.ts';

const space = '[ \\t\\r\\n]';

/** Matches one of several names, longest first, so that no name matches the beginning of a longer one. */
const oneOf = (names: Iterable<string>): string =>
  `(?:${[...names].sort((one, other) => other.length - one.length).join('|')})`;

/** Matches a word in any letter case. */
const anyCase = (word: string): string => word.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

const styleWords = oneOf(forbiddenInStyle.map(anyCase));

/** The allowed values of attributes with their own rules, within quotes. */
const ruled: Readonly<Record<string, string>> = {
  href: '(?:(?:https?://|mailto:|tel:)[^"<]*|[^":<&]*(?:&amp;[^":<&]*)*)',
  src: '(?:#|data:image/(?:png|jpeg|gif);base64,)[^"<]*',
  style: `(?![^"]*\\b${styleWords}\\b)(?:[A-Za-z0-9_ \\t\\r\\n:;,.#%!'-]|rgba?\\([0-9 ,.%]*\\))*`,
  xmlns: 'http://www\\.w3\\.org/1999/xhtml',
};
const sameRule: Readonly<Record<string, string>> = { cite: 'href', longdesc: 'href' };

/** Matches a value in either kind of quotes. */
const quoted = (value: string): string => `(?:"${value}"|'${value.replaceAll("'", '').replaceAll('"', "'")}')`;

/** A pattern for one allowed attribute with an allowed value. */
function attributes(): string {
  const rules = Object.entries(ruled).map(([name, value]) => {
    const names = [name, ...Object.keys(sameRule).filter((other) => sameRule[other] === name)];
    return `${oneOf(names)}${space}*=${space}*${quoted(value)}`;
  });
  const free = [...allowedAttributes].filter((name) => !Object.hasOwn({ ...ruled, ...sameRule }, name));
  return `(?:${[...rules, `${oneOf(free)}${space}*=${space}*${quoted('[^"<]*')}`].join('|')})`;
}

/**
 * A regular expression for narratives that are safe to display. Medplum uses it where a portal writes directly, without
 * code of the service. It has the elements, attributes and values that `narrativeProblem` allows, and takes linear
 * time.
 * @see https://hl7.org/fhir/R4/narrative.html, txt-1
 */
export const NARRATIVE_PATTERN = `^${space}*(?=<div[ \\t\\r\\n/>])(?:[^<]|</?${oneOf(allowedElements)}(?:${space}+${attributes()})*${space}*/?>)*$`;
