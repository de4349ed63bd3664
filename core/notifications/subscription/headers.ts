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
 * Reads one line of `channel.header`: the name up to the first colon, the value after it exactly as given, further
 * colons among it; only the white space around it goes.
 *
 * @returns name and value, or `undefined` if it is no header that a notification can carry
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

/**
 * The headers of a Subscription; a name that is given several times has several values.
 *
 * @param lines - `channel.header`, checked when it was stored
 */
export function headersOf(lines: readonly string[] = []): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  for (const [name, value] of lines.flatMap((line) => [parseHeader(line) ?? []])) {
    if (name !== undefined && value !== undefined) {
      headers[name] = [...(headers[name] ?? []), value];
    }
  }
  return headers;
}
