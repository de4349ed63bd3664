import { isLocalDay } from '../../../core/time/local-day.ts';

/** One letter, and how else it may be written in a name that sounds the same. */
const spellings: readonly (readonly [string, readonly string[]])[] = [
  ['ä', ['ae', 'a']],
  ['ö', ['oe', 'o']],
  ['ü', ['ue', 'u']],
  ['ß', ['ss']],
  ['ae', ['ä', 'a']],
  ['oe', ['ö', 'o']],
  ['ue', ['ü', 'u']],
  ['ss', ['ß']],
  ['a', ['ä', 'ae']],
  ['o', ['ö', 'oe']],
  ['u', ['ü', 'ue']],
];

/** How many spellings of a word are searched for. */
const MOST = 16;

/** A word as it was typed, then with each letter written differently: Mueller, Müller, Muller. */
function spellingsOf(word: string): string[] {
  const lower = word.toLowerCase();
  const others = spellings.flatMap(([letters, instead]) =>
    Array.from(lower, (_, index) => index)
      .filter((index) => lower.startsWith(letters, index))
      .flatMap((index) => instead.map((one) => lower.slice(0, index) + one + lower.slice(index + letters.length))),
  );
  return [...new Set([word, ...others])].slice(0, MOST);
}

/** The dates that a word can mean, such as 17.05.1990, 1/5/49 or 1949-05-01. A year of two digits is in the past. */
function datesIn(word: string, year: number): string[] {
  const [, day = '', month = '', end = ''] = word.match(/^(\d{1,2})[./-](\d{1,2})[./-](\d{4}|\d{2})$/) ?? [];
  const years = end.length === 4 ? [end] : [`20${end}`, `19${end}`].filter((one) => Number(one) <= year);
  return (day ? years.map((one) => `${one}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`) : [word]).filter(
    isLocalDay,
  );
}

/** The code of a country at the beginning of a number: no code begins with another one (ITU-T E.164). */
const COUNTRY = /^(?:\+|00)(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/;

/** Digits together, or with a sign between two of them: as the groups of a number are written. */
const grouped = (digits: string): string =>
  [
    digits,
    ...Array.from(digits.slice(1)).flatMap((_, index) =>
      [' ', '-', '/'].map((sign) => `${digits.slice(0, index + 1)}${sign}${digits.slice(index + 1)}`),
    ),
  ].join(',');

/**
 * What a telephone number holds, however it was typed and is stored: its last seven digits without signs, country and leading
 * zero. A shorter one is a part of a number.
 */
function numberQuery(text: string): (readonly [string, string])[] {
  const digits = text.replace(/[^\d+]/g, '');
  const bare = digits.replace(COUNTRY, '').replace(/^0/, '');
  return (
    bare.length < 7
      ? [[...new Set([text, bare.length < 3 ? digits : bare])].join(',')]
      : [grouped(bare.slice(-4)), grouped(bare.slice(-7, -4))]
  ).map((part) => ['phone:contains', part]);
}

/**
 * Typed text as a search for patients: a telephone number, else words, of which dates are the date of birth, and all others
 * are parts of the name, however they are spelled.
 *
 * @param year - the year that it is now
 */
export function patientQuery(text: string, year: number): readonly (readonly [string, string])[] {
  const typed = text.trim();
  const words = typed.split(/[\s,]+/).filter(Boolean);
  if (/^[+\d][\d\s()/-]{4,}$/.test(typed) && !words.some((word) => datesIn(word, year).length > 0)) {
    return numberQuery(typed);
  }
  return words.map((word) => {
    const dates = datesIn(word, year);
    return dates.length > 0
      ? (['birthdate', dates.join(',')] as const)
      : (['name', spellingsOf(word).join(',')] as const);
  });
}
