const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Characters that XML does not allow, not even as references. */
const unknownToXml =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/**
 * Escapes text for XML. Characters that XML does not allow become the replacement character.
 * @see https://www.w3.org/TR/xml/#charsets
 */
export const escapeText = (text: string): string =>
  text.replace(unknownToXml, '\ufffd').replace(/[&<>"]/g, (character) => entities[character] ?? character);

/** Writes an attribute with a space before it. Line breaks are kept. */
export function attribute(name: string, value: unknown): string {
  const text = escapeText(String(value)).replace(/[\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
  return ` ${name}="${text}"`;
}
