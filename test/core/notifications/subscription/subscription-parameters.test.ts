import { describe, expect, test } from '@jest/globals';
import { resourceMatchesSubscriptionCriteria } from '@medplum/core';
import type { Appointment } from '@medplum/fhirtypes';
import { couldRead, permittedAppointments } from '../../../../core/booking/policy/caller-rights.ts';
import { backport } from '../../../../core/fhir/backport.ts';
import { parseHeader } from '../../../../core/notifications/subscription/channel.ts';
import { matchesFilter, parseFilter } from '../../../../core/notifications/subscription/filter.ts';
import { parseSubmission, updatedSubscription } from '../../../../core/notifications/subscription/submission.ts';
import { readSubscriptionParameters } from '../../../../core/notifications/subscription/subscription-parameters.ts';
import { topicNames, topicUrl } from '../../../../core/notifications/subscription/topics.ts';
import { begin, config, history, portal, subscription } from '../support.ts';

describe('settings', () => {
  test.each([
    [0, 5000],
    [1, 1000],
    [8, 8000],
    [60, 8000],
  ])('a timeout of %i s is %i ms', (seconds, expected) => {
    const sent = subscription();
    const extension = [{ url: backport.timeout, valueUnsignedInt: seconds }];
    expect(
      readSubscriptionParameters({ ...sent, channel: { ...sent.channel, extension } }, config).settings?.timeout,
    ).toBe(expected);
  });

  test.each([
    undefined,
    null,
    'x',
    1,
    [],
    {},
    { channel: 'x' },
    { channel: { header: 1, _payload: [] }, _criteria: 'x' },
  ])('nothing that is sent makes them fail: %j', (sent) => {
    expect(readSubscriptionParameters(sent, config).settings).toBeUndefined();
  });
});

test.each(topicNames)('Medplum itself delivers nothing to an active Subscription to the topic %s', async (name) => {
  const [resource] = history({ by: portal, seconds: 1, status: 'booked' });
  const delivers = (criteria: string) =>
    resourceMatchesSubscriptionCriteria({
      resource: resource as Appointment,
      subscription: subscription({ status: 'active', criteria }),
      context: { interaction: 'update' },
      getPreviousResource: async () => undefined,
    });
  expect(await delivers(topicUrl(name, config))).toBe(false);
  expect(await delivers('https://portal.example.org/Appointment')).toBe(true);
});

describe('a filter', () => {
  const [appointment] = history({ by: portal, seconds: 1, status: 'booked' });
  test.each([
    ['Appointment?status=booked', true],
    ['Appointment?status=cancelled,booked', true],
    ['Appointment?status=cancelled', false],
    ['Appointment?patient=Patient/p1', true],
    ['Appointment?patient=p1', true],
    [`Appointment?patient=${config.baseUrl}/Patient/p1`, true],
    ['Appointment?actor=Patient/p1&status=booked', true],
    ['Appointment?actor=Patient/p2&status=booked', false],
  ])('%s: %p', (text, expected) => {
    const conditions = parseFilter(text, 'x', config.baseUrl);
    expect('code' in conditions).toBe(false);
    expect(appointment && !('code' in conditions) && matchesFilter(appointment, conditions)).toBe(expected);
  });
});

describe('a header', () => {
  test.each(['', 'x', ':x', 'a b: c', 'Content-Length: 1', 'transfer-encoding: chunked', 'A: \n', 'A: ☺', 7])(
    '%j is none',
    (line) => {
      expect(parseHeader(line)).toBeUndefined();
    },
  );
});

describe('what the caller may read', () => {
  const profile = { resourceType: 'ClientApplication' };
  test.each<[string, unknown, string[]]>([
    ['no answer: nothing', undefined, []],
    ['a policy without rules: nothing', { profile, accessPolicy: {} }, []],
    ['no policy that is one: nothing', { profile, accessPolicy: 'x' }, []],
    ['rules that are none: nothing', { profile, accessPolicy: { resource: ['x', null] } }, []],
    [
      'what may be read: everything',
      { profile, accessPolicy: { resource: [{ resourceType: 'Appointment', interaction: ['read'] }] } },
      ['Appointment'],
    ],
    [
      'two criteria',
      {
        profile,
        accessPolicy: {
          resource: ['Appointment?a=1', 'Appointment?a=2', 'Appointment?a=1'].map((criteria) => ({
            resourceType: 'Appointment',
            criteria,
          })),
        },
      },
      ['Appointment?a=1', 'Appointment?a=2'],
    ],
    ['without a policy: everything', { profile }, ['Appointment']],
    ['nobody: nothing', { accessPolicy: {} }, []],
    [
      'a criteria',
      { profile, accessPolicy: { resource: [{ resourceType: 'Appointment', criteria: 'Appointment?_tag=a|b' }] } },
      ['Appointment?_tag=a|b'],
    ],
    [
      'no criteria beats one',
      {
        profile,
        accessPolicy: {
          resource: [{ resourceType: 'Appointment', criteria: 'Appointment?_tag=a|b' }, { resourceType: '*' }],
        },
      },
      ['Appointment'],
    ],
    [
      'all types of a compartment: its appointments',
      { profile, accessPolicy: { resource: [{ resourceType: '*', criteria: '*?_compartment=Patient/1' }] } },
      ['Appointment?_compartment=Patient/1'],
    ],
    [
      'a compartment as Medplum named it before: its appointments',
      { profile, accessPolicy: { resource: [{ resourceType: '*', compartment: { reference: 'Patient/1' } }] } },
      ['Appointment?_compartment=Patient/1'],
    ],
    ['other types only: nothing', { profile, accessPolicy: { resource: [{ resourceType: 'Slot' }] } }, []],
    [
      'what may be found but not read: nothing',
      { profile, accessPolicy: { resource: [{ resourceType: 'Appointment', interaction: ['search'] }] } },
      [],
    ],
  ])('%s', (_, me, expected) => {
    expect(permittedAppointments(me)).toEqual(expected);
  });
});

test.each<[string, readonly object[], string[]]>([
  [
    'one that only reads more hides nothing of what is full',
    [{}, { interaction: ['read'], hiddenFields: ['x'] }],
    ['Appointment'],
  ],
  ['one that hides does so also where another lets change', [{ interaction: ['read'], hiddenFields: ['x'] }, {}], []],
  ['one that hides from some', [{ criteria: 'Appointment?a=1', readonlyFields: ['x'] }, {}], []],
  ['one that hides after some', [{ criteria: 'Appointment?a=1' }, { writeConstraint: [] }], []],
])('the rule that an appointment meets first counts for who changes it: %s', (_, rules, expected) => {
  const resource = rules.map((rule) => ({ resourceType: 'Appointment', ...rule }));
  expect(permittedAppointments({ profile: {}, accessPolicy: { resource } }, 'update')).toEqual(expected);
});

describe('a deleted appointment', () => {
  const tag = [
    { system: 'a', code: 'b' },
    { system: 'c', code: 'd' },
  ];
  const appointment = {
    resourceType: 'Appointment' as const,
    status: 'booked' as const,
    participant: [],
    meta: { tag },
  };
  test.each<[string, string[], boolean, boolean]>([
    ['everything', ['Appointment'], false, true],
    ['its tag', ['Appointment?_tag=a|b'], false, true],
    ['one of two tags', ['Appointment?_tag=a|c,a|b'], false, true],
    ['another tag', ['Appointment?_tag=a|c'], true, false],
    ['its second tag', ['Appointment?_tag=c|d'], false, true],
    ['a tag without system and code', ['Appointment?_tag=|'], true, false],
    ['its tag and more', ['Appointment?_tag=a|b&status=booked'], false, false],
    ['two tags, one of which it lacks', ['Appointment?_tag=a|b&_tag=a|c'], true, false],
    ['other criteria, told before', ['Appointment?status=booked'], true, true],
    ['other criteria, not told before', ['Appointment?status=booked'], false, false],
    ['nothing', [], true, false],
  ])('who could read %s', (_, readable, wasNotified, expected) => {
    expect(couldRead(readable, appointment, wasNotified)).toBe(expected);
  });
});

describe('an update', () => {
  const stored = { ...subscription({ id: 's1' }), status: 'active' as const };
  const withHeader = { ...stored, channel: { ...stored.channel, header: ['A: secret'] } };

  function updated(changes: object) {
    const { submission } = parseSubmission(
      subscription({ id: 's1', status: 'active', ...changes }),
      's1',
      begin,
      config,
    );
    return submission && updatedSubscription(submission, withHeader, portal, begin, config);
  }

  test.each<[string, string, string[] | undefined]>([
    ['another path of the same origin', 'https://portal.example.org/other', ['A: secret']],
    ['another host', 'https://other.example/notifications', undefined],
    ['another port', 'https://portal.example.org:8443/notifications', undefined],
    ['another scheme', 'http://portal.example.org/notifications', undefined],
  ])('to %s keeps headers only for the origin that they were sent for', (_, endpoint, header) => {
    expect(updated({ channel: { ...stored.channel, endpoint } })?.channel.header).toEqual(header);
  });

  test('to a websocket and on to another origin does not carry the headers there', () => {
    const { endpoint: _, ...channel } = { ...stored.channel, type: 'websocket' };
    expect(updated({ channel })?.channel.header).toBeUndefined();
  });
});
