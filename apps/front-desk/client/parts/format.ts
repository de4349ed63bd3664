import type { Interval } from '../../../../core/time/interval.ts';
import { isLocalDay, localDayOf } from '../../../../core/time/local-day.ts';
import { isShownTwice } from '../../../../core/time/time-zone.ts';
import type { Language } from '../../../../packages/web/language.ts';
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

/** The name of the offset, for a time that occurs twice because of a clock change. */
const zoneOf = (time: number): Intl.DateTimeFormatOptions =>
  isShownTwice(timeZone, time) ? { timeZoneName: 'short' } : {};

/** A time of the clinic: 09:30; if it occurs twice because of a clock change, with its offset: 02:30 CEST. */
export const timeText = (time: number, language: Language): string =>
  formatter(language, { hour: '2-digit', minute: '2-digit', ...zoneOf(time) }).format(time);

/** Whether an interval lies within one day. It may end at midnight. */
export const isWithinDay = ({ start, end }: Interval): boolean =>
  localDayOf(start, timeZone) === localDayOf(end - 1, timeZone);

/** An interval: 09:30–10:00; over several days: Mon 11 Jan, 14:00 – Wed 13 Jan, 10:00. */
export const spanText = (time: Interval, language: Language): string =>
  isWithinDay(time)
    ? `${timeText(time.start, language)}–${timeText(time.end, language)}`
    : `${momentText(time.start, language)} – ${momentText(time.end, language)}`;

/** A day with its name: Monday, 11 January 2027. */
export const dayText = (time: number, language: Language): string =>
  formatter(language, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }).format(time);

/** A day in few letters: Mon 11 Jan. */
export const shortDayText = (time: number, language: Language): string =>
  formatter(language, { weekday: 'short', day: 'numeric', month: 'short' }).format(time);

/** A day and a time: Mon 11 Jan, 09:30. */
export const momentText = (time: number, language: Language): string =>
  formatter(language, {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    hour: '2-digit',
    minute: '2-digit',
    ...zoneOf(time),
  }).format(time);

/** A date without a time: 17 May 1990, so that day and month are not confused. A year or a month alone stays one. */
export const dateText = (date: string, language: Language): string =>
  isLocalDay(date)
    ? new Intl.DateTimeFormat(locales[language], { timeZone: 'UTC', dateStyle: 'medium' }).format(Date.parse(date))
    : date;
