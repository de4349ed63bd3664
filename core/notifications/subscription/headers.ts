import type { Issue } from '../../fhir/outcome/outcome.ts';

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what a value must not hold
const forbiddenInValue = /[\u0000-\u0008\u000a-\u001f\u007f]|[^\u0000-\u00ff]/;

/** Headers that belong to the connection or to the notification itself. */
const reserved: readonly string[] = [
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/**
 * Reads one line of `channel.header`; `undefined` if it is not allowed. The name ends at the first colon. The value may
 * contain further colons; only white space around it is removed.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-5
 */
export function parseHeader(line: unknown): readonly [name: string, value: string] | undefined {
  const colon = typeof line === 'string' ? line.indexOf(':') : -1;
  if (typeof line !== 'string' || colon < 1) {
    return undefined;
  }
  const name = line.slice(0, colon).trim();
  const value = line.slice(colon + 1).trim();
  const isUsable = token.test(name) && !forbiddenInValue.test(line) && !reserved.includes(name.toLowerCase());
  return isUsable ? [name, value] : undefined;
}

const MAX_HEADERS = 20;

/** The largest total length of the headers of one Subscription: HTTP servers refuse requests with much more. */
const MAX_CHARACTERS = 8_000;

/** The issues of a subscriber's headers: too many, too long, or not possible in a notification. */
export function headerIssues(sent: unknown): Issue[] {
  if (sent === undefined) {
    return [];
  }
  const lines: unknown[] = Array.isArray(sent) ? sent : [sent];
  const issue = (diagnostics: string, index?: number): Issue => ({
    code: 'malformed-request',
    diagnostics,
    expression: `Subscription.channel.header${index === undefined ? '' : `[${index}]`}`,
  });
  if (lines.length > MAX_HEADERS) {
    return [issue(`A Subscription can have at most ${MAX_HEADERS} headers.`)];
  }
  if (lines.reduce<number>((sum, line) => sum + (typeof line === 'string' ? line.length : 0), 0) > MAX_CHARACTERS) {
    return [issue(`The headers of a Subscription can have at most ${MAX_CHARACTERS} characters in total.`)];
  }
  const malformed =
    'A header must have the form Name: value. Headers of the connection or of the notification itself cannot be set.';
  return lines.flatMap((line, index) => (parseHeader(line) ? [] : [issue(malformed, index)]));
}

/**
 * The headers of a stored Subscription. A repeated name, in any letter case, has several values. They are own
 * properties only: a header may be called `constructor` or `__proto__`.
 */
export function headersOf(lines: readonly string[] = []): Record<string, string[]> {
  const headers = new Map<string, [name: string, values: string[]]>();
  for (const line of lines) {
    const header = parseHeader(line);
    if (header) {
      const [name, value] = header;
      const [first, values] = headers.get(name.toLowerCase()) ?? [name, []];
      headers.set(name.toLowerCase(), [first, [...values, value]]);
    }
  }
  return Object.fromEntries(headers.values());
}
