import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { DAY, instantOf, isShownTwice, isTimeZone, localTimeOf } from '../../../core/time/time-zone.ts';
import { days, firstDay, zones } from './zones.ts';

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
  it('show the midnights of ten years when Temporal says so', () => {
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
    const told = quarters.filter((time) => isShownTwice(timeZone, time) !== isAmbiguousByTemporal(timeZone, time));
    expect(told).toEqual([]);
  });

  it('are read as by Temporal at any time, both ways', () => {
    const time = fc.integer({ min: firstDay, max: firstDay + days * DAY });
    fc.assert(
      fc.property(time, (one) => {
        expect(instantOf(timeZone, one)).toBe(instantByTemporal(timeZone, one));
        expect(localTimeOf(timeZone, one)).toBe(localByTemporal(timeZone, one));
      }),
      { numRuns: 300 },
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
