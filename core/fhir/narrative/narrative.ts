import { SaxesParser, type SaxesTagPlain } from 'saxes';
import type { Issue } from '../outcome/outcome.ts';
import { isObject } from '../resource.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** The allowed elements of a narrative (invariant txt-1 of FHIR's Narrative). */
export const allowedElements = words(
  'a abbr acronym b big blockquote br caption cite code col colgroup dd dfn div dl dt em h1 h2 h3 h4 h5 h6 hr i img li ' +
    'ol p pre q samp small span strong sub sup table tbody td tfoot th thead tr tt ul var',
);

/** The allowed attributes of a narrative (txt-1), with XML's attributes and attributes that browsers ignore. */
export const allowedAttributes = words(
  'abbr accesskey align alt axis bgcolor border cellhalign cellpadding cellspacing cellvalign char charoff charset cite ' +
    'class colspan compact coords dir frame headers height href hreflang hspace id lang longdesc name nowrap rel rev ' +
    'rowspan rules scope shape span src start style summary tabindex title type valign value vspace width xmlns xml:lang ' +
    'xml:space',
);

/** The allowed targets of links: the web, a person, or, without a scheme, a relative address; never a script. */
const link = /^(https?:\/\/|mailto:|tel:|[^:]*$)/i;

/** The allowed sources of images: within the resource. A remote image would notify its host of each reader. */
const image = /^(#|data:image\/(png|jpeg|gif);base64,)/i;

/** Colours, the only allowed functions of a style. */
const colour = /rgba?\([\d\s,.%]*\)/gi;

/** The other allowed content of a style: plain words and numbers; no address, no escapes, no position on the screen. */
const plainStyle = /^[\w\s:;,.#%!'-]*$/;
/** Properties and functions that are forbidden in a style. */
export const forbiddenInStyle = ['position', 'behavior', 'binding', 'content', 'expression', 'z-index'] as const;
const forbiddenStyle = new RegExp(`\\b(${forbiddenInStyle.join('|')})\\b`, 'i');

const isSafeStyle = (value: string): boolean =>
  plainStyle.test(value.replace(colour, '')) && !forbiddenStyle.test(value);

const attributeRules: Readonly<Record<string, (value: string) => boolean>> = {
  href: (value) => link.test(value),
  cite: (value) => link.test(value),
  longdesc: (value) => link.test(value),
  src: (value) => image.test(value),
  style: isSafeStyle,
  xmlns: (value) => value === 'http://www.w3.org/1999/xhtml',
};

const mostCharacters = 65_536;

/** The largest number of narratives of a resource, including contained resources. */
const mostNarratives = 20;

/** The predicate of a sentence about a forbidden element or attribute; `undefined` if there is none. */
function tagProblem({ name, attributes }: SaxesTagPlain): string | undefined {
  if (!allowedElements.has(name)) {
    return `contains the element ${name.slice(0, 50)}`;
  }
  for (const [attribute, value] of Object.entries(attributes)) {
    const rule = Object.hasOwn(attributeRules, attribute) ? attributeRules[attribute] : undefined;
    if (!allowedAttributes.has(attribute) || rule?.(value) === false) {
      return `has the attribute ${attribute.slice(0, 50)} with a value that is not allowed`;
    }
  }
  return undefined;
}

/**
 * Checks a narrative. It must be well-formed XHTML with the elements and attributes that FHIR allows: nothing that a
 * browser would execute or load. CDATA sections and comments are refused, since they could hide content. The check
 * takes linear time, and the length is limited. It does not check whether the narrative has content (txt-2).
 * @returns the predicate of a sentence about the problem; `undefined` if the narrative is valid
 * @see https://hl7.org/fhir/R4/narrative.html
 */
export function narrativeProblem(div: string): string | undefined {
  if (div.length > mostCharacters) {
    return `is longer than ${mostCharacters} characters`;
  }
  let problem: string | undefined;
  let root = '';
  const note = (found: string | undefined): void => {
    problem ??= found;
  };
  const parser = new SaxesParser();
  parser.on('error', () => note('is not well-formed XHTML'));
  parser.on('doctype', () => note('has a DOCTYPE'));
  parser.on('xmldecl', () => note('has an XML declaration'));
  parser.on('processinginstruction', () => note('has a processing instruction'));
  parser.on('comment', () => note('has a comment'));
  parser.on('cdata', () => note('has a CDATA section'));
  parser.on('opentag', (tag) => {
    root ||= tag.name;
    note(tagProblem(tag));
  });
  parser.write(div).close();
  note(root === 'div' ? undefined : 'is not a single div');
  return problem;
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
