import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { dateRange } from '../../../core/time/local-day.ts';
import { DAY, instantOf, isShownTwice, isTimeZone, localTimeOf } from '../../../core/time/time-zone.ts';
import { days, firstDay, zones } from './zones.ts';

const range = (value: string, timeZone = 'Europe/Berlin') => {
  const found = dateRange(value, timeZone);
  return found && [found.start, found.end].map((time) => new Date(time).toISOString().replace(':00.000Z', 'Z'));
};

describe('the moments that a date stands for', () => {
  it.each<[string, string, string]>([
    ['2027', '2026-12-31T23:00Z', '2027-12-31T23:00Z'],
    ['2027-02', '2027-01-31T23:00Z', '2027-02-28T23:00Z'],
    ['2027-12', '2027-11-30T23:00Z', '2027-12-31T23:00Z'],
    ['2028-02-29', '2028-02-28T23:00Z', '2028-02-29T23:00Z'],
    ['2027-07-01T10:00', '2027-07-01T08:00Z', '2027-07-01T08:01Z'],
    ['2027-07-01T10:00:00', '2027-07-01T08:00Z', '2027-07-01T08:00:01.000Z'],
    ['2027-07-01T10:00:00.5Z', '2027-07-01T10:00:00.500Z', '2027-07-01T10:00:00.600Z'],
    ['2027-07-01T10:00:00.1239Z', '2027-07-01T10:00:00.123Z', '2027-07-01T10:00:00.124Z'],
    ['2027-07-01T10:00-05:30', '2027-07-01T15:30Z', '2027-07-01T15:31Z'],
  ])('%s', (value, start, end) => {
    expect(range(value)).toEqual([start, end]);
  });

  it.each<[string, string, string, string]>([
    ['of 23 hours', '2027-03-28', '2027-03-27T23:00Z', '2027-03-28T22:00Z'],
    ['of 25 hours', '2027-10-31', '2027-10-30T22:00Z', '2027-10-31T23:00Z'],
    ['a time that is shown twice', '2027-10-31T02:59', '2027-10-31T00:59Z', '2027-10-31T01:00Z'],
    ['a time that is skipped', '2027-03-28T02:59', '2027-03-28T01:59Z', '2027-03-28T02:00Z'],
  ])('on the days on which the clocks change: %s', (_, value, start, end) => {
    expect(range(value)).toEqual([start, end]);
  });

  it.each([
    '',
    '27',
    '2027-13',
    '2027-02-29',
    '2027-1-1',
    '2027-01-01T10',
    '2027-01-01T24:00',
    '2027-01-01T10:00:60Z',
    '2027-01T10:00',
    '2027-02-30T10:00Z',
    '2027-01-01T10:00+1',
    '2027-01-01 10:00',
    '2027-01-01T10:00:00.Z',
  ])('is none of %j', (value) => {
    expect(range(value)).toBeUndefined();
  });

  it.each(zones)('is in %s the day that Temporal gives', (timeZone) => {
    fc.assert(
      fc.property(fc.integer({ min: -20_000, max: 60_000 }), (day) => {
        const date = Temporal.PlainDate.from('1970-01-01').add({ days: day });
        const [start, end] = [date, date.add({ days: 1 })].map(
          (plainDate) => plainDate.toZonedDateTime(timeZone).epochMilliseconds,
        );
        expect(dateRange(date.toString(), timeZone)).toEqual({ start, end });
      }),
      { numRuns: 100 },
    );
  });
});

/** A local time, given as if it were UTC, as an independent implementation of time zones reads it. */
function instantByTemporal(timeZone: string, localTime: number): number {
  const plain = Temporal.Instant.fromEpochMilliseconds(localTime).toZonedDateTimeISO('UTC').toPlainDateTime();
  return plain.toZonedDateTime(timeZone).epochMilliseconds;
}

function localByTemporal(timeZone: string, time: number): number {
  const plain = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone).toPlainDateTime();
  return plain.toZonedDateTime('UTC').epochMilliseconds;
}

function isAmbiguousByTemporal(timeZone: string, time: number): boolean {
  const plain = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone).toPlainDateTime();
  const [earlier, later] = (['earlier', 'later'] as const).map((disambiguation) =>
    plain.toZonedDateTime(timeZone, { disambiguation }),
  );
  return earlier?.epochMilliseconds !== later?.epochMilliseconds;
}

describe.each(zones)('the clocks of %s', (timeZone) => {
  it('show the midnights of three years when Temporal says so', () => {
    const differing = Array.from({ length: days }, (_, day) => firstDay + day * DAY).filter(
      (midnight) => instantOf(timeZone, midnight) !== instantByTemporal(timeZone, midnight),
    );
    expect(differing).toEqual([]);
  });

  it('are read as by Temporal on the days on which they change', () => {
    const changes = Array.from({ length: days }, (_, day) => firstDay + day * DAY).filter(
      (day) => localTimeOf(timeZone, day) - day !== localTimeOf(timeZone, day + DAY) - day - DAY,
    );
    const quarters = changes.flatMap((day) =>
      Array.from({ length: 3 * 96 }, (_, quarter) => day - DAY + quarter * 900_000),
    );
    const differing = quarters.filter((time) => instantOf(timeZone, time) !== instantByTemporal(timeZone, time));
    expect(differing).toEqual([]);
    const notified = quarters.filter((time) => isShownTwice(timeZone, time) !== isAmbiguousByTemporal(timeZone, time));
    expect(notified).toEqual([]);
  });

  it('are read as by Temporal at any time, both ways', () => {
    const time = fc.integer({ min: firstDay, max: firstDay + days * DAY });
    fc.assert(
      fc.property(time, (one) => {
        expect(instantOf(timeZone, one)).toBe(instantByTemporal(timeZone, one));
        expect(localTimeOf(timeZone, one)).toBe(localByTemporal(timeZone, one));
      }),
      { numRuns: 100 },
    );
  });
});

describe('time zones', () => {
  it('are names of the IANA database in any letter case', () => {
    expect(
      ['Europe/Berlin', 'europe/berlin', 'UTC', 'Etc/UTC', 'Europe/Atlantis', '', 'CEST+1'].map(isTimeZone),
    ).toEqual([true, true, true, true, false, false, false]);
  });
});
