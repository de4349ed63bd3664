/** Milliseconds of a day that has 24 hours. */
export const DAY = 86_400_000;

/** A year of 365 days, in milliseconds. */
export const YEAR = 365 * DAY;

const formatters = new Map<string, Intl.DateTimeFormat>();

/** Offsets are written as `GMT`, `GMT+05:30` or, long ago, `GMT-00:25:21`. */
const offsetPattern = /GMT(?:(?<sign>[+-])(?<hours>\d\d):(?<minutes>\d\d)(?::(?<seconds>\d\d))?)?$/;

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known) {
    return known;
  }
  const formatter = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  formatters.set(timeZone, formatter);
  return formatter;
}

/** Whether the runtime knows a time zone: an IANA name in any letter case, or an offset such as `+01:00`. */
export function isTimeZone(timeZone: string): boolean {
  try {
    formatterOf(timeZone);
    return true;
  } catch {
    return false;
  }
}

/**
 * The offset of a time zone from UTC, in milliseconds; positive east of Greenwich. `time` is milliseconds since 1970
 * UTC.
 * @throws RangeError if there is no such time zone
 */
export function offsetAt(timeZone: string, time: number): number {
  const found = offsetPattern.exec(formatterOf(timeZone).format(time))?.groups;
  const { sign, hours = '0', minutes = '0', seconds = '0' } = found ?? {};
  const size = Number(hours) * 3_600_000 + Number(minutes) * 60_000 + Number(seconds) * 1000;
  return sign === '-' ? -size : size;
}

/** The local time of an instant, as if it were UTC. */
export function localTimeOf(timeZone: string, time: number): number {
  return time + offsetAt(timeZone, time);
}

/**
 * The instant of a local time (as if it were UTC). For a time that occurs twice it is the earlier one. A time that is
 * skipped is read with the offset before the change (as in RFC 5545, and `Temporal`'s `compatible`).
 */
export function instantOf(timeZone: string, localTime: number): number {
  const before = offsetAt(timeZone, localTime - DAY);
  const after = offsetAt(timeZone, localTime + DAY);
  const possible = [localTime - before, localTime - after].filter((time) => localTimeOf(timeZone, time) === localTime);
  return possible.length > 0 ? Math.min(...possible) : localTime - before;
}

/** The first instant after `from` with another offset; `to` has one, too, and there is one change between the two. */
export function changeOfOffset(timeZone: string, from: number, to: number): number {
  const offset = offsetAt(timeZone, from);
  let [earlier, later] = [from, to];
  while (later - earlier > 1) {
    const middle = Math.floor((earlier + later) / 2);
    if (offsetAt(timeZone, middle) === offset) {
      earlier = middle;
    } else {
      later = middle;
    }
  }
  return later;
}

const MAX_CHANGE = 2 * 3_600_000;

/** Whether a local time occurs twice because the clocks go back that night. */
export function isShownTwice(timeZone: string, time: number): boolean {
  const offset = offsetAt(timeZone, time);
  return [-MAX_CHANGE, MAX_CHANGE].some((distance) => {
    const change = offset - offsetAt(timeZone, time + distance);
    return change !== 0 && offsetAt(timeZone, time + change) === offset - change;
  });
}

/** The local time of the first appointment of a regular series, calculated from any of them. */
export const firstLocalTime = (start: number, step: string, every: number, timeZone: string): number =>
  localTimeOf(timeZone, start) - (Number(step) - 1) * every * DAY;
