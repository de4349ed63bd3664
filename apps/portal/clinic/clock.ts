import { isLocalDay, localDayOf } from '../../../core/time/local-day.ts';
import { DAY, instantOf, isShownTwice, localTimeOf } from '../../../core/time/time-zone.ts';

/** The local time of the clinic, as patients read it. */
export interface Clock {
  readonly timeZone: string;
  /** For example `2027-03-28`. */
  readonly dayOf: (time: number) => string;
  /** 0 to 23. */
  readonly hourOf: (time: number) => number;
  /** The first instant of a local day, some days later. */
  readonly startOf: (day: string, daysLater?: number) => number;
  /** `Monday, 29 March 2027` */
  readonly longDay: (time: number) => string;
  /** `March 2027` */
  readonly month: (time: number) => string;
  /** `29` */
  readonly dayOfMonth: (time: number) => string;
  /** The days of a week from Monday on: `Monday`, `M`. */
  readonly weekdays: readonly (readonly [long: string, narrow: string])[];
  /** `Mon 29 Mar` */
  readonly shortDay: (time: number) => string;
  /** `09:30`; with the name of the zone's offset where the clocks show this time twice on that day. */
  readonly time: (time: number) => string;
  /** For example `Central European Summer Time`. */
  readonly zoneName: (time: number) => string;
}

const MONDAY = Date.UTC(2024, 0, 1);

/** Whether a value is a local day (`YYYY-MM-DD`) of this century. */
export function isDay(text: unknown): text is string {
  return isLocalDay(text) && text.startsWith('20');
}

function makeClock(timeZone: string, locale: string): Clock {
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(locale, { timeZone, ...options });
  const long = format({ dateStyle: 'full' });
  const short = format({ weekday: 'short', day: 'numeric', month: 'short' });
  const [month, dayOfMonth] = [format({ month: 'long', year: 'numeric' }), format({ day: 'numeric' })];
  const weekday = (weekday: 'long' | 'narrow') => new Intl.DateTimeFormat(locale, { weekday, timeZone: 'UTC' });
  const [weekdayLong, weekdayNarrow] = [weekday('long'), weekday('narrow')];
  const hour = format({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const hourWithZone = format({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZoneName: 'short' });
  const zone = format({ timeZoneName: 'long' });
  return {
    timeZone,
    dayOf: (time) => localDayOf(time, timeZone),
    hourOf: (time) => new Date(localTimeOf(timeZone, time)).getUTCHours(),
    startOf: (day, daysLater = 0) => instantOf(timeZone, Date.parse(`${day}T00:00:00Z`) + daysLater * DAY),
    month: (time) => month.format(time),
    dayOfMonth: (time) => dayOfMonth.format(time),
    weekdays: Array.from({ length: 7 }, (_, day) => {
      const time = MONDAY + day * DAY;
      return [weekdayLong.format(time), weekdayNarrow.format(time)];
    }),
    longDay: (time) => long.format(time),
    shortDay: (time) => short.format(time),
    time: (time) => (isShownTwice(timeZone, time) ? hourWithZone : hour).format(time),
    zoneName: (time) => zone.formatToParts(time).find(({ type }) => type === 'timeZoneName')?.value ?? timeZone,
  };
}

const clocks = new Map<string, Clock>();

/** Returns the clock of a time zone, formatted for a locale. */
export function clockOf(timeZone: string, locale: string): Clock {
  const key = `${locale} ${timeZone}`;
  const clock = clocks.get(key) ?? makeClock(timeZone, locale);
  clocks.set(key, clock);
  return clock;
}
