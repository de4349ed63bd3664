import { describe, expect, it, test } from '@jest/globals';
import type { HealthcareService, Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { publishingOf } from '../../../core/calendar/parameters/schedule-calendar.ts';
import { nextDay, outdated, type ScheduleState } from '../../../core/calendar/publish/due.ts';
import type { Publication } from '../../../core/calendar/publish/publication.ts';
import { type PublishState, planSlots } from '../../../core/calendar/publish/publish.ts';
import type { Closure } from '../../../core/calendar/time/not-available.ts';
import {
  actor,
  at,
  calendar,
  carriedOut,
  code,
  config,
  minutes,
  monday,
  publish,
  scheduleOf,
  service,
  slot,
  stateOf,
  times,
  visit,
} from './support.ts';

const morning = ['09:00–09:30', '09:30–10:00', '10:00–10:30', '10:30–11:00', '11:00–11:30', '11:30–12:00'];

/** Slots with one of them changed, as staff or a booking would. */
function with_(slots: readonly Slot[], time: string, change: Partial<Slot>): Slot[] {
  return slots.map((one) => (one.start === at(time) && one.status === 'free' ? { ...one, ...change } : one));
}

function again(
  slots: readonly Slot[],
  more: Partial<PublishState> = {},
  services?: readonly HealthcareService[],
): Slot[] {
  return publish(stateOf(slots, more, services));
}

describe('publishing opening hours', () => {
  const slots = publish(stateOf());

  it('says whom they are for, and follows the service when that changes; what others have added stays', () => {
    const url = 'https://example.org/fhir/StructureDefinition/LocalPayerKind';
    const payers = (...codes: string[]) => codes.map((one) => ({ url, valueCoding: { system: 'urn:p', code: one } }));
    const other = { url: 'urn:other', valueBoolean: true };
    const served = (...codes: string[]) => service([], { extension: [...service().extension, ...payers(...codes)] });
    const own = publish(stateOf([], {}, [served('private')])).map((one) => ({
      ...one,
      extension: [other, ...(one.extension ?? [])],
    }));
    expect(again(own, {}, [served('private')])).toEqual(own);
    const changed = again(own, {}, [served('statutory', 'private')]);
    expect(changed.map(({ extension }) => extension)).toEqual(
      own.map(() => [other, ...payers('statutory', 'private')]),
    );
    expect(again(changed).map(({ extension }) => extension)).toEqual(own.map(() => [other]));
  });

  it('begins each place on the grid, as many places as the service has', () => {
    const quarter = service([
      minutes('alignmentInterval', 60),
      minutes('alignmentOffset', 15),
      { url: 'slotCapacity', valuePositiveInt: 2 },
    ]);
    expect(times(publish(stateOf([], {}, [quarter])))).toEqual([
      '09:15–09:45',
      '09:15–09:45',
      '10:15–10:45',
      '10:15–10:45',
      '11:15–11:45',
      '11:15–11:45',
    ]);
  });

  it('withdraws what no longer fits and gives it back under the same identity', () => {
    const short = service([], {
      availableTime: [{ daysOfWeek: ['mon'], availableStartTime: '10:00:00', availableEndTime: '11:00:00' }],
    });
    const narrowed = again(slots, {}, [short]);
    expect(times(narrowed)).toEqual(['10:00–10:30', '10:30–11:00']);
    const widened = again(narrowed);
    expect(times(widened)).toEqual(morning);
    expect(widened).toHaveLength(slots.length);
  });

  it('does not publish again what was split off from a booked Slot', () => {
    const [first] = slots;
    const split = [
      ...with_(slots, '09:00', { status: 'busy', end: at('09:10') }),
      slot('rest', '09:10', '09:30', 'free', {
        identifier: [{ system: 'https://example.org/fhir/NamingSystem/LocalSlotOrigin', value: first?.id ?? '' }],
      }),
    ];
    expect(planSlots(stateOf(split), config).changes).toEqual([]);
    const closed = planSlots(stateOf(split, { publishing: { kind: 'off', reason: 'no-service' } }), config);
    expect(times(carriedOut(split, closed))).toEqual([]);
    expect(times(carriedOut(split, closed), 'busy')).toEqual(['09:00–09:10']);
  });

  it('offers the time of two services once: what is booked for one is withdrawn for the other', () => {
    const long = service([minutes('duration', 60), minutes('alignmentInterval', 60)], { id: 'long' });
    const schedule = scheduleOf([visit, long]);
    const both = publish(stateOf([], { schedule }, [visit, long]));
    expect(times(both)).toHaveLength(9);
    const booked = again(
      with_(
        both.filter(({ end }) => end === at('09:30')),
        '09:00',
        { status: 'busy' },
      ).concat(both.filter(({ end }) => end !== at('09:30'))),
      { schedule },
      [visit, long],
    );
    expect(times(booked)).not.toContain('09:00–10:00');
    expect(times(booked)).toContain('09:30–10:00');
  });
});

describe('taken time', () => {
  it('blocks only the service it names, unless it is an appointment', () => {
    const other = { serviceType: [{ coding: [{ system: 'urn:services', code: 'other' }] }] };
    expect(times(again([slot('block', '09:00', '10:00', 'busy-unavailable', other)]))).toEqual(morning);
    expect(times(again([slot('booked', '09:00', '10:00', 'busy', other)]))).toEqual(morning.slice(2));
    expect(times(again([slot('block', '09:00', '10:00', 'busy-unavailable', { serviceType: visit.type })]))).toEqual(
      morning.slice(2),
    );
  });
});

describe('closed days', () => {
  const christmas = (start: string, end: string): Closure => ({
    description: 'Closed',
    period: { start, end },
    path: 'p',
  });
  const slots = publish(stateOf());

  it('end after they start: a closure that does not is named, and keeps back neither offers nor other closures', () => {
    const [valid, wrong] = [christmas('2027-01-04', '2027-01-04'), christmas('2027-01-05', '2027-01-04')];
    const { problems } = planSlots(stateOf(slots, { closedDays: [wrong] }), config);
    expect(problems).toEqual([{ code: 'period-invalid', diagnostics: expect.any(String), expression: 'p' }]);
    expect(times(again([], { closedDays: [wrong] }))).toEqual(morning);
    const closed = again(slots, { closedDays: [wrong, valid] });
    expect(times(closed)).toEqual([]);
    // It may have been the one that stands wrong now.
    expect(times(again(closed, { closedDays: [wrong] }))).toEqual([]);
  });

  it.each([
    ['without an end', { start: '2027-01-01' }],
    ['without a start', { end: '2027-01-04' }],
    ['of 14 months', { start: '2026-11-01', end: '2027-12-31' }],
  ])('%s are named and close, a block a day, which ends with them', (_, period) => {
    const closedDays = [{ description: 'Closed', period, path: 'p' }];
    const { problems } = planSlots(stateOf(slots, { closedDays }), config);
    expect(problems.map(({ expression }) => expression)).toEqual(['p']);
    const closed = again(slots, { closedDays });
    const later = { closedDays, now: monday + 1 };
    expect([times(closed), planSlots(stateOf(closed, later), config).changes]).toEqual([[], []]);
    const moved = christmas('2027-02-01', '2028-12-31');
    expect(times(again(closed, { closedDays: [moved] }))).toEqual(morning);
  });
});

describe('what is published of a Schedule', () => {
  it('ends with the planning horizon of the Schedule, else with the day', () => {
    const schedule = { ...calendar, planningHorizon: { start: '2027-01-04', end: '2027-01-18' } };
    expect(times(publish(stateOf([], { schedule })))).toHaveLength(18);
    expect(publish(stateOf([], { horizonWeeks: 1 }))).toHaveLength(12);
    expect(publish(stateOf([], { now: monday + 1 }))).toHaveLength(6);
  });
});

const clock = (quarter: number): string =>
  at('00:00').replace(/T.*/, new Date(Date.parse(at('00:00')) + quarter * 900_000).toISOString().slice(10));

const stored = (id: string, from: number, length: number, status: Slot['status']): Slot => ({
  ...slot(id, '09:00', '09:30', status),
  start: clock(from),
  end: clock(from + length),
});

const byHand = fc.record({
  from: fc.integer({ min: 34, max: 50 }),
  length: fc.integer({ min: 1, max: 6 }),
  status: fc.constantFrom<Slot['status']>('free', 'busy', 'busy-unavailable'),
});

it('publishing finds nothing left to do when it has been done, whatever staff have made by hand', () => {
  const buffers = fc.constantFrom(0, 5, 15);
  fc.assert(
    fc.property(
      fc.array(byHand, { maxLength: 6 }),
      buffers,
      buffers,
      fc.constantFrom(1, 2),
      (made, before, after, capacity) => {
        const services = [
          service([
            minutes('bufferBefore', before),
            minutes('bufferAfter', after),
            minutes('alignmentInterval', 15),
            { url: 'slotCapacity', valuePositiveInt: capacity },
          ]),
        ];
        const slots = made.map(({ from, length, status }, index) => stored(`hand-${index}`, from, length, status));
        const once = publish(stateOf(slots, {}, services));
        expect(planSlots(stateOf(once, {}, services), config).changes).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
});

const publication: Publication = {
  ...{ schedule: 's', status: 'completed', due: 500, from: 100, inputs: 'a', began: 50 },
  services: ['h'],
};

describe('a Schedule in a sweep', () => {
  const now = 1_000;
  const again = (inputs = 'a') => ({ schedule: 's', status: 'accepted', due: now, inputs });

  test.each<[string, Partial<ScheduleState>, object | undefined]>([
    ['is left alone when nothing has changed', {}, undefined],
    ['is due when what it is made from has changed', { inputs: 'b' }, again('b')],
    ['is due when it has never been published', { publication: undefined }, again()],
    ['is not due when it has no opening hours', { publication: undefined, takesPart: false }, undefined],
    ['is due when somebody has cancelled it', { publication: { ...publication, status: 'cancelled' } }, again()],
    ['is due when it has no opening hours any more', { takesPart: false, inputs: 'b' }, again('b')],
    ['is left to a run that has read the same', { publication: { ...publication, status: 'in-progress' } }, undefined],
    ['is taken from a run that has read something else', { publication: { ...publication, inputs: 'b' } }, again()],
    ['is not due twice', { publication: { schedule: 's', status: 'accepted', due: 900, inputs: 'a' } }, undefined],
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
