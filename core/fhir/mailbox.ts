/** The hosts that ignore dots before the @. */
const withoutDots: ReadonlySet<string> = new Set(['gmail.com', 'googlemail.com']);

/**
 * The common form of spellings of an address that reach the same person: an e-mail address without its part after a
 * plus, or the last digits of a telephone number, without the country code.
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
