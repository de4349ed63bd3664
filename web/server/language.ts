/** The languages of the pages; the first is that of a browser that asks for none of them. */
export const languages = ['en', 'de'] as const;

/** A language of the pages. */
export type Language = (typeof languages)[number];

/** Whether a text names a language of the pages. */
export function isLanguage(text: unknown): text is Language {
  return languages.some((language) => language === text);
}

/** One range of `Accept-Language`, with its weight. */
function parseRange(text: string): { readonly language: string; readonly weight: number } {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  return { language: range.split('-')[0] ?? '', weight: weight === undefined ? 1 : Number(weight) || 0 };
}

/**
 * The language of the pages that a browser prefers.
 *
 * @param header - `Accept-Language`
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5.4
 */
export function preferredLanguage(header: string | undefined): Language {
  const ranges = (header ?? '').slice(0, 500).split(',').map(parseRange);
  const wanted = ranges.filter(({ weight }) => weight > 0).toSorted((a, b) => b.weight - a.weight);
  return wanted.map(({ language }) => language).find(isLanguage) ?? languages[0];
}
