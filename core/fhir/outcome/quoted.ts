/** The most characters of what was sent that a sentence repeats. */
const LONGEST = 100;

/**
 * What was sent, as a sentence repeats it: in quotes, and only its beginning.
 *
 * @param sent - any JSON; an object may have members called `toString` or `valueOf`
 */
export function quoted(sent: unknown): string {
  const text = typeof sent === 'string' ? sent : (JSON.stringify(sent) ?? 'nothing');
  return `'${text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text}'`;
}
