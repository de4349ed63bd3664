/** The hosts that ignore dots before the @. */
const withoutDots: ReadonlySet<string> = new Set(['gmail.com', 'googlemail.com']);

/**
 * The common form of all spellings of an address that reach the same person. An e-mail address loses its part after a
 * plus. A telephone number keeps its last digits, without the country code.
 */
export function mailboxOf(address: string): string {
  const text = address.trim().toLowerCase();
  const at = text.lastIndexOf('@');
  if (at < 0) {
    return text.replace(/[^0-9]/g, '').slice(-9);
  }
  const [host, plus] = [text.slice(at + 1), text.indexOf('+')];
  const local = text.slice(0, plus > 0 && plus < at ? plus : at);
  return withoutDots.has(host) ? `${local.replaceAll('.', '')}@gmail.com` : `${local}@${host}`;
}
