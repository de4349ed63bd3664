/** The languages of the start page and the front desk. */
export const languages = ['en', 'de'] as const;

/** A language of the start page and the front desk. */
export type Language = (typeof languages)[number];

/** Whether a value is a language of the start page and the front desk. */
export function isLanguage(text: unknown): text is Language {
  return languages.some((language) => language === text);
}

function parseRange(text: string): { readonly language: string; readonly weight: number } {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  return { language: range.split('-')[0] ?? '', weight: weight === undefined ? 1 : Number(weight) || 0 };
}

/**
 * The language that a browser prefers, by its `Accept-Language`; `undefined` if no offered language is accepted.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9110#section-12.5.4
 */
export function preferredLanguage<T extends string>(header: string | undefined, offered: readonly T[]): T | undefined {
  const ranges = (header ?? '').slice(0, 500).split(',').map(parseRange);
  const wanted = ranges.filter(({ weight }) => weight > 0).toSorted((a, b) => b.weight - a.weight);
  return wanted.flatMap(({ language }) => offered.find((one) => one === language) ?? [])[0];
}
