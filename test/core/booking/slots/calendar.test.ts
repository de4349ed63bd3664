import { describe, expect, it } from '@jest/globals';
import type { Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import {
  type Calendar,
  calendarEntries,
  calendarOf,
  join,
  release,
  take,
} from '../../../../core/booking/slots/calendar.ts';
import { findChain, mismatches } from '../../../../core/booking/slots/chain.ts';
import { formatInstant, parseInstant } from '../../../../core/fhir/instant.ts';

const minute = 60_000;
const origin = 'urn:origin';
const epoch = Date.parse('2027-01-04T08:00:00Z');

/** Free slots of one schedule, each from and to a whole minute of the day; they may overlap. */
const slots = fc
  .array(fc.record({ start: fc.integer({ min: 0, max: 600 }), length: fc.integer({ min: 1, max: 240 }) }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((list) => list.map(({ start, length }, index) => stored(`slot-${index}`, start, start + length)));

const interval = fc
  .record({ start: fc.integer({ min: -30, max: 700 }), length: fc.integer({ min: 1, max: 300 }) })
  .map(({ start, length }) => ({ start: epoch + start * minute, end: epoch + (start + length) * minute }));

function stored(id: string, start: number, end: number): Slot {
  return {
    resourceType: 'Slot',
    id,
    meta: { versionId: '1' },
    schedule: { reference: 'Schedule/s' },
    status: 'free',
    start: formatInstant(epoch + start * minute),
    end: formatInstant(epoch + end * minute),
  };
}

/** How often each minute is offered or taken, whatever the status, but for emptied slots. */
function minutes(calendar: Calendar): number[] {
  const counts = new Map<number, number>();
  for (const { start, end, status } of calendar.values()) {
    for (let moment = start; status !== 'entered-in-error' && moment < end; moment += minute) {
      counts.set(moment, (counts.get(moment) ?? 0) + 1);
    }
  }
  return [...counts].sort(([a], [b]) => a - b).flat();
}

function ids(): () => string {
  let count = 0;
  return () => `urn:uuid:${++count}`;
}

describe('take', () => {
  it('conserves every minute, and the part taken is exactly what the slot has of the interval', () => {
    fc.assert(
      fc.property(slots, interval, (resources, wanted) => {
        const before = calendarOf(resources, origin);
        const newId = ids();
        for (const { id } of before.values()) {
          const slot = before.get(id);
          const after = take(before, id, wanted, 'busy', newId);
          expect(minutes(after)).toEqual(minutes(before));
          const busy = [...after.values()].filter(({ status }) => status === 'busy');
          const common = slot && {
            start: Math.max(slot.start, wanted.start),
            end: Math.min(slot.end, wanted.end),
          };
          const expected = common && common.start < common.end ? [{ id, ...common }] : [];
          expect(busy.map(({ id, start, end }) => ({ id, start, end }))).toEqual(expected);
        }
      }),
    );
  });

  it('never lets two pieces of one slot overlap, however often it is cut', () => {
    fc.assert(
      fc.property(fc.array(interval, { maxLength: 12 }), (cuts) => {
        const newId = ids();
        const cut = cuts.reduce<Calendar>(
          (calendar, wanted) => {
            const free = [...calendar.values()].find(
              ({ status, start, end }) => status === 'free' && start <= wanted.start && wanted.end <= end,
            );
            return free ? take(calendar, free.id, wanted, 'busy', newId) : calendar;
          },
          calendarOf([stored('day', 0, 600)], origin),
        );
        const pieces = [...cut.values()].sort((a, b) => a.start - b.start);
        expect(pieces.every(({ start }, index) => start === (pieces[index - 1]?.end ?? start))).toBe(true);
      }),
    );
  });
});

describe('release and join', () => {
  it('makes a slot whole again once everything taken from it is given back', () => {
    fc.assert(
      fc.property(fc.array(interval, { minLength: 1, maxLength: 8 }), (cuts) => {
        const newId = ids();
        const day = calendarOf([stored('day', 0, 600)], origin);
        const cut = cuts.reduce<Calendar>((calendar, wanted) => {
          const free = [...calendar.values()].find(
            ({ status, start, end }) => status === 'free' && start <= wanted.start && wanted.end <= end,
          );
          return free ? take(calendar, free.id, wanted, 'busy', newId) : calendar;
        }, day);
        const released = [...cut.keys()].reduce(release, cut);
        const joined = join(released);
        expect(minutes(joined)).toEqual(minutes(day));
        expect([...joined.values()].filter(({ status }) => status === 'free')).toEqual([day.get('day')]);
      }),
    );
  });

  it('joins thousands of fragments in one go', () => {
    const count = 5_000;
    const fragments = Array.from({ length: count }, (_, index) => ({
      ...stored(index === 0 ? 'day' : `f${index}`, index, index + 1),
      ...(index > 0 && { identifier: [{ system: origin, value: 'day' }] }),
    }));
    const joined = [...join(calendarOf(fragments, origin)).values()];
    expect(joined.filter(({ status }) => status === 'free')).toMatchObject([
      { id: 'day', start: epoch, end: epoch + count * minute },
    ]);
    expect(joined.filter(({ status }) => status === 'entered-in-error')).toHaveLength(count - 1);
  });

  it('does not empty a piece that an open appointment refers to', () => {
    const rest = { ...stored('rest', 30, 60), identifier: [{ system: origin, value: 'day' }] };
    const join2 = (use: 'held' | 'given-back') => [
      ...join(calendarOf([stored('day', 0, 30), rest], origin, new Map([['rest', use]]))).values(),
    ];
    expect(join2('held').map(({ id, status }) => `${id} ${status}`)).toEqual(['day free', 'rest free']);
    expect(join2('given-back').map(({ id, status }) => `${id} ${status}`)).toEqual([
      'day free',
      'rest entered-in-error',
    ]);
  });

  it('uses an emptied slot again, unless an appointment refers to it', () => {
    const rest = { ...stored('rest', 30, 60), identifier: [{ system: origin, value: 'day' }] };
    const retake = (uses: Map<string, 'given-back'>) => [
      ...take(join(calendarOf([stored('day', 0, 30), rest], origin, uses)), 'day', quarter, 'busy', ids()).values(),
    ];
    const quarter = { start: epoch, end: epoch + 15 * minute };
    expect(retake(new Map()).map(({ id, status }) => `${id} ${status}`)).toEqual(['day busy', 'rest free']);
    expect(retake(new Map([['rest', 'given-back']])).map(({ id, status }) => `${id} ${status}`)).toEqual([
      'day busy',
      'rest entered-in-error',
      'urn:uuid:1 free',
    ]);
  });

  it('does not join slots that were never one', () => {
    const two = calendarOf([stored('a', 0, 30), stored('b', 30, 60)], origin);
    expect(join(two)).toBe(two);
  });

  it('leaves alone what the clinic has blocked', () => {
    const blocked = calendarOf([{ ...stored('a', 0, 30), status: 'busy-unavailable' }], origin);
    expect(release(blocked, 'a').get('a')?.status).toBe('busy-unavailable');
  });
});

describe('calendarEntries', () => {
  it('writes each changed slot with the version read, each new one with what belongs to the offer, and nothing else', () => {
    const serviceType = [{ coding: [{ system: 'urn:services', code: 'ct' }] }];
    const offer = {
      serviceCategory: [{ text: 'Imaging' }],
      serviceType,
      specialty: [{ text: 'Radiology' }],
      appointmentType: { text: 'Check-up' },
    };
    const meta = { versionId: '1', profile: ['urn:slot'], tag: [{ code: 'blue' }] };
    const resources = [{ ...stored('day', 0, 60), ...offer, meta, comment: 'internal' }, stored('other', 60, 90)];
    const wanted = { start: epoch + 30 * minute, end: epoch + 60 * minute };
    const entries = calendarEntries(take(calendarOf(resources, origin), 'day', wanted, 'busy', ids()), origin);
    expect(entries).toEqual([
      {
        request: { method: 'PUT', url: 'Slot/day', ifMatch: 'W/"1"' },
        resource: {
          ...resources[0],
          identifier: [{ system: origin, value: 'day' }],
          status: 'busy',
          start: '2027-01-04T08:30:00.000Z',
          end: '2027-01-04T09:00:00.000Z',
        },
      },
      {
        fullUrl: 'urn:uuid:1',
        request: { method: 'POST', url: 'Slot' },
        resource: {
          resourceType: 'Slot',
          schedule: { reference: 'Schedule/s' },
          meta: { profile: ['urn:slot'], tag: [{ code: 'blue' }] },
          ...offer,
          identifier: [{ system: origin, value: 'day' }],
          status: 'free',
          start: '2027-01-04T08:00:00.000Z',
          end: '2027-01-04T08:30:00.000Z',
        },
      },
    ]);
  });
});

describe('coverWith', () => {
  it('finds a chain without gap and overlap exactly when one exists', () => {
    const hasChain = (resources: Slot[], from: number, to: number, isFirst: boolean): boolean =>
      from >= to ||
      resources.some((resource) => {
        const start = parseInstant(resource.start) ?? 0;
        const end = parseInstant(resource.end) ?? 0;
        const fits = isFirst ? start <= from && from < end : start === from;
        return fits && hasChain(resources, end, to, false);
      });
    fc.assert(
      fc.property(slots, interval, (resources, wanted) => {
        const chain = findChain([...calendarOf(resources, origin).values()], wanted);
        expect(chain !== undefined).toBe(hasChain(resources, wanted.start, wanted.end, true));
        expect(chain ? mismatches(chain, wanted) : []).toEqual([]);
      }),
    );
  });
});
