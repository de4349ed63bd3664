import { describe, expect, it, test } from '@jest/globals';
import type { Appointment, Extension, HealthcareService, Schedule } from '@medplum/fhirtypes';
import { lengthText, milliseconds } from '../../../core/booking/policy/duration.ts';
import { type EffectivePolicy, effectivePolicy } from '../../../core/booking/policy/effective-policy.ts';
import { policyIssues } from '../../../core/booking/policy/judge.ts';
import { bookableFilter } from '../../../core/booking/policy/offers.ts';
import { readPolicy } from '../../../core/booking/policy/policy.ts';
import { policyQuotas, type Quota, quotaIssues, quotaKey, quotaRow } from '../../../core/booking/policy/quota.ts';
import { requestorLimitIssues } from '../../../core/booking/policy/requestor-limits.ts';
import { artefactUri } from '../../../core/config/config.ts';
import { SERVICE_TYPE_REFERENCE } from '../../../core/fhir/reference/service-reference.ts';
import { requestorQuery } from '../../../core/fhir/tags.ts';
import { appointment, at, config, issuesOf, now, plan, requestor, schedule, slot, stateOf } from './support.ts';

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

  const parts = 'leadTime, window, cancelUntil, holdFor, longest, confirmWithin, maxOpenPerPatient, maxPerPortalAndDay';
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
      undefined,
      null,
      'x',
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
      [30_000, '30 s'],
      [90_000, '90 s'],
      [120_000, '2 min'],
      [90 * 60_000, '90 min'],
      [HOUR, '1 h'],
      [36 * HOUR, '36 h'],
      [3 * DAY, '3 d'],
      [14 * DAY, '14 d'],
    ])('of %d ms is said as %s', (length, text) => {
      expect(lengthText(length)).toBe(text);
    });
  });

  describe('a booking policy', () => {
    test('has parts, each a length or a number', () => {
      const all = withPolicy(
        duration('leadTime', 2),
        duration('window', 30, 'd'),
        duration('cancelUntil', 1, 'd'),
        duration('holdFor', 5, 'min'),
        count('maxOpenPerPatient', 3),
        count('maxPerPortalAndDay', 20),
      );
      expect(readPolicy(all, config)).toEqual({
        policy: {
          leadTime: 2 * HOUR,
          window: 30 * DAY,
          cancelUntil: DAY,
          holdFor: 300_000,
          maxOpenPerPatient: 3,
          maxPerPortalAndDay: 20,
        },
        issues: [],
      });
    });

    test.each<[string, Schedule]>([
      ['no extensions', schedule],
      ['other extensions', { ...schedule, extension: [{ url: 'http://other.example', extension: [count('x', 1)] }] }],
      ['extensions that are no list', { ...schedule, extension: 'x' as never }],
      ['an extension that is null', { ...schedule, extension: [null as never] }],
    ])('is open with %s', (_, holder) => {
      expect(readPolicy(holder, config)).toEqual({ policy: {}, issues: [] });
    });

    test('says of each part that is wrong what is wrong with it, and keeps the others', () => {
      const wrong = [count('maxOpenPerPatient', 0), duration('leadTime', -1)];
      const { policy: read, issues } = readPolicy(withPolicy(...wrong, duration('cancelUntil', 24)), config);
      expect(Object.entries(read)).toEqual([['cancelUntil', DAY]]);
      expect(issues.map(({ expression }) => expression)).toEqual([
        `${path}.extension[0].value`,
        `${path}.extension[1].value`,
      ]);
    });

    const length = (name: string, bounds: string) =>
      `${name} must be a valueDuration ${bounds}, with one of the codes ${units}.`;
    const lead = length('leadTime', 'from 0 to 365 d');
    test.each<[string, unknown[], string, string]>([
      ['no length', [count('leadTime', 1)], lead, '.extension[0].value'],
      ['a negative length', [duration('leadTime', -1)], lead, '.extension[0].value'],
      ['a length of more than a year', [duration('leadTime', 365 * 24 + 1)], lead, '.extension[0].value'],
      [
        'a window that is too short',
        [duration('window', 59, 's')],
        length('window', 'from 1 min to 3650 d'),
        '.extension[0].value',
      ],
      [
        'a window that is too long',
        [duration('window', 3651, 'd')],
        length('window', 'from 1 min to 3650 d'),
        '.extension[0].value',
      ],
      [
        'a deadline that is too long',
        [duration('cancelUntil', 366, 'd')],
        length('cancelUntil', 'from 0 to 365 d'),
        '.extension[0].value',
      ],
      [
        'a hold that is too short',
        [duration('holdFor', 0)],
        length('holdFor', 'from 1 s to 1 d'),
        '.extension[0].value',
      ],
      [
        'a hold that is too long',
        [duration('holdFor', 25)],
        length('holdFor', 'from 1 s to 1 d'),
        '.extension[0].value',
      ],
      [
        'a number that is 0',
        [count('maxOpenPerPatient', 0)],
        'maxOpenPerPatient must be a valuePositiveInt from 1 to 100.',
        '.extension[0].value',
      ],
      [
        'a number that is too great',
        [count('maxOpenPerPatient', 101)],
        'maxOpenPerPatient must be a valuePositiveInt from 1 to 100.',
        '.extension[0].value',
      ],
      [
        'a number that is broken',
        [count('maxPerPortalAndDay', 1.5)],
        'maxPerPortalAndDay must be a valuePositiveInt from 1 to 1000.',
        '.extension[0].value',
      ],
      [
        'a number that is text',
        [count('maxPerPortalAndDay', '5' as never)],
        'maxPerPortalAndDay must be a valuePositiveInt from 1 to 1000.',
        '.extension[0].value',
      ],
      [
        'an unknown part',
        [count('toString', 1)],
        `A booking policy can only have the parts ${parts}.`,
        '.extension[0].url',
      ],
      ['no parts', [], `A booking policy must have at least one of the parts ${parts}.`, ''],
      ['a part twice', [duration('leadTime', 1), duration('leadTime', 2)], 'leadTime is given more than once.', ''],
      [
        'a window as long as the lead time',
        [duration('leadTime', 1), duration('window', 1)],
        'window must be longer than leadTime; otherwise no time could ever be booked.',
        '',
      ],
    ])('is invalid with %s', (_, given, diagnostics, where) => {
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

    test('is given once', () => {
      const one = withPolicy(duration('leadTime', 1));
      const twice = { ...one, extension: [{ url: 'x' }, ...(one.extension ?? []), ...(one.extension ?? [])] };
      expect(readPolicy(twice, config)).toEqual({
        policy: { leadTime: HOUR },
        issues: [
          {
            code: 'policy-invalid',
            diagnostics: 'The booking policy is given more than once.',
            expression: 'Schedule.extension[2]',
          },
        ],
      });
    });

    test('without a list of parts has none', () => {
      const extension = [{ url: artefactUri(config, 'LocalBookingPolicy'), extension: 'x' as never }];
      expect(readPolicy({ ...schedule, extension }, config).issues).toHaveLength(1);
    });
  });

  describe('what holds for a schedule', () => {
    test('is what it says itself, and else the strictest of its services', () => {
      const own = withPolicy(duration('leadTime', 1));
      const services = [
        service(
          'a',
          duration('leadTime', 5),
          duration('window', 9, 'd'),
          duration('cancelUntil', 1),
          duration('holdFor', 3, 'min'),
          count('maxOpenPerPatient', 4),
          count('maxPerPortalAndDay', 9),
        ),
        service(
          'b',
          duration('window', 8, 'd'),
          duration('cancelUntil', 2),
          duration('holdFor', 2, 'min'),
          count('maxOpenPerPatient', 3),
          count('maxPerPortalAndDay', 8),
        ),
        service(
          'c',
          duration('window', 8, 'd'),
          duration('cancelUntil', 1),
          duration('holdFor', 9, 'min'),
          count('maxOpenPerPatient', 7),
          count('maxPerPortalAndDay', 8),
        ),
      ];
      expect(effectivePolicy(own, services, config)).toEqual({
        policy: {
          leadTime: HOUR,
          window: 8 * DAY,
          cancelUntil: 2 * HOUR,
          holdFor: 120_000,
          maxOpenPerPatient: 3,
          maxPerPortalAndDay: 8,
        },
        saidBy: {
          leadTime: 'Schedule/calendar',
          window: 'HealthcareService/b',
          cancelUntil: 'HealthcareService/b',
          holdFor: 'HealthcareService/b',
          maxOpenPerPatient: 'HealthcareService/b',
          maxPerPortalAndDay: 'HealthcareService/b',
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

  describe('a wish of a requestor', () => {
    const judge = (question: 'take' | 'cancel', start: number, ...given: unknown[]) =>
      policyIssues(
        question,
        [effectivePolicy(withPolicy(...given), [], config)],
        { start, end: start + HOUR },
        now,
        'x',
      );

    test.each([
      [
        'too soon',
        2 * HOUR - 1,
        ['too-soon', 'Book at least 2 h in advance: the earliest start is now 2027-01-01T02:00:00.000Z.'],
      ],
      ['just in time', 2 * HOUR, undefined],
      ['at the last moment', 3 * DAY, undefined],
      [
        'too far ahead',
        3 * DAY + 1,
        ['too-far-ahead', 'Book at most 3 d in advance: the latest start is now 2027-01-04T00:00:00.000Z.'],
      ],
    ])('to book %s', (_, ahead, issue) => {
      const issues = judge('take', now + ahead, duration('leadTime', 2), duration('window', 3, 'd'));
      const [code, diagnostics] = issue ?? [];
      expect(issues).toEqual(issue ? [{ code, diagnostics, expression: 'x' }] : []);
    });

    test.each([
      ['until the deadline', 2 * HOUR, false],
      ['after it', 2 * HOUR - 1, true],
    ])('to cancel %s', (_, before, isRefused) => {
      const start = now + before;
      const until = new Date(start - 2 * HOUR).toISOString();
      const diagnostics = `Portals could cancel the appointment only until ${until}, 2 h before it starts; ask the clinic.`;
      const issues = [{ code: 'cancellation-closed', diagnostics, expression: 'x' }];
      expect(judge('cancel', start, duration('cancelUntil', 2))).toEqual(isRefused ? issues : []);
    });

    test('is never refused without a policy', () => {
      const open = [effectivePolicy(schedule, [], config)];
      const past = { start: now - HOUR, end: now };
      expect(policyIssues('cancel', open, past, now, 'x')).toEqual([]);
      expect(policyIssues('take', open, { start: now + 9_999 * DAY, end: now }, now, 'x')).toEqual([]);
    });

    test.each([
      ['take', 'policy-invalid', 'The booking policy of this schedule is invalid; the clinic must correct it.'],
      ['cancel', 'cancellation-closed', 'The booking policy of this schedule is invalid; ask the clinic to cancel.'],
    ] as const)('to %s is refused by a policy that cannot be read', (question, code, diagnostics) => {
      expect(judge(question, now + HOUR, duration('leadTime', -1))).toEqual([{ code, diagnostics, expression: 'x' }]);
    });

    test('is told the same sentence once', () => {
      const one = effectivePolicy(withPolicy(duration('leadTime', 2)), [], config);
      const other = effectivePolicy(withPolicy(duration('leadTime', 3)), [], config);
      const issues = policyIssues('take', [one, one, other], { start: now, end: now + HOUR }, now, 'x');
      expect(issues.map(({ diagnostics }) => diagnostics?.slice(0, 17))).toEqual([
        'Book at least 2 h',
        'Book at least 3 h',
      ]);
    });
  });

  describe('the slots that a search offers', () => {
    const filter = (
      schedules: Schedule[],
      services: HealthcareService[] = [],
      role: 'requestor' | 'repository' = 'requestor',
    ) => bookableFilter(schedules, services, role, now, config);
    const closed = { ...schedule, id: 'closed', active: false };
    const limited = { ...withPolicy(duration('leadTime', 1)), id: 'limited' };
    const both = { ...withPolicy(duration('leadTime', 1), duration('window', 2)), id: 'both' };

    test('are all of them without a policy', () => {
      expect(filter([schedule])).toBeUndefined();
      expect(filter([{ ...schedule, active: true }])).toBeUndefined();
      expect(filter([])).toBeUndefined();
    });

    test('are none of a closed schedule, and those within the limits of the others', () => {
      expect(filter([schedule, closed, limited, both])).toBe(
        [
          '(schedule ne "Schedule/closed" and schedule ne "Schedule/limited" and schedule ne "Schedule/both")',
          '(schedule re "Schedule/limited" and start ge "2027-01-01T01:00:00.000Z")',
          '(schedule re "Schedule/both" and start ge "2027-01-01T01:00:00.000Z" and start le "2027-01-01T02:00:00.000Z")',
        ].join(' or '),
      );
      const ahead = { ...withPolicy(duration('window', 2)), id: 'ahead' };
      expect(filter([ahead])).toBe(
        '(schedule ne "Schedule/ahead") or (schedule re "Schedule/ahead" and start ge "2027-01-01T00:00:00.000Z" and start le "2027-01-01T02:00:00.000Z")',
      );
    });

    test('are none of a schedule whose policy cannot be read', () => {
      expect(filter([{ ...withPolicy(duration('leadTime', -1)), id: 'bad' }])).toBe('(schedule ne "Schedule/bad")');
    });

    test('follow the policies of the services of the schedule, and no others', () => {
      const lead = duration('leadTime', 1);
      expect(filter([schedule], [service('other', lead)])).toBeUndefined();
      expect(filter([schedule], [service('ct', lead)])).toMatch(/start ge "2027-01-01T01/);
      const reference = { reference: 'HealthcareService/named' };
      const extension = [{ url: SERVICE_TYPE_REFERENCE, valueReference: reference }];
      const named = { ...schedule, actor: [], serviceType: [{ extension }] };
      expect(filter([named], [service('named', lead)])).toMatch(/start ge "2027-01-01T01/);
    });

    test('are all of an open schedule for clinic staff', () => {
      expect(filter([limited], [], 'repository')).toBeUndefined();
      expect(filter([closed], [], 'repository')).toBe('(schedule ne "Schedule/closed")');
    });
  });

  test.each<[unknown, number | undefined]>([
    [{ value: 2, code: 'h' }, 7_200_000],
    [{ value: 2, unit: 'min' }, 120_000],
    [{ value: 1, code: ['d'] }, undefined],
    [{ value: 1, code: 'toString' }, undefined],
    [{ value: 1, code: 'mo' }, undefined],
    [{ value: '1', code: 'h' }, undefined],
    [{ value: 1, code: 'h', comparator: '<' }, undefined],
    [{ value: Number.NaN, code: 'h' }, undefined],
    ['1 h', undefined],
  ])('%j is %j milliseconds long', (value, expected) => {
    expect(milliseconds(value)).toBe(expected);
  });
});

describe('quota', () => {
  const context = { requestor, now, config: { ...config, timeZone: 'UTC' } };

  const policy: EffectivePolicy = {
    policy: { maxOpenPerPatient: 2, maxPerPortalAndDay: 3 },
    saidBy: { maxOpenPerPatient: 'Schedule/calendar', maxPerPortalAndDay: 'HealthcareService/ct' },
    isReadable: true,
  };

  const interval = { start: Date.parse(at('09:00')), end: Date.parse(at('09:30')) };
  const [patientQuota, dayQuota] = policyQuotas([policy], interval, ['Patient/anna'], context);
  const own = ['_tag', requestorQuery(requestor, config)];

  describe('the quotas of a booking', () => {
    test('are those of the patient and of the day', () => {
      expect(patientQuota).toEqual({
        code: 'patient-limit-reached',
        row: 'portal/Patient/anna',
        limit: 2,
        query: [
          own,
          ['_count', '1000'],
          ['patient', 'Patient/anna'],
          ['status', expect.stringMatching(/^proposed,pending,booked/)],
          ['date', 'ge2027-01-01T00:00:00.000Z'],
        ],
        scope: 'Schedule/calendar',
        diagnostics: expect.stringMatching(/ 2 open appointments here/),
      });
      expect(dayQuota).toEqual({
        code: 'portal-quota-reached',
        row: 'portal/2027-01-04',
        limit: 3,
        query: [
          own,
          ['_count', '1000'],
          ['status', expect.stringContaining('booked')],
          ['date', 'ge2027-01-04T00:00:00.000Z'],
          ['date', 'lt2027-01-05T00:00:00.000Z'],
        ],
        scope: 'HealthcareService/ct',
        diagnostics: expect.stringMatching(/ 3 appointments here on 2027-01-04:/),
      });
    });

    test.each([
      ['Europe/Berlin', '2027-03-27T23:30:00Z', '2027-03-28', '2027-03-27T23:00:00.000Z', '2027-03-28T22:00:00.000Z'],
      [
        'America/Los_Angeles',
        '2027-01-05T01:00:00Z',
        '2027-01-04',
        '2027-01-04T08:00:00.000Z',
        '2027-01-05T08:00:00.000Z',
      ],
    ])('the day is that of the clinic in %s, however long it is', (timeZone, start, date, from, until) => {
      const inZone = { ...context, config: { ...config, timeZone } };
      const time = Date.parse(start);
      const [quota] = policyQuotas([policy], { start: time, end: time + 1 }, [], inZone);
      expect(quota?.row).toBe(`portal/${date}`);
      expect(quota?.query.filter(([name]) => name === 'date')).toEqual([
        ['date', `ge${from}`],
        ['date', `lt${until}`],
      ]);
    });

    test('are not those of a patient who has no appointments yet', () => {
      expect(policyQuotas([policy], interval, ['urn:uuid:1'], context)).toEqual([dayQuota]);
    });

    test('are those of each patient who takes part, once', () => {
      const patients = ['Patient/anna', 'Patient/ben', 'urn:uuid:1', 'Patient/anna'];
      const rows = policyQuotas([policy], interval, patients, context).map(({ row }) => row);
      expect(rows).toEqual(['portal/Patient/anna', 'portal/Patient/ben', 'portal/2027-01-04']);
    });

    test('are none without a policy', () => {
      expect(policyQuotas([{ ...policy, policy: {} }], interval, ['Patient/anna'], context)).toEqual([]);
    });
  });

  describe('a quota is used up', () => {
    const quota: Quota = { code: 'portal-quota-reached', row: 'r', limit: 1, query: [], diagnostics: 'Too many.' };
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

    test('by as many appointments as it permits', () => {
      const usage = new Map([[quotaKey(quota), { row, found: stateOf(booked(), nine) }]]);
      expect(quotaIssues([quota], usage, [], 'Appointment.start', context)).toEqual([
        { code: 'portal-quota-reached', diagnostics: 'Too many.', expression: 'Appointment.start' },
      ]);
      expect(issues({ limit: 2 }, [booked(), nine])).toEqual([]);
      expect(quotaIssues([quota], new Map(), [], 'x', context)).toEqual([]);
    });

    test('by several patients: that is one issue', () => {
      const all = ['r', 's'].map((one) => ({ ...quota, row: one }));
      const usage = new Map(all.map((one) => [quotaKey(one), { row, found: stateOf(booked(), nine) }]));
      expect(quotaIssues(all, usage, [], 'Appointment.start', context)).toHaveLength(1);
    });

    test('not by those that this booking moves or replaces', () => {
      expect(issues({}, [booked()], ['b', 'a'])).toEqual([]);
      expect(issues({}, [booked()], ['b'])).toHaveLength(1);
    });

    test('by more appointments than are counted, whatever they are', () => {
      const many = Array.from({ length: 1_000 }, (_, index) => booked({ id: `a${index}` }));
      const ids = many.map(({ id }) => id ?? '');
      expect(issues({ limit: 2_000 }, many, ids)).toHaveLength(1);
      expect(issues({ limit: 2_000 }, many.slice(1), ids)).toEqual([]);
    });

    test.each<[string, string, boolean]>([
      ['its schedule', 'Schedule/calendar', true],
      ['another schedule', 'Schedule/other', false],
      ['the service of its schedule', 'HealthcareService/ct', true],
      ['another service', 'HealthcareService/mri', false],
    ])('in %s', (_, scope, expected) => {
      expect(issues({ scope }, [booked(), nine, schedule]).length > 0).toBe(expected);
    });

    test('not by an appointment whose slots are unknown, if it is for a schedule or a service', () => {
      expect(issues({ scope: 'HealthcareService/ct' }, [booked(), nine])).toEqual([]);
      expect(issues({ scope: 'Schedule/calendar' }, [booked(), schedule])).toEqual([]);
    });

    test('by holds that are not over, if it counts holds; else by what is no hold', () => {
      const until = (valueInstant: string) => [{ url: artefactUri(config, 'LocalHeldUntil'), valueInstant }];
      const held = appointment({ id: 'h', extension: until('2027-01-01T00:00:01Z') });
      const over = appointment({ id: 'h', extension: until('2027-01-01T00:00:00Z') });
      expect(issues({ code: 'too-many-holds' }, [held])).toHaveLength(1);
      expect(issues({ code: 'too-many-holds' }, [over])).toEqual([]);
      expect(issues({ code: 'too-many-holds' }, [booked()])).toEqual([]);
      expect(issues({}, [held])).toEqual([]);
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

it('a requestor is refused, staff are not', () => {
  const reached = new Set(['open', 'rate'] as const);
  expect(issuesOf(plan(appointment(), stateOf(), { reached }))).toEqual([
    'portal-limit-reached Appointment',
    'too-many-bookings Appointment',
  ]);
  expect(plan(appointment(), stateOf(), { reached }, undefined, 'repository').kind).toBe('write');
});
