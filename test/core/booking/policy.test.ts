import { describe, expect, it, test } from '@jest/globals';
import type { Appointment, Extension, HealthcareService, Schedule } from '@medplum/fhirtypes';
import { effectivePolicy, lengthText, readPolicy } from '../../../core/booking/policy/policy.ts';
import {
  type Quota,
  quotaEntries,
  quotaIssues,
  quotaKey,
  quotaRow,
  requestorLimitIssues,
} from '../../../core/booking/policy/quota.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { milliseconds } from '../../../core/fhir/instant.ts';
import { appointment, config, now, requestor, schedule, slot, stateOf } from './support.ts';

describe('policy', () => {
  const HOUR = 3_600_000;
  const DAY = 24 * HOUR;

  const duration = (url: string, value: unknown, code = 'h'): Extension =>
    ({ url, valueDuration: { value, code, system: 'http://unitsofmeasure.org' } }) as Extension;

  const count = (url: string, valuePositiveInt: number): Extension => ({ url, valuePositiveInt });

  const policy = (...extension: unknown[]): { extension: Extension[] } =>
    ({ extension: [{ url: artefactUri(config, 'LocalBookingPolicy'), extension }] }) as { extension: Extension[] };

  const withPolicy = (...parts: unknown[]): Schedule => ({ ...schedule, ...policy(...parts) });

  const service = (id: string, ...parts: Extension[]): HealthcareService => ({
    resourceType: 'HealthcareService',
    id,
    ...policy(...parts),
  });

  const parts =
    'leadTime, window, cancelUntil, holdFor, longest, confirmWithin, refillNotice, offerFor, attendanceBy, maxOpenPerPatient, ' +
    'maxPerPortalAndDay, refill, quietHours';
  const units = 's, min, h, d, wk';
  const path = 'Schedule.extension[0]';

  describe('a length of time', () => {
    test.each([
      ['s', 2, 2_000],
      ['min', 2, 120_000],
      ['h', 2, 2 * HOUR],
      ['d', 2, 2 * DAY],
      ['wk', 2, 14 * DAY],
      ['min', 0.5, 30_000],
      ['s', 0.0004, 0],
    ])('of the unit %s: %d is %d ms', (code, value, expected) => {
      expect(milliseconds({ value, code })).toBe(expected);
      expect(milliseconds({ value, unit: code })).toBe(expected);
      expect(milliseconds({ value, code, unit: 'x' })).toBe(expected);
    });

    test.each([
      {},
      { code: 'h' },
      { value: '1', code: 'h' },
      { value: 1 },
      { value: 1, code: 'mo' },
      { value: 1, code: 7 },
      { value: 1, code: 'toString' },
      { value: 1, code: 'h', comparator: '<' },
      { value: Number.POSITIVE_INFINITY, code: 'h' },
    ])('is not %j', (value) => {
      expect(milliseconds(value)).toBeUndefined();
    });

    test.each([
      [0, '0 s'],
      [90_000, '90 s'],
      [HOUR, '1 h'],
      [3 * DAY, '3 d'],
      [14 * DAY, '14 d'],
    ])('of %d ms is said as %s', (length, text) => {
      expect(lengthText(length)).toBe(text);
    });
  });

  describe('a booking policy', () => {
    const length = (name: string, bounds: string) =>
      `${name} must be a valueDuration ${bounds}, with one of the codes ${units}.`;
    const lead = length('leadTime', 'from 0 to 365 d');
    const open = 'maxOpenPerPatient must be a valuePositiveInt from 1 to 100.';
    const perDay = 'maxPerPortalAndDay must be a valuePositiveInt from 1 to 1000.';
    const quiet = 'quietHours must be a valueString such as 22:00-07:00.';
    const value = '.extension[0].value';
    test.each<[string, unknown[], string, string?]>([
      ['no length', [count('leadTime', 1)], lead, value],
      ['a negative length', [duration('leadTime', -1)], lead, value],
      ['a length of more than a year', [duration('leadTime', 365 * 24 + 1)], lead, value],
      ['a short window', [duration('window', 59, 's')], length('window', 'from 1 min to 3650 d'), value],
      ['a long window', [duration('window', 3651, 'd')], length('window', 'from 1 min to 3650 d'), value],
      ['a long deadline', [duration('cancelUntil', 366, 'd')], length('cancelUntil', 'from 0 to 365 d'), value],
      ['a short hold', [duration('holdFor', 0)], length('holdFor', 'from 1 s to 1 d'), value],
      ['a long hold', [duration('holdFor', 25)], length('holdFor', 'from 1 s to 1 d'), value],
      ['the number 0', [count('maxOpenPerPatient', 0)], open, value],
      ['a number that is too great', [count('maxOpenPerPatient', 101)], open, value],
      ['a number that is broken', [count('maxPerPortalAndDay', 1.5)], perDay, value],
      ['a number that is text', [count('maxPerPortalAndDay', '5' as never)], perDay, value],
      ['quiet hours without an end', [{ url: 'quietHours', valueString: '22:00' }], quiet, value],
      ['quiet hours that are no time', [{ url: 'quietHours', valueString: '24:00-07:00' }], quiet, value],
      ['quiet hours of no length', [{ url: 'quietHours', valueString: '07:00-07:00' }], quiet, value],
      ['a refill that is text', [{ url: 'refill', valueString: 'true' }], 'refill must be a valueBoolean.', value],
      [
        'an unknown part',
        [count('toString', 1)],
        `A booking policy can only have the parts ${parts}.`,
        '.extension[0].url',
      ],
      ['no parts', [], `A booking policy must have at least one of the parts ${parts}.`],
      ['a part twice', [duration('leadTime', 1), duration('leadTime', 2)], 'leadTime is given more than once.'],
      [
        'a window as long as the lead time',
        [duration('leadTime', 1), duration('window', 1)],
        'window must be longer than leadTime; otherwise no time could ever be booked.',
      ],
    ])('is invalid with %s', (_, given, diagnostics, where = '') => {
      const { issues } = readPolicy(withPolicy(...given), config);
      expect(issues).toEqual([{ code: 'policy-invalid', diagnostics, expression: `${path}${where}` }]);
    });

    test('may be as great as its bounds', () => {
      const most = [duration('leadTime', 365, 'd'), duration('window', 3650, 'd'), duration('cancelUntil', 365, 'd')];
      const numbers = [count('maxOpenPerPatient', 100), count('maxPerPortalAndDay', 1000)];
      expect(readPolicy(withPolicy(...most, duration('holdFor', 24), ...numbers), config).issues).toEqual([]);
      const least = [duration('leadTime', 0), duration('window', 1, 'min'), duration('cancelUntil', 0)];
      const ones = [count('maxOpenPerPatient', 1), count('maxPerPortalAndDay', 1)];
      expect(readPolicy(withPolicy(...least, duration('holdFor', 1, 's'), ...ones), config).issues).toEqual([]);
    });
  });

  describe('what holds for a schedule', () => {
    test('is what it says itself, and else the strictest of its services', () => {
      const own = withPolicy(duration('leadTime', 1));
      const of = (id: string, window: number, cancel: number, hold: number, open: number, day: number) =>
        service(
          id,
          ...[duration('leadTime', 5), duration('window', window, 'd'), duration('cancelUntil', cancel)],
          ...[duration('holdFor', hold, 'min'), count('maxOpenPerPatient', open), count('maxPerPortalAndDay', day)],
        );
      const services = [of('a', 9, 1, 3, 4, 9), of('b', 8, 2, 2, 3, 8), of('c', 8, 1, 9, 7, 8)];
      const strictest = {
        window: 8 * DAY,
        cancelUntil: 2 * HOUR,
        holdFor: 120_000,
        maxOpenPerPatient: 3,
        maxPerPortalAndDay: 8,
      };
      expect(effectivePolicy(own, services, config)).toEqual({
        policy: { leadTime: HOUR, ...strictest },
        saidBy: {
          leadTime: 'Schedule/calendar',
          ...Object.fromEntries(Object.keys(strictest).map((name) => [name, 'HealthcareService/b'])),
        },
        isReadable: true,
      });
      const leadTimes = [service('a', duration('leadTime', 1)), service('b', duration('leadTime', 2))];
      expect(effectivePolicy(schedule, leadTimes, config).policy).toEqual({ leadTime: 2 * HOUR });
    });

    test.each<[string, Schedule, HealthcareService[]]>([
      ['its own policy', withPolicy(duration('leadTime', -1)), []],
      [
        'that of one of its services',
        schedule,
        [service('a', duration('leadTime', 1)), service('b', duration('leadTime', -1))],
      ],
      ['what both say together', withPolicy(duration('leadTime', 2)), [service('a', duration('window', 1))]],
    ])('cannot be read if %s cannot', (_, one, services) => {
      expect(effectivePolicy(one, services, config).isReadable).toBe(false);
    });
  });
});

describe('quota', () => {
  const context = { requestor, now, config: { ...config, timeZone: 'UTC' } };

  describe('a quota is used up', () => {
    const quota: Quota = { code: 'portal-quota-reached', row: 'r', limit: 1, queries: [], diagnostics: 'Too many.' };
    const nine = slot('nine', '09:00', '09:30');
    const booked = (more: Partial<Appointment> = {}) => appointment({ id: 'a', status: 'booked', ...more });
    const row = { ...quotaRow(quota, config), id: 'row' };

    function issues(
      given: Partial<Quota>,
      found: readonly Parameters<typeof stateOf>[number][],
      rewritten: string[] = [],
    ) {
      const one = { ...quota, ...given };
      const usage = new Map([[quotaKey(one), { row, found: stateOf(...found) }]]);
      return quotaIssues([one], usage, rewritten, 'Appointment.start', context).map(({ code }) => code);
    }

    test.each<[string, string, boolean]>([
      ['its schedule', 'Schedule/calendar', true],
      ['another schedule', 'Schedule/other', false],
      ['the service of its schedule', 'HealthcareService/ct', true],
      ['another service', 'HealthcareService/mri', false],
    ])('in %s', (_, scope, expected) => {
      expect(issues({ scope }, [booked(), nine, schedule]).length > 0).toBe(expected);
    });

    it('by a booking between the reads of two quotas with one row: the one that was read first is overtaken', () => {
      const first = { ...row, meta: { versionId: '1' } };
      const second = { ...quotaRow(quota, config, first), id: 'row', meta: { versionId: '2' } };
      const [one, other] = [quota, { ...quota, scope: 'Schedule/other' }];
      const usage = new Map([
        [quotaKey(one), { row: first, found: stateOf() }],
        [quotaKey(other), { row: second, found: stateOf() }],
      ]);
      const written = [
        [one, other],
        [other, one],
      ].map((quotas) => quotaEntries(usage, quotas, config).map(({ request }) => request?.ifMatch));
      expect(written).toEqual([['W/"1"'], ['W/"1"']]);
    });
  });
});

const limited = { ...config, requestors: { maxOpenAppointments: 100, maxBookingsPerMinute: 20 } };

it('who moves or replaces an open appointment gets no further one; who books anew after a cancellation does', () => {
  const codes = (status: Appointment['status'] | undefined) =>
    requestorLimitIssues(new Set(['open']), [status && appointment({ status }), undefined], 'Appointment', limited);
  expect(codes('booked')).toEqual([]);
  expect([codes('cancelled'), codes(undefined)].flat().map(({ code }) => code)).toEqual(
    Array(2).fill('portal-limit-reached'),
  );
});
