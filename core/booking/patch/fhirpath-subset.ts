/**
 * The FHIRPath that a patch may use: steps by name, positions, and the functions that choose among elements. Functions that
 * leave the resource (`resolve`), go through all of it again and again (`descendants`, `repeat`, `select`) or match patterns
 * are left out, so that the cost of a path is bounded by its length.
 *
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

/** Longest path, in characters. */
const MAX_PATH_LENGTH = 500;

/** Deepest nesting of parentheses. */
const DEEPEST = 4;

const tokenPattern =
  /\s+|(?<text>'(?:[^'\\]|\\.)*')|(?<name>[A-Za-z_][A-Za-z0-9_]*|`[A-Za-z_][A-Za-z0-9_]*`|\$this)|(?<position>\[\d{1,9}\])|(?<number>\d{1,9}(?:\.\d{1,9})?)|(?<open>\()|(?<close>\))|(?<operator>\.|!=|=|~|,)/y;

/** Names that lead out of a document into the internals of JavaScript. */
const forbidden: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Words of FHIRPath that may stand between two conditions. */
const operators: ReadonlySet<string> = new Set(['and', 'or']);

function nameProblem(name: string, isCalled: boolean): string | undefined {
  if (isCalled && !functions.has(name) && !operators.has(name)) {
    return `The function ${name.slice(0, 40)}() is not supported. Supported: ${[...functions].join(', ')}.`;
  }
  return forbidden.has(name) ? `${name} is not an element.` : undefined;
}

/**
 * Checks a path before any engine reads it.
 *
 * @param path - of any content
 * @returns what is wrong with it, as a sentence; `undefined` if it may be evaluated
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
    if (depth < 0 || depth > DEEPEST) {
      return `Parentheses in a path must match and be nested at most ${DEEPEST} levels deep.`;
    }
  }
  return depth === 0 ? undefined : 'Parentheses in a path must match.';
}
