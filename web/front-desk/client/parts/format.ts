import type { Interval } from '../../../../core/time/interval.ts';
import type { Language } from '../../../server/language.ts';
import { config } from '../settings.ts';

const { timeZone } = config;
const locales: Readonly<Record<Language, string>> = { en: 'en-GB', de: 'de-DE' };

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(language: Language, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = language + JSON.stringify(options);
  const known = formatters.get(key) ?? new Intl.DateTimeFormat(locales[language], { timeZone, ...options });
  formatters.set(key, known);
  return known;
}

/** A time of the clinic: 09:30. */
export const timeText = (time: number, language: Language): string =>
  formatter(language, { hour: '2-digit', minute: '2-digit' }).format(time);

/** From when to when: 09:30–10:00. */
export const spanText = ({ start, end }: Interval, language: Language): string =>
  `${timeText(start, language)}–${timeText(end, language)}`;

/** A day with its name: Monday, 11 January 2027. */
export const dayText = (time: number, language: Language): string =>
  formatter(language, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }).format(time);

/** A day in few letters: Mon 11 Jan. */
export const shortDayText = (time: number, language: Language): string =>
  formatter(language, { weekday: 'short', day: 'numeric', month: 'short' }).format(time);

/** A day and a time: Mon 11 Jan, 09:30. */
export const momentText = (time: number, language: Language): string =>
  formatter(language, { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }).format(
    time,
  );

/** A date that has no time, such as a date of birth: 17/05/1990. */
export function dateText(date: string, language: Language): string {
  const time = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(time) ? date : new Intl.DateTimeFormat(locales[language], { timeZone: 'UTC' }).format(time);
}
