import { describe, expect, it } from '@jest/globals';
import type { HealthcareService, HealthcareServiceAvailableTime, Schedule } from '@medplum/fhirtypes';
import { checkOpeningHours } from '../../../core/calendar/parameters/check-opening-hours.ts';
import { publishingOf } from '../../../core/calendar/parameters/schedule-calendar.ts';
import { windowsFrom } from '../../../core/calendar/publish/publication.ts';
import { DAY } from '../../../core/time/time-zone.ts';
import { told } from '../../lib/told.ts';
import { actor, config, minutes, monday, PARAMETERS, scheduleOf, service } from './support.ts';

const dense = (interval: number, places: number): HealthcareService & { readonly id: string } => ({
  ...service([minutes('alignmentInterval', interval), { url: 'slotCapacity', valuePositiveInt: places }]),
});

const problems = (holder: HealthcareService | Schedule): string[] => told(checkOpeningHours(holder));

const publishing = (...services: (HealthcareService & { readonly id: string })[]) =>
  publishingOf({ schedule: scheduleOf(services), services, actor }, config);

const time: HealthcareServiceAvailableTime = {
  daysOfWeek: ['mon'],
  availableStartTime: '09:00:00',
  availableEndTime: '10:00:00',
};
const closure = { description: 'Closed', during: { start: '2027-01-01', end: '2027-01-02' } };

describe('opening hours that would take too long to publish', () => {
  it.each([
    ['2,880 slots a day', dense(5, 10), []],
    ['144,000 slots a day', dense(1, 100), ['slots-too-many HealthcareService.extension[0]']],
    ['200 entries of opening hours', { ...service(), availableTime: Array(200).fill(time) }, []],
    [
      '201 entries of opening hours',
      { ...service(), availableTime: Array(201).fill(time) },
      ['hours-invalid HealthcareService.availableTime'],
    ],
    ['1,000 closures', { ...service(), notAvailable: Array(1000).fill(closure) }, []],
    [
      '1,001 closures',
      { ...service(), notAvailable: Array(1001).fill(closure) },
      ['hours-invalid HealthcareService.notAvailable'],
    ],
  ])('%s', (_, holder, expected) => {
    expect(problems(holder)).toEqual(expected);
    expect(publishing(holder).kind).toBe(expected.length > 0 ? 'kept' : 'on');
  });

  it('more than 200 entries in the availability of a Schedule', () => {
    const availableTime = { url: 'availableTime', extension: [] };
    const extension = [
      { url: PARAMETERS, extension: [{ url: 'availability', extension: Array(201).fill(availableTime) }] },
    ];
    expect(problems({ resourceType: 'Schedule', actor: [], extension })).toEqual([
      expect.stringMatching(/^hours-invalid Schedule\.extension\[0\]/),
    ]);
  });

  it('many services of one Schedule', () => {
    const services = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ ...dense(5, 10), id: `service-${index}` }));
    expect(publishing(...services(3)).kind).toBe('on');
    expect(publishing(...services(4))).toMatchObject({ kind: 'kept', problems: [{ code: 'slots-too-many' }] });
  });
});

it.each([
  ['a usual one', dense(15, 1), 14],
  ['one with many places', dense(15, 5), 3],
  ['the densest', dense(5, 10), 1],
])('the more slots a calendar has, the less of it is published at once: %s', (_, holder, days) => {
  const windows = windowsFrom(monday, monday + 84 * DAY, publishing(holder));
  expect(Math.max(...windows.map(({ start, end }) => end - start))).toBe(days * DAY);
  expect(windows[0]?.start).toBe(monday);
  expect(windows.slice(1).every(({ start }, index) => start === windows[index]?.end)).toBe(true);
});
