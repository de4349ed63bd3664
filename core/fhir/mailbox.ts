/** The hosts that ignore dots before the @, with the one name of each. */
const withoutDots: ReadonlyMap<string, string> = new Map([
  ['gmail.com', 'gmail.com'],
  ['googlemail.com', 'gmail.com'],
  ['proton.me', 'proton.me'],
  ['protonmail.com', 'proton.me'],
  ['pm.me', 'proton.me'],
]);

/** One mailbox in ASCII: no list, no name, nothing that ends a header. */
const address = /^[^\s@<>()[\]\\,;:"\u{80}-\u{10ffff}]{1,64}@(?:[a-z0-9-]{1,63}\.){1,8}[a-z0-9-]{2,63}$/u;

/**
 * An e-mail address with the name of its host in ASCII, as mail programs look it up: full stops of other scripts and one
 * at the end are no other host. `undefined` if the text is no address.
 */
export function emailAddress(text: string): string | undefined {
  const at = text.lastIndexOf('@');
  const host = text.slice(at + 1);
  const name = /[/?#:\\]/.test(host) ? '' : (URL.parse(`http://${host}`)?.hostname.replace(/\.$/, '') ?? '');
  const found = `${text.slice(0, at)}@${name}`;
  return text.length <= 320 && address.test(found) ? found : undefined;
}

/**
 * The common form of spellings of an address that reach the same person: an e-mail address without its part after a
 * plus, or a telephone number without the country code of Germany, Austria or Switzerland.
 */
export function mailboxOf(sent: string): string {
  const trimmed = sent.trim();
  if (!trimmed.includes('@')) {
    return trimmed
      .replace(/[^+0-9]/g, '')
      .replace(/^(?:\+|00)(?:49|43|41)/, '')
      .replace(/^[+0]+/, '');
  }
  const text = (emailAddress(trimmed) ?? trimmed).toLowerCase();
  const [at, plus] = [text.lastIndexOf('@'), text.indexOf('+')];
  const host = text.slice(at + 1);
  const local = text.slice(0, plus > 0 && plus < at ? plus : at);
  const shared = withoutDots.get(host);
  return shared ? `${local.replaceAll('.', '')}@${shared}` : `${local}@${host}`;
}
