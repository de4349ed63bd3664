import { describe, expect, test } from '@jest/globals';
import type { Appointment, Extension, HealthcareService, Practitioner, Schedule, Slot } from '@medplum/fhirtypes';
import { serviceTypeOf } from '../../../core/fhir/reference.ts';
import { changeService, ownParameters } from '../../../core/fhir/scheduling/change-hours.ts';
import { concernedBy, hoursData, withChange } from '../../../core/fhir/scheduling/hours-data.ts';
import { areComplete, availableTimes, doubtsIn, rowsOf } from '../../../core/time/weekly-rows.ts';
import { loadConfig } from '../../../scripts/cli/load-config.ts';
import { lengthsOf } from '../hours/lengths.ts';
import { hasClosures, ownHoursOf, scheduleWith } from '../hours/own-hours.ts';
import { previewChange } from '../hours/preview.ts';

const config = loadConfig();
const now = Date.parse('2027-01-10T12:00:00Z');

const times = (start: string, end: string) => availableTimes([{ days: ['mon'], start, end }]);
const service: HealthcareService & { id: string } = {
  ...changeService(
    { resourceType: 'HealthcareService', active: true, name: 'Visit' },
    { hours: times('09:00', '12:00'), duration: 60, timeZone: 'Etc/UTC' },
  ),
  id: 'h',
};
const schedule: Schedule = {
  resourceType: 'Schedule',
  id: 's',
  active: true,
  actor: [{ reference: 'Practitioner/p' }],
  serviceType: serviceTypeOf(service),
  planningHorizon: { end: '2027-01-11' },
};
const practitioner: Practitioner = { resourceType: 'Practitioner', id: 'p' };
const data = hoursData([schedule, service, practitioner], config);

const slot: Slot = {
  resourceType: 'Slot',
  id: '1',
  schedule: { reference: 'Schedule/s' },
  status: 'busy',
  start: '2027-01-11T09:00:00Z',
  end: '2027-01-11T10:00:00Z',
};
const booked: Appointment = {
  resourceType: 'Appointment',
  id: 'a',
  status: 'booked',
  start: slot.start,
  end: slot.end,
  slot: [{ reference: 'Slot/1' }],
  participant: [{ status: 'accepted' }],
};

function preview(changed: HealthcareService) {
  const [own] = data.schedules;
  if (!own) {
    throw new Error('The Schedule cannot be read.');
  }
  const stored = { slots: [slot], appointments: [booked], offered: new Set<string>(), now };
  return previewChange(own, withChange(data, changed, config), stored, config);
}

describe('a preview', () => {
  test('names the free times that come, and no booking within the hours', () => {
    const { published, outside, problems } = preview(service);
    expect(published.map((time) => new Date(time).toISOString())).toEqual([
      '2027-01-11T10:00:00.000Z',
      '2027-01-11T11:00:00.000Z',
    ]);
    expect([outside, problems]).toEqual([[], []]);
  });

  test('names the bookings that other hours, or closed days, leave outside', () => {
    const later = changeService(service, { hours: times('10:00', '12:00') });
    expect(preview({ ...later, id: 'h' }).outside.map(({ id }) => id)).toEqual(['a']);
    const closed: HealthcareService = {
      resourceType: 'HealthcareService',
      identifier: [{ system: config.uris.LocalClosedDays, value: 'practice' }],
      notAvailable: [{ description: 'x', during: { start: '2027-01-11', end: '2027-01-11' } }],
    };
    expect(preview(closed)).toMatchObject({ published: [], outside: [{ id: 'a' }] });
  });

  test('says why nothing is published', () => {
    const broken = { ...service, extension: [] };
    expect(preview(broken).problems).not.toEqual([]);
  });
});

describe('lines of weekly hours', () => {
  test.each([
    [[['mon', '09:00', '12:00']], []],
    [[['mon', '00:00', '00:00']], []],
    [[['mon', '18:00', '00:00']], []],
    [[['mon', '13:00', '12:00']], ['overnight']],
    [
      [
        ['sun', '22:00', '06:00'],
        ['mon', '05:00', '09:00'],
      ],
      ['overnight', 'overlap'],
    ],
    [
      [
        ['mon', '09:00', '12:00'],
        ['mon', '12:00', '15:00'],
        ['tue', '11:00', '13:00'],
      ],
      [],
    ],
    [
      [
        ['mon', '09:00', '12:00'],
        ['mon', '11:00', '15:00'],
      ],
      ['overlap'],
    ],
  ] as const)('%j: %j', (lines, doubts) => {
    const rows = lines.map(([day, from, to]) => ({ days: [day], start: from, end: to }));
    expect(doubtsIn(rows).map(({ kind }) => kind)).toEqual(doubts);
  });

  test('are those of the service, and become them again', () => {
    expect(availableTimes(rowsOf(service.availableTime))).toEqual(service.availableTime);
  });
  test('are from midnight to midnight where a day is open all day', () => {
    expect(rowsOf([{ daysOfWeek: ['sun'], allDay: true }])).toEqual([{ days: ['sun'], start: '00:00', end: '00:00' }]);
    expect(availableTimes([{ days: ['sun'], start: '00:00', end: '00:00' }])).toEqual([
      { daysOfWeek: ['sun'], allDay: true },
    ]);
  });

  test('without entries are open at any time, and without lines never', () => {
    const [always, ...more] = rowsOf(undefined);
    expect([always, more]).toEqual([
      { days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'], start: '00:00', end: '00:00' },
      [],
    ]);
    expect(rowsOf([])).toEqual([always]);
    expect(availableTimes(always ? [always] : [])).toEqual([{ daysOfWeek: always?.days, allDay: true }]);
    const never = availableTimes([]);
    expect(never).toEqual([{ daysOfWeek: always?.days }]);
    expect(rowsOf(never)).toEqual([]);
  });
  test.each([
    [{ days: [], start: '09:00', end: '10:00' }],
    [{ days: ['mon'] as const, start: '', end: '10:00' }],
    [{ days: ['mon'] as const, start: '09:00', end: '25:00' }],
  ])('%p is not complete', (row) => {
    expect(areComplete([row])).toBe(false);
  });
});

test('lengths are read in minutes, whatever their unit', () => {
  expect(lengthsOf(service)).toEqual({ duration: 60, bufferBefore: 0, bufferAfter: 0, isNew: false });
  expect(lengthsOf({ resourceType: 'HealthcareService' }).isNew).toBe(true);
});

describe('the hours of one calendar', () => {
  const of = 'HealthcareService/h';
  const rows = rowsOf(service.availableTime);
  const read = (one: Schedule) => ownHoursOf(one, of, rows, 'Europe/Berlin');
  const stored = read(schedule);
  const typed = { ...stored, isOwn: true, rows: [{ days: ['tue'] as const, start: '10:00', end: '12:00' }] };

  test('are those of its service until it has its own; then they are those, and can be taken back', () => {
    expect(stored).toMatchObject({ isOwn: false, rows, duration: '', bufferBefore: '', until: '2027-01-11' });
    const own = scheduleWith(schedule, of, stored, { ...typed, duration: 30, bufferAfter: 10 });
    expect(read(own)).toMatchObject({ isOwn: true, rows: typed.rows, duration: 30, bufferBefore: '', bufferAfter: 10 });
    const back = scheduleWith(own, of, read(own), { ...read(own), isOwn: false, duration: '', bufferAfter: '' });
    expect(back).toEqual(schedule);
  });

  test('that nobody has changed are written as they are stored', () => {
    expect(scheduleWith(schedule, of, stored, stored)).toEqual(schedule);
    const own = scheduleWith(schedule, of, stored, typed);
    expect(scheduleWith(own, of, read(own), read(own))).toEqual(own);
  });

  test('decide what is published, as a preview says', () => {
    const changed = scheduleWith(schedule, of, stored, { ...typed, until: '2027-01-12' });
    const after = withChange(data, changed, config);
    const [own] = concernedBy(changed, after, config);
    const found = own && previewChange(own, after, { slots: [slot], appointments: [booked], now }, config);
    expect(found?.published.map((time) => new Date(time).toISOString())).toEqual([
      '2027-01-12T10:00:00.000Z',
      '2027-01-12T11:00:00.000Z',
    ]);
    expect(found?.outside.map(({ id }) => id)).toEqual(['a']);
  });

  test('keep the absences that stand in them', () => {
    const closure: Extension = {
      url: 'notAvailableTime',
      extension: [{ url: 'during', valuePeriod: { start: '2027-02-01', end: '2027-02-05' } }],
    };
    const own = scheduleWith(schedule, of, stored, typed);
    const parameters = ownParameters(own, of);
    const availability = parameters?.extension?.find(({ url }) => url === 'availability');
    availability?.extension?.push(closure);
    expect(hasClosures(own, of)).toBe(true);
    const later = scheduleWith(own, of, read(own), {
      ...read(own),
      rows: [{ days: ['wed'], start: '10:00', end: '12:00' }],
    });
    expect([hasClosures(later, of), read(later).rows]).toEqual([
      true,
      [{ days: ['wed'], start: '10:00', end: '12:00' }],
    ]);
  });

  test('end never, or always some weeks ahead', () => {
    expect(scheduleWith(schedule, of, stored, { ...stored, until: '' }).planningHorizon).toBeUndefined();
    const begun = { ...schedule, planningHorizon: { start: '2027-01-01', end: '2027-01-31T23:30:00Z' } };
    expect(read(begun).until).toBe('2027-02-01');
    expect(scheduleWith(begun, of, read(begun), { ...read(begun), until: '' }).planningHorizon).toEqual({
      start: '2027-01-01',
    });
    expect(scheduleWith(begun, of, read(begun), read(begun))).toEqual(begun);
  });
});
