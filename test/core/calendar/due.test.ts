import { describe, expect, it, test } from '@jest/globals';
import type { Task } from '@medplum/fhirtypes';
import { publishingOf } from '../../../core/calendar/parameters/schedule-calendar.ts';
import { type Line, nextDay, nextOf, outdated, type Standing } from '../../../core/calendar/publish/due.ts';
import {
  lookIn,
  lookTask,
  type Publication,
  publicationIn,
  publicationTask,
  rowEntry,
} from '../../../core/calendar/publish/publication.ts';
import { actor, code, config, scheduleOf, service } from './support.ts';

const publication: Publication = { schedule: 's', status: 'completed', due: 500, from: 100, inputs: 'a', began: 50 };

describe('a row', () => {
  it('keeps a publication', () => {
    expect(publicationIn(publicationTask(publication, config))).toEqual(publication);
  });

  it.each([0, undefined])('keeps a look at all Schedules (%p)', (offset) => {
    const look = { status: 'in-progress', due: 500, began: 100, offset } as const;
    expect(lookIn(lookTask(look, config))).toEqual(look);
    expect(lookIn(publicationTask(publication, config))).toBeUndefined();
  });

  it('is changed by every write', () => {
    let row: Task = { ...publicationTask(publication, config), id: 'row', meta: { versionId: '7' } };
    const seen = new Set([row.description]);
    for (let count = 1; count <= 12; count++) {
      const { request, resource } = rowEntry(row);
      expect(request).toEqual({ method: 'PUT', url: 'Task/row', ifMatch: 'W/"7"' });
      row = resource as Task;
      seen.add(row.description);
    }
    expect(seen.size).toBe(13);
    expect(publicationIn(row)).toEqual(publication);
  });
});

describe('a Schedule that is looked at', () => {
  const now = 1_000;
  const anew = { schedule: 's', status: 'accepted', due: now };
  const earlier = { ...publication, due: undefined };

  test.each<[string, Partial<Standing>, object | undefined]>([
    ['is left alone when nothing has changed', {}, undefined],
    ['is due when what it is made from has changed', { inputs: 'b' }, anew],
    ['is due when it has never been published', { publication: undefined }, anew],
    ['is not due when it has no opening hours', { publication: undefined, takesPart: false }, undefined],
    ['is due when somebody has cancelled it', { publication: { ...publication, status: 'cancelled' } }, anew],
    ['is due when it has no opening hours any more', { takesPart: false, inputs: 'b' }, anew],
    ['is left to a run that has read the same', { publication: { ...publication, status: 'in-progress' } }, undefined],
    [
      'is taken from a run that may have read something else',
      { publication: { schedule: 's', status: 'in-progress', due: 2_000 } },
      anew,
    ],
    [
      'begins again under a run that is about it',
      { publication: { schedule: 's', status: 'accepted', due: 2_000 } },
      anew,
    ],
    ['is not due twice', { publication: { schedule: 's', status: 'accepted', due: 900 } }, undefined],
    [
      'goes on where it was if its row is of an earlier version',
      { publication: { ...earlier, status: 'accepted' } },
      { ...earlier, status: 'in-progress', due: now },
    ],
    ['begins again if that row says it failed', { publication: { ...earlier, status: 'failed' } }, anew],
  ])('%s', (_, more, expected) => {
    expect(outdated('s', { publication, takesPart: true, inputs: 'a', ...more }, now)).toEqual(expected);
  });
});

describe('the next day of a calendar', () => {
  const inZones = (...zones: string[]) => {
    const services = zones.map((zone, index) => ({ ...service([code('timezone', zone)]), id: `${index}` }));
    return publishingOf({ schedule: scheduleOf(services), services, actor }, config);
  };

  it.each([
    ['at midnight in its time zone', ['Europe/Berlin'], '2027-01-03T23:30:00+01:00', '2027-01-04T00:00:00+01:00'],
    ['a day after midnight', ['Europe/Berlin'], '2027-01-04T00:00:00+01:00', '2027-01-05T00:00:00+01:00'],
    ['at the earliest of several', ['Europe/Berlin', 'Asia/Tokyo'], '2027-01-03T10:00:00Z', '2027-01-03T15:00:00Z'],
    ['after 23 hours', ['Europe/Berlin'], '2027-03-28T00:00:00+01:00', '2027-03-29T00:00:00+02:00'],
    ['after 25 hours', ['Europe/Berlin'], '2027-10-31T00:00:00+02:00', '2027-11-01T00:00:00+01:00'],
    ['where nothing is published, in the zone of the installation', [], '2027-01-03T10:00:00Z', '2027-01-04T00:00:00Z'],
  ])('begins %s', (_, zones, now, expected) => {
    expect(nextDay(inZones(...zones), Date.parse(now), 'UTC')).toBe(Date.parse(expected));
  });
});

describe('what a run does next', () => {
  const rows = (count: number, from?: number): Task[] =>
    Array.from({ length: count }, (_, index) =>
      publicationTask({ schedule: `${from}-${index}`, status: 'accepted', from }, config),
    );
  const look = lookTask({ status: 'accepted', due: 0, began: 0, offset: 0 }, config);
  const [few, many, others] = [rows(20), rows(21), rows(1_000, 1)];
  const booked: Line = { nearest: few, others, isBooked: true };

  it.each<[string, Line, readonly Task[], boolean]>([
    ['everything if nobody books, the nearest days first', { ...booked, isBooked: false }, [...few, ...others], true],
    ['the nearest days of a few while somebody books', booked, few, true],
    ['all in the share of the time if they are many', { ...booked, nearest: many }, [...many, ...others], false],
    ['all in the share of the time if the nearest days are done', { ...booked, nearest: [] }, others, false],
    ['the look at all first', { ...booked, nearest: [...many, look] }, [look], true],
    ['nothing if nothing is due', { nearest: [], others: [], isBooked: true }, [], false],
  ])('%s', (_, line, expected, isAtOnce) => {
    expect(nextOf(line, 0.02, 6_000)).toEqual({ rows: expected, isAtOnce });
  });

  it('everything, too, if the share is all that a run has', () => {
    expect(nextOf({ ...booked, nearest: many }, 0.1, 6_000)).toEqual({ rows: [...many, ...others], isAtOnce: true });
  });
});
