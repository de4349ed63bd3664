import { describe, expect, test } from '@jest/globals';
import type { Appointment } from '@medplum/fhirtypes';
import type { EffectivePolicy } from '../../../../core/booking/policy/effective-policy.ts';
import { policyQuotas, type Quota, quotaIssues, quotaKey, quotaRow } from '../../../../core/booking/policy/quota.ts';
import { artefactUri } from '../../../../core/config/config.ts';
import { requestorQuery } from '../../../../core/fhir/tags.ts';
import { appointment, at, config, now, requestor, schedule, slot, stateOf } from '../support.ts';

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
