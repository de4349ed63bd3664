/**
 * The FHIRPath that a patch may use: steps by name, indexes, and functions that select elements. Three kinds of
 * functions are excluded, so that the length of a path bounds its cost: those that leave the resource (`resolve`),
 * traverse it repeatedly (`descendants`, `repeat`, `select`) or match patterns.
 * @see https://hl7.org/fhir/R4/fhirpatch.html; https://hl7.org/fhir/R4/fhirpath.html#simple
 */
const functions: ReadonlySet<string> = new Set([
  'where',
  'exists',
  'empty',
  'not',
  'first',
  'last',
  'tail',
  'skip',
  'take',
  'single',
  'extension',
  'ofType',
  'startsWith',
  'endsWith',
  'count',
]);

/** The maximum length of a path, in characters. */
const MAX_PATH_LENGTH = 500;

/** The maximum depth of nested parentheses. */
const MAX_DEPTH = 4;

const tokenPattern =
  /\s+|(?<text>'(?:[^'\\]|\\.)*')|(?<name>[A-Za-z_][A-Za-z0-9_]*|`[A-Za-z_][A-Za-z0-9_]*`|\$this)|(?<position>\[\d{1,9}\])|(?<number>\d{1,9}(?:\.\d{1,9})?)|(?<open>\()|(?<close>\))|(?<operator>\.|!=|=|~|,)/y;

/** Names that give access to the internals of JavaScript. */
const forbidden: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** FHIRPath operators between two conditions. */
const operators: ReadonlySet<string> = new Set(['and', 'or']);

function nameProblem(name: string, isCalled: boolean): string | undefined {
  if (isCalled && !functions.has(name) && !operators.has(name)) {
    return `The function ${name.slice(0, 40)}() is not supported. Supported: ${[...functions].join(', ')}.`;
  }
  return forbidden.has(name) ? `${name} is not an element.` : undefined;
}

/**
 * Checks a path before the FHIRPath engine reads it.
 * @param path - of any content
 * @returns the problem, as a sentence; `undefined` if it may be evaluated
 */
export function pathProblem(path: string): string | undefined {
  if (path.length === 0 || path.length > MAX_PATH_LENGTH) {
    return `A path has 1 to ${MAX_PATH_LENGTH} characters; this one has ${path.length}.`;
  }
  let depth = 0;
  /** Whether the last token ends an expression, which the parser takes for the whole path; and whether it is a name. */
  let [isEnd, isName] = [false, false];
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < path.length) {
    const start = tokenPattern.lastIndex;
    const groups = tokenPattern.exec(path)?.groups;
    const { name, text, number, open, operator } = groups ?? {};
    const joins = operator !== undefined || (isEnd && name !== undefined && operators.has(name));
    const begins = (name ?? text ?? number ?? (isName ? undefined : open)) !== undefined && !joins;
    if (!groups || (isEnd && begins)) {
      return `The path is invalid from character ${start} on; use steps such as Appointment.participant[0].status.`;
    }
    if (Object.values(groups).some((token) => token !== undefined)) {
      [isEnd, isName] = [!joins && open === undefined, name !== undefined && !joins];
    }
    depth += open ? 1 : groups.close ? -1 : 0;
    const problem = name && nameProblem(name, /^\s*\(/.test(path.slice(tokenPattern.lastIndex)));
    if (problem) {
      return problem;
    }
    if (depth < 0 || depth > MAX_DEPTH) {
      return `Parentheses in a path must match and be nested at most ${MAX_DEPTH} levels deep.`;
    }
  }
  return depth === 0 ? undefined : 'Parentheses in a path must match.';
}
