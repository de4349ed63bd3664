/** Typed text as a search: a word that is a date is the date of birth, all others are parts of the name. */
export function patientQuery(text: string): readonly (readonly [string, string])[] {
  const words = text.trim().split(/\s+/).filter(Boolean);
  const iso = (word: string): string | undefined => {
    const [, day, month, year] = word.match(/^(\d{1,2})[./](\d{1,2})[./](\d{4})$/) ?? [];
    return year ? `${year}-${month?.padStart(2, '0')}-${day?.padStart(2, '0')}` : word.match(/^\d{4}-\d\d-\d\d$/)?.[0];
  };
  return words.map((word) => {
    const date = iso(word);
    return date ? (['birthdate', date] as const) : (['name', word] as const);
  });
}
