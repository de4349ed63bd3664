/** The most characters that are normalized: the time grows with the square of a run of combining marks. */
const MAX_NORMALIZED = 250;

/**
 * The beginning of a text in one of Unicode's forms.
 * @see https://unicode.org/reports/tr15/
 */
export const normalized = (text: string, form: 'NFC' | 'NFD' | 'NFKD'): string =>
  text.slice(0, MAX_NORMALIZED).normalize(form);
