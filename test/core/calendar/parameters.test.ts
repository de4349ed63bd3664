import { describe, expect, it } from '@jest/globals';
import type { Extension, HealthcareService, Practitioner, Schedule } from '@medplum/fhirtypes';
import { schedulingParameters } from '../../../core/calendar/parameters/scheduling-parameters.ts';
import { actor, code, minutes, PARAMETERS, scheduleOf, service, visit } from './support.ts';

const ofVisit: Extension = { url: 'service', valueReference: { reference: 'HealthcareService/visit' } };

/** A Schedule with parameters of its own for the service. */
const scheduleWith = (...extension: Extension[]): Schedule =>
  scheduleOf([visit], { extension: [{ url: PARAMETERS, extension: [ofVisit, ...extension] }] });

const schedule = scheduleOf([visit]);

const read = (from: Schedule, of: HealthcareService = visit, whose: Practitioner = actor) =>
  schedulingParameters(from, of, whose);

/** The problems as `code expression`. */
const problemsOf = (...args: Parameters<typeof read>): string[] =>
  read(...args).problems.map(({ code: kind, expression }) => `${kind} ${expression}`);

const serviceParameters = `HealthcareService/visit.extension('${PARAMETERS}')`;

describe('scheduling parameters', () => {
  it('come from the service, with defaults', () => {
    expect(read(schedule).value).toEqual({
      duration: 30,
      bufferBefore: 0,
      bufferAfter: 0,
      alignment: { interval: 30, offset: 0, timeZone: 'Etc/UTC' },
      timeZone: 'Europe/Berlin',
      hours: [{ days: [1], start: 9 * 3_600_000, end: 12 * 3_600_000 }],
      closed: [],
      capacity: 1,
    });
  });

  it('come from the Schedule where it has them, field by field', () => {
    const own = scheduleWith(minutes('duration', 45), code('timezone', 'Asia/Tokyo'), {
      url: 'availability',
      extension: [
        {
          url: 'availableTime',
          extension: [code('daysOfWeek', 'tue'), code('daysOfWeek', 'sun'), { url: 'allDay', valueBoolean: true }],
        },
      ],
    });
    expect(read(own).value).toMatchObject({
      duration: 45,
      timeZone: 'Asia/Tokyo',
      hours: [{ days: [2, 0], start: 0, end: 0 }],
      alignment: { interval: 30 },
    });
  });

  it('of a Schedule for another service do not count', () => {
    const other = scheduleOf([visit], {
      extension: [
        {
          url: PARAMETERS,
          extension: [
            { url: 'service', valueReference: { reference: 'HealthcareService/other' } },
            minutes('duration', 45),
          ],
        },
      ],
    });
    expect(read(other).value?.duration).toBe(30);
  });

  it('without hours are always open, with an empty list never', () => {
    const { availableTime: _, ...always } = visit;
    expect(read(schedule, always).value?.hours).toEqual([{ days: [0, 1, 2, 3, 4, 5, 6], start: 0, end: 0 }]);
    expect(read(schedule, { ...visit, availableTime: [] }).value?.hours).toEqual([]);
  });

  it('take an alignment of 0 for an hour, as Medplum does', () => {
    expect(read(schedule, service([minutes('alignmentInterval', 0)])).value?.alignment.interval).toBe(60);
  });

  it('read every unit of time that Medplum has', () => {
    const inHours = service([{ url: 'duration', valueDuration: { value: 1.5, unit: 'h' } }]);
    const inDays = service([{ url: 'duration', valueDuration: { value: 1, unit: 'd' } }]);
    expect([inHours, inDays].map((one) => read(schedule, one).value?.duration)).toEqual([90, 1440]);
  });

  it('close on the days that Schedule and service name, whole days of the time zone', () => {
    const away = scheduleWith({
      url: 'availability',
      extension: [
        {
          url: 'notAvailableTime',
          extension: [
            { url: 'description', valueString: 'Congress' },
            { url: 'during', valuePeriod: { start: '2027-03-01T12:00:00+01:00', end: '2027-03-02' } },
          ],
        },
      ],
    });
    const holidays = {
      ...visit,
      notAvailable: [{ description: 'Easter', during: { start: '2027-03-28', end: '2027-03-29' } }],
    };
    expect(read(away, holidays).value?.closed).toEqual([
      { start: Date.parse('2027-03-01T12:00:00+01:00'), end: Date.parse('2027-03-03T00:00:00+01:00') },
      { start: Date.parse('2027-03-28T00:00:00+01:00'), end: Date.parse('2027-03-30T00:00:00+02:00') },
    ]);
  });

  it.each<[string, Schedule, HealthcareService, string[]]>([
    ['no duration', schedule, { ...visit, extension: [] }, ['duration-missing HealthcareService/visit.extension']],
    [
      'a duration of nothing',
      schedule,
      service([minutes('duration', 0)]),
      [`duration-invalid ${serviceParameters}.extension('duration').value`],
    ],
    [
      'a duration of 100 years',
      schedule,
      service([{ url: 'duration', valueDuration: { value: 5200, unit: 'wk' } }]),
      [`duration-invalid ${serviceParameters}.extension('duration').value`],
    ],
    [
      'a duration in months',
      schedule,
      service([{ url: 'duration', valueDuration: { value: 1, unit: 'mo' } }]),
      [`duration-invalid ${serviceParameters}.extension('duration').value`],
    ],
    [
      'half a minute',
      schedule,
      service([minutes('bufferAfter', 0.5)]),
      [`duration-invalid ${serviceParameters}.extension('bufferAfter').value`],
    ],
    [
      'less than nothing',
      schedule,
      service([minutes('bufferBefore', -5)]),
      [`duration-invalid ${serviceParameters}.extension('bufferBefore').value`],
    ],
    [
      'about half an hour',
      schedule,
      service([{ url: 'duration', valueDuration: { value: 30, unit: 'min', comparator: '<' } }]),
      [`duration-invalid ${serviceParameters}.extension('duration').value`],
    ],
    [
      'an unknown time zone',
      scheduleWith(code('timezone', 'Europe/Atlantis')),
      visit,
      ["time-zone-unknown Schedule.extension[0].extension('timezone').value"],
    ],
    [
      'an interval that makes no day',
      schedule,
      service([minutes('alignmentInterval', 50)]),
      [`alignment-invalid ${serviceParameters}.extension('alignmentInterval').value`],
    ],
    [
      'an interval of two days',
      schedule,
      service([minutes('alignmentInterval', 2880)]),
      [`alignment-invalid ${serviceParameters}.extension('alignmentInterval').value`],
    ],
    [
      'no place',
      schedule,
      service([{ url: 'slotCapacity', valuePositiveInt: 0 }]),
      [`capacity-invalid ${serviceParameters}.extension('slotCapacity').value`],
    ],
    [
      'two durations',
      schedule,
      service([minutes('duration', 30), minutes('duration', 40)]),
      [`parameters-contradictory ${serviceParameters}.extension('duration')[0]`],
    ],
    [
      'hours in the parameters of the service',
      schedule,
      service([{ url: 'availability' }]),
      [`parameters-contradictory ${serviceParameters}.extension('availability')`],
    ],
    [
      'a start without an end',
      schedule,
      { ...visit, availableTime: [{ daysOfWeek: ['mon'], availableStartTime: '09:00:00' }] },
      ['hours-invalid HealthcareService/visit.availableTime[0]'],
    ],
    [
      'all day from nine',
      schedule,
      { ...visit, availableTime: [{ daysOfWeek: ['mon'], allDay: true, availableStartTime: '09:00:00' }] },
      ['parameters-contradictory HealthcareService/visit.availableTime[0]'],
    ],
    [
      'twenty-five o’clock',
      schedule,
      {
        ...visit,
        availableTime: [{ daysOfWeek: ['mon'], availableStartTime: '09:00:00', availableEndTime: '25:00:00' }],
      },
      ['hours-invalid HealthcareService/visit.availableTime[0]'],
    ],
    [
      'an end before the start',
      schedule,
      { ...visit, notAvailable: [{ description: 'x', during: { start: '2027-02-02', end: '2027-02-01' } }] },
      ['period-invalid HealthcareService/visit.notAvailable[0].during'],
    ],
    [
      'a day that does not exist',
      schedule,
      { ...visit, notAvailable: [{ description: 'x', during: { start: '2027-02-30' } }] },
      ['period-invalid HealthcareService/visit.notAvailable[0].during.start'],
    ],
    [
      'several at once',
      schedule,
      service([minutes('duration', 0), minutes('alignmentInterval', 7)]),
      [
        `duration-invalid ${serviceParameters}.extension('duration').value`,
        `alignment-invalid ${serviceParameters}.extension('alignmentInterval').value`,
      ],
    ],
  ])('are not usable with %s', (_, from, of, expected) => {
    expect(problemsOf(from, of)).toEqual(expected);
    expect(read(from, of).value).toBeUndefined();
  });

  it('need a time zone', () => {
    expect(problemsOf(schedule, visit, { resourceType: 'Practitioner', id: 'ada' })).toEqual([
      'time-zone-missing Practitioner/ada.extension',
    ]);
  });
});
