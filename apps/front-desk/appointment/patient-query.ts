import type { Patient } from '@medplum/fhirtypes';
import { normalized } from '../../../core/fhir/unicode.ts';
import { isLocalDay } from '../../../core/time/local-day.ts';
import { listOf } from '../../../packages/web/elements.ts';

/** The parameters of one search for patients. */
export type PatientQuery = readonly (readonly [string, string])[];

/** Letters without a decomposition in Unicode, and their plain spelling. */
const unmarked: Readonly<Record<string, string>> = {
  ß: 'ss',
  ı: 'i',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  æ: 'ae',
  œ: 'oe',
};

/** A text in lower case without diacritics: Yılmaz equals Yilmaz, Sørensen equals Sorensen. */
const folded = (text: string): string =>
  normalized(text.toLowerCase(), 'NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[ßıøłđðþæœ]/g, (letter) => unmarked[letter] ?? letter);

/** A text for comparison: ä, ae and a become equal. */
export const comparable = (text: string): string => folded(text).replace(/([aou])e/g, '$1');

const wordsIn = (text: string): string[] => text.split(/[^\p{L}\p{N}\p{M}]+/u).filter(Boolean);

/** Typed letters and their possible stored spellings, frequent ones first. */
const spellings: readonly (readonly [string, readonly string[]])[] = [
  ['ae', ['ä', 'a', 'æ']],
  ['oe', ['ö', 'o', 'œ']],
  ['ue', ['ü', 'u']],
  ['ss', ['ß']],
  ['i', ['ı']],
  ['s', ['ş', 'š']],
  ['o', ['ö', 'ø', 'oe']],
  ['u', ['ü', 'ue']],
  ['a', ['ä', 'ae']],
  ['e', ['é', 'è']],
  ['c', ['ç', 'ć', 'č']],
  ['g', ['ğ']],
  ['z', ['ž', 'ż']],
  ['l', ['ł']],
  ['n', ['ñ', 'ń']],
  ['a', ['á', 'å', 'ą', 'à', 'â', 'ã', 'ă']],
  ['e', ['ê', 'ë', 'ę', 'ě']],
  ['i', ['í', 'ï', 'î', 'i̇']],
  ['o', ['ó', 'ô', 'ő', 'õ', 'ò']],
  ['u', ['ú', 'ů', 'ű', 'û', 'ù']],
  ['s', ['ś', 'ș']],
  ['d', ['đ', 'ď']],
  ['r', ['ř']],
  ['t', ['ţ', 'ť', 'ț']],
  ['y', ['ý', 'ÿ']],
  ['z', ['ź']],
  ['n', ['ň']],
];

/** Letters of one language that often occur together in one name. */
const lettersOfLanguages: readonly (readonly (readonly [string, string])[])[] = [
  [
    ['i', 'ı'],
    ['s', 'ş'],
    ['o', 'ö'],
    ['u', 'ü'],
    ['g', 'ğ'],
    ['c', 'ç'],
  ],
  [
    ['c', 'č'],
    ['s', 'š'],
    ['c', 'ć'],
    ['z', 'ž'],
  ],
];

const MAX = 64;

/** The typed word, then other spellings: one or two letters replaced everywhere, then one at a time. */
function spellingsOf(word: string): string[] {
  const typed = word.toLowerCase();
  const plain = folded(word);
  const single = spellings.flatMap(([letters, instead]) =>
    Array.from(plain, (_, index) => index)
      .filter((index) => plain.startsWith(letters, index))
      .flatMap((index) => instead.map((one) => plain.slice(0, index) + one + plain.slice(index + letters.length))),
  );
  const pairs = lettersOfLanguages.flatMap((language) =>
    language.flatMap(([from, to], index) => [
      plain.replaceAll(from, to),
      ...language.slice(index + 1).map(([from2, to2]) => plain.replaceAll(from, to).replaceAll(from2, to2)),
    ]),
  );
  const german = typed.replace(/[äöü]/g, (letter) => `${folded(letter)}e`);
  const accents = plain.replace(/e(.+?)e/, 'é$1è');
  return [...new Set([word, plain, german, ...pairs, accents, ...single])].slice(0, MAX);
}

/** The first three letters of a word in all spellings. */
function beginningsOf(word: string): string[] {
  const plain = folded(word);
  let found = [''];
  for (const letter of plain.slice(0, 3)) {
    const others = spellings.filter(([typed]) => typed === letter).flatMap(([, instead]) => instead);
    found = [letter, ...others.filter((one) => Array.from(one).length === 1)].flatMap((one) =>
      found.map((before) => before + one),
    );
  }
  return found.slice(0, 4 * MAX);
}

const twoDigits = (text: string): string => text.padStart(2, '0');

/** Dates that a text can mean: 17.05.1990, 1/5/49, 17051990, 170590, 1949-05-01. A two-digit year is in the past. */
function datesIn(text: string, year: number): string[] {
  const [, day = '', month = '', end = ''] =
    text.match(/^(\d{1,2})[./\s-]+(\d{1,2})[./\s-]+(\d{4}|\d{2})$/) ?? text.match(/^(\d\d)(\d\d)(\d{4}|\d\d)$/) ?? [];
  const years = end.length === 4 ? [end] : [`20${end}`, `19${end}`].filter((one) => Number(one) <= year);
  const written = text.replace(/^(\d{4})(\d\d)(\d\d)$/, '$1-$2-$3');
  return [...(day ? years.map((one) => `${one}-${twoDigits(month)}-${twoDigits(day)}`) : []), written].filter(
    isLocalDay,
  );
}

function yearIn(text: string, year: number): PatientQuery {
  const isYear = /^(19|20)\d\d$/.test(text) && Number(text) <= year;
  return isYear
    ? [
        ['birthdate', `ge${text}-01-01`],
        ['birthdate', `le${text}-12-31`],
      ]
    : [];
}

/** The country code of a phone number. No code is the beginning of another (ITU-T E.164). */
const COUNTRY = /^(?:\+|00)(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/;

/** The digits together, and with a separator at each position: phone numbers are stored in groups. */
const grouped = (digits: string): string =>
  [
    digits,
    ...Array.from(digits.slice(1)).flatMap((_, index) =>
      [' ', '-', '/'].map((sign) => `${digits.slice(0, index + 1)}${sign}${digits.slice(index + 1)}`),
    ),
  ].join(',');

/** Matches a phone number by its last seven digits, in any notation. Fewer digits match any part of a number. */
function numberQuery(text: string): PatientQuery {
  const digits = text.replace(/[^\d+]/g, '');
  const bare = digits.replace(COUNTRY, '').replace(/^0/, '');
  const parts =
    bare.length >= 7
      ? [grouped(bare.slice(-4)), grouped(bare.slice(-7, -4))]
      : [[...new Set([text, ...(bare.length < 3 ? [digits] : grouped(bare).split(','))])].join(',')];
  return parts.map((part) => ['phone:contains', part]);
}

function wordQuery(word: string, year: number): PatientQuery {
  const dates = datesIn(word, year);
  const ofYear = yearIn(word, year);
  return dates.length > 0
    ? [['birthdate', dates.join(',')]]
    : ofYear.length > 0
      ? ofYear
      : [['name', spellingsOf(word).join(',')]];
}

/**
 * The searches for a typed text, whose results belong together. The text is an e-mail address, a date or year of birth,
 * a phone number or its last digits, or words. Among words, a date is the date of birth; all others begin a part of the
 * name in any spelling. `year` is the current one.
 */
export function patientQueries(text: string, year: number): readonly PatientQuery[] {
  const typed = text.trim();
  if (typed.includes('@')) {
    return [[['email:contains', typed.replaceAll(',', '')]]];
  }
  const dates = datesIn(typed, year);
  const isNumber = /^[+\d][\d\s()/-]{2,}$/.test(typed);
  if (dates.length > 0 || isNumber) {
    const birth: PatientQuery = dates.length > 0 ? [['birthdate', dates.join(',')]] : yearIn(typed, year);
    const hasSigns = /[./-]/.test(typed) && dates.length > 0;
    return [birth, hasSigns ? [] : numberQuery(typed)].filter(({ length }) => length > 0);
  }
  const words = typed.split(/[\s,]+/).filter(Boolean);
  return words.length > 0 ? [words.flatMap((word) => wordQuery(word, year))] : [];
}

/** A fallback search by the first letters of the names, with any diacritics. `isMeant` filters its results. */
export function widerQuery(text: string, year: number): PatientQuery | undefined {
  const words = text.split(/[\s,]+/).filter(Boolean);
  const names = words.filter((word) => wordQuery(word, year).every(([name]) => name === 'name'));
  return names.length > 0 && names.every((word) => folded(word).length >= 3 && !word.includes('@'))
    ? words.flatMap(
        (word): PatientQuery =>
          names.includes(word) ? [['name', beginningsOf(word).join(',')]] : wordQuery(word, year),
      )
    : undefined;
}

/** Whether two names are equal in any spelling. */
export const isSameName = (one: string, other: string): boolean =>
  wordsIn(comparable(one)).join(' ') === wordsIn(comparable(other)).join(' ');

/** A new patient from a search without results: a date is the date of birth, the last word the family name. */
export function newPatientIn(text: string, year: number): { given: string; family: string; birthDate: string } {
  const words = text.split(/[\s,]+/).filter(Boolean);
  const birthDate = words.flatMap((word) => datesIn(word, year).slice(0, 1)).at(-1) ?? '';
  const names = words.filter((word) => !/[\d@]/.test(word));
  return { given: names.slice(0, -1).join(' '), family: names.at(-1) ?? '', birthDate };
}

/** Whether each typed word without digits begins a part of the patient's name. */
export function isMeant({ name }: Patient, text: string): boolean {
  const parts = listOf(name).flatMap(({ given, family, text: whole }) =>
    wordsIn([given, family, whole].flat().join(' ')).map(comparable),
  );
  const typed = wordsIn(text).filter((word) => !/\d/.test(word));
  return typed.every((word) => parts.some((part) => part.startsWith(comparable(word))));
}
