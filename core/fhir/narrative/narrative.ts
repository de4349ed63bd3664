import type { Issue } from '../outcome/outcome.ts';
import { isObject } from '../resource.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** The allowed elements of a narrative (invariant txt-1 of FHIR's Narrative). */
const allowedElements = words(
  'a abbr acronym b big blockquote br caption cite code col colgroup dd dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i img li ' +
    'ol p pre q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var',
);

/** The allowed attributes of a narrative (txt-1), with XML's attributes and attributes that browsers ignore. */
const allowedAttributes = words(
  'abbr accesskey align alt axis bgcolor border cellhalign cellpadding cellspacing cellvalign char charoff charset cite ' +
    'class colspan compact coords dir frame headers height href hreflang hspace id lang longdesc name nowrap rel rev ' +
    'rowspan rules scope shape span src start style summary tabindex title type valign value vspace width xmlns xml:lang ' +
    'xml:space',
);

const space = '[ \\t\\r\\n]';

const anyCase = (word: string): string => word.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

/** Properties and functions that are forbidden in a style: they load, run, or cover the page. */
const forbiddenInStyle = ['position', 'behavior', 'binding', 'content', 'expression', 'z-index'];

/** Links to the web, to a person, or, without a scheme, to a relative address; never to a script. */
const link = `(?:${anyCase('(?:https?://|mailto:|tel:)')}[^"<]*|[^":<&]*(?:&(?:amp|lt|gt|quot|#38);[^":<&]*)*)`;

/** The allowed values of attributes with their own rules, as they are written between double quotes. */
const ruled: Readonly<Record<string, string>> = {
  href: link,
  cite: link,
  longdesc: link,
  // Images within the resource: a remote one would notify its host of each reader.
  src: `(?:#|${anyCase('data:image/(?:png|jpeg|gif);base64,')})[^"<]*`,
  // Plain words, numbers and colours: no address, no escapes.
  style: `(?![^"]*\\b(?:${forbiddenInStyle.map(anyCase).join('|')})\\b)(?:[A-Za-z0-9_ \\t\\r\\n:;,.#%!'-]|${anyCase('rgba?')}\\([0-9 ,.%]*\\))*`,
  xmlns: 'http://www\\.w3\\.org/1999/xhtml',
};

/**
 * A regular expression for narratives that are safe to display. Medplum uses it where a portal writes directly, without
 * code of the service. It has the elements, attributes and values that `narrativeProblem` allows, and takes linear
 * time.
 *
 * @see https://hl7.org/fhir/R4/narrative.html, txt-1
 */
export function narrativePattern(): string {
  // Longest first, so that no name matches the beginning of a longer one.
  const oneOf = (names: Iterable<string>): string =>
    `(?:${[...names].sort((name, other) => other.length - name.length).join('|')})`;
  const quoted = (value: string): string => `(?:"${value}"|'${value.replaceAll("'", '').replaceAll('"', "'")}')`;
  const rules = Object.entries(ruled).map(([name, value]) => `${name}${space}*=${space}*${quoted(value)}`);
  const free = oneOf([...allowedAttributes].filter((name) => !Object.hasOwn(ruled, name)));
  const attributes = `(?:${[...rules, `${free}${space}*=${space}*${quoted('[^"<]*')}`].join('|')})`;
  return `^${space}*(?=<div[ \\t\\r\\n/>])(?:[^<]|</?${oneOf(allowedElements)}(?:${space}+${attributes})*${space}*/?>)*$`;
}

const mostCharacters = 65_536;

/** The largest number of narratives of a resource, including contained resources. */
const mostNarratives = 20;

/** A tag with its attributes, or text: no comment, CDATA section, instruction or document type. */
const token =
  /<(\/?)([\w:-]+)((?:[ \t\r\n]+[\w:-]+[ \t\r\n]*=[ \t\r\n]*(?:"[^<"]*"|'[^<']*'))*)[ \t\r\n]*(\/?)>|[^<]+/gy;

const attribute = /[ \t\r\n]+([\w:-]+)[ \t\r\n]*=[ \t\r\n]*(?:"([^"]*)"|'([^']*)')/gy;

/** Characters and references that XML excludes. */
const malformed =
  /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]|\]\]>|&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\dA-Fa-f]{1,6});)/u;

/** Whether a reference to a character leads to one that XML has. */
const isCharacter = ([, decimal, hex]: RegExpExecArray): boolean => {
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return code <= 0x10ffff && !malformed.test(String.fromCodePoint(code).replace('&', ''));
};

const isWellFormed = (text: string): boolean =>
  !malformed.test(text) && [...text.matchAll(/&#(?:(\d+)|x([\dA-Fa-f]+));/g)].every(isCharacter);

function tagProblem(name: string, sent: string): string | undefined {
  if (!allowedElements.has(name)) {
    return `contains the element ${name.slice(0, 50)}`;
  }
  const attributes = [...sent.matchAll(attribute)];
  if (new Set(attributes.map(([, key]) => key)).size < attributes.length) {
    return 'is not well-formed XHTML';
  }
  const [wrong] = attributes.flatMap(([, key = '', double, single = '']) => {
    const rule = Object.hasOwn(ruled, key) ? ruled[key] : undefined;
    const isAllowed = allowedAttributes.has(key) && (!rule || new RegExp(`^${rule}$`).test(double ?? single));
    return isAllowed ? [] : [key];
  });
  return wrong && `has the attribute ${wrong.slice(0, 50)} with a value that is not allowed`;
}

/**
 * Checks a narrative. It must be well-formed XHTML with the elements and attributes that FHIR allows: nothing that a
 * browser would execute or load. CDATA sections and comments are refused, since they could hide content. The check
 * takes linear time, and the length is limited. It does not check whether the narrative has content (txt-2).
 *
 * @returns the predicate of a sentence about the problem; `undefined` if the narrative is valid
 * @see https://hl7.org/fhir/R4/narrative.html
 */
export function narrativeProblem(div: string): string | undefined {
  if (div.length > mostCharacters) {
    return `is longer than ${mostCharacters} characters`;
  }
  const open: string[] = [];
  let [read, tags] = [0, 0];
  for (const [all, end, name, sent = '', isEmpty] of isWellFormed(div) ? div.matchAll(token) : []) {
    read += all.length;
    const isOutside = open.length === 0;
    if (
      name === undefined ? isOutside && /[^ \t\r\n]/.test(all) : end ? isEmpty || sent || open.pop() !== name : false
    ) {
      return 'is not well-formed XHTML';
    }
    if (name !== undefined && !end) {
      const problem = isOutside && (tags > 0 || name !== 'div') ? 'is not a single div' : tagProblem(name, sent);
      if (problem) {
        return problem;
      }
      tags += 1;
      open.push(...(isEmpty ? [] : [name]));
    }
  }
  return read < div.length || open.length > 0 || tags === 0 ? 'is not well-formed XHTML without comments' : undefined;
}

/** The text of a narrative without its tags. A single scan, in linear time. */
export function textOf(div: string): string {
  return div
    .replace(/<[^<>]*>/g, '')
    .replace(/&nbsp;|&#160;/g, ' ')
    .trim();
}

interface Found {
  readonly div: string;
  readonly path: string;
}

/** The text members called `div` at any depth, since a client may display any of them. */
function narrativesIn(value: unknown, path: string): readonly Found[] {
  if (Array.isArray(value)) {
    return value.flatMap((entry, index) => narrativesIn(entry, `${path}[${index}]`));
  }
  return Object.entries(isObject(value) ? value : {}).flatMap(([name, inner]) =>
    name === 'div' && typeof inner === 'string'
      ? inner === ''
        ? []
        : [{ div: inner, path: `${path}.div` }]
      : narrativesIn(inner, `${path}.${name}`),
  );
}

/**
 * Checks the narratives of a submitted resource and its contained resources, at any depth. Stored narratives must be
 * safe to display without further checks.
 *
 * @param resource - JSON of any shape, at most as deep as `DEEPEST`
 * @param stored - the stored resource of a change; its narratives are not checked again
 * @returns `profile-violation` for each narrative that is not safe
 * @see specification 2.3; https://hl7.org/fhir/R4/security.html#narrative
 */
export function narrativeIssues(resource: unknown, path: string, stored?: unknown): readonly Issue[] {
  const known = new Set(narrativesIn(stored, '').map(({ div }) => div));
  const found = narrativesIn(resource, path).filter(({ div }) => !known.has(div));
  if (found.length > mostNarratives) {
    const diagnostics = `${path} and its contained resources can have at most ${mostNarratives} narratives.`;
    return [{ code: 'profile-violation', diagnostics, expression: path }];
  }
  return found.flatMap(({ div, path: expression }): Issue[] => {
    const problem = narrativeProblem(div);
    const diagnostics = `${expression} ${problem}. A narrative must be a single div of the XHTML that FHIR allows (txt-1).`;
    return problem ? [{ code: 'profile-violation', diagnostics, expression }] : [];
  });
}
