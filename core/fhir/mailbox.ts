/** The hosts at which dots before the @ do not count. */
const withoutDots: ReadonlySet<string> = new Set(['gmail.com', 'googlemail.com']);

/**
 * What the spellings of an address have in common that reach the same person: of an e-mail address without what follows a
 * plus, of a telephone number the last digits, without those that lead to its country.
 *
 * @param address - an e-mail address or a telephone number
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
