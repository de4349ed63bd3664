import { describe, expect, it, test } from '@jest/globals';
import type { Period } from '@medplum/fhirtypes';
import { checkOpeningHours } from '../../../core/calendar/parameters/check-opening-hours.ts';
import { publicationTask } from '../../../core/calendar/publish/publication.ts';
import { changeSchedule, changeService } from '../../../core/fhir/scheduling/change-hours.ts';
import { close, closedDaysIn, emptyClosedDays, reopen } from '../../../core/fhir/scheduling/closed-days.ts';
import { holidaysOf } from '../../../core/fhir/scheduling/public-holidays.ts';
import { hoursText, parseHours } from '../../../scripts/calendar/hours-text.ts';
import { stateOf } from '../../../scripts/calendar/list.ts';
import { config } from '../installation.ts';

test('a schedule that cannot be published is shown with the reason', () => {
  const row = publicationTask({ schedule: 's', status: 'failed', due: 0, from: undefined }, config);
  expect(stateOf({ ...row, statusReason: { text: 'Closed days must end.' } }, config)).toMatch(/cannot.*must end/);
});

describe('weekly hours', () => {
  test.each([
    'mon-fri 09:00-12:30',
    'mon,wed 08:00-12:00,14:00-18:00; sat 10:00-13:00',
    'fri-sun 22:00-06:00',
    'sun 00:00-24:00',
    'mon 18:00-24:00',
  ])('%s is read and written the same', (text) => {
    const hours = parseHours(text);
    expect(hoursText(hours)).toBe(text);
    expect(
      checkOpeningHours(changeService({ resourceType: 'HealthcareService' }, { hours, duration: 30 }), config),
    ).toEqual([]);
  });

  test.each(['', 'mon', 'monday 09:00-12:00', 'fri-mon 09:00-12:00', 'mon 9-12', 'mon 09:00', 'mon 25:00-26:00'])(
    "'%s' is refused with an example",
    (text) => {
      expect(() => parseHours(text)).toThrow('mon-fri 09:00-12:30');
    },
  );

  it('that nobody gave are always, and none are never', () => {
    expect([hoursText(undefined), hoursText([])]).toEqual(['always', 'never']);
  });
});

describe('a change of opening hours', () => {
  const hours = parseHours('mon 09:00-10:00');

  it('keeps what it does not name', () => {
    const first = changeService(
      { resourceType: 'HealthcareService' },
      { hours, duration: 30, timeZone: 'Europe/Berlin' },
    );
    const second = changeService(first, { duration: 20 });
    expect(second.availableTime).toEqual(first.availableTime);
    expect(second.extension?.[0]?.extension?.map(({ url }) => url).sort()).toEqual([
      'alignmentInterval',
      'alignmentTimezone',
      'duration',
      'timezone',
    ]);
    expect(second.extension).toHaveLength(1);
  });

  it('of one schedule names the service it is for', () => {
    const actor = [{ reference: 'Practitioner/1' }];
    const once = changeSchedule({ resourceType: 'Schedule', actor }, 'HealthcareService/1', { hours });
    const twice = changeSchedule(once, 'HealthcareService/1', { bufferAfter: 5 });
    const schedule = changeSchedule(twice, 'HealthcareService/2', { duration: 10 });
    expect(schedule.extension).toHaveLength(2);
    expect(checkOpeningHours(schedule, config)).toEqual([]);
    expect(schedule.extension?.[0]?.extension?.map(({ url }) => url)).toEqual([
      'service',
      'availability',
      'bufferAfter',
    ]);
  });
});

describe('closed days', () => {
  const christmas = { start: '2027-12-24', end: '2027-12-26', reason: 'Christmas' };
  const day = (start: string, end = start) => ({ start, end, reason: '' });

  it('are entered once, in order, and taken back', () => {
    const list = close(close(emptyClosedDays(config), [christmas]), [christmas, day('2027-05-01')]);
    expect(closedDaysIn(list).map(({ start }) => start)).toEqual(['2027-05-01', '2027-12-24']);
    expect(closedDaysIn(reopen(list, day('2027-12-20', '2027-12-31')))).toHaveLength(1);
  });

  it.each<[string, Period | undefined]>([
    ['without a start', { end: '2027-12-24' }],
    ['without any day', undefined],
    ['with a time', { start: '2027-12-24T25:00:00Z' }],
  ])('%s are taken back, too', (_, during) => {
    const list = { ...emptyClosedDays(config), notAvailable: [{ description: 'x', during }] };
    expect(closedDaysIn(reopen(list, day('2027-12-24')))).toEqual([]);
  });

  it('can be the public holidays of a state', () => {
    const holidays = (region: string) => {
      const found = holidaysOf(region, 2027);
      return 'problem' in found ? found.problem : found;
    };
    expect(holidays('DE-BY')).toContainEqual({ start: '2027-01-06', end: '2027-01-06', reason: 'Heilige Drei Könige' });
    expect(JSON.stringify(holidays('de-be'))).not.toContain('2027-01-06');
    expect(holidays('RO')).toContainEqual({ start: '2027-01-01', end: '2027-01-02', reason: 'Anul nou' });
    // The clocks are changed on this day.
    expect(holidays('SE')).toContainEqual({ start: '2027-03-28', end: '2027-03-28', reason: 'påskdagen' });
    expect(holidays('DE-XX')).toContain('BY');
    expect(holidays('Bavaria')).toContain('DE-BY');
  });
});
