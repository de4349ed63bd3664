import { describe, expect, test } from '@jest/globals';
import { backport } from '../../../../core/fhir/backport.ts';
import type { Issue } from '../../../../core/fhir/outcome/outcome.ts';
import { readSubscriptionParameters } from '../../../../core/notifications/subscription/subscription-parameters.ts';
import { topicUrl } from '../../../../core/notifications/subscription/topics.ts';
import { config, subscription } from '../support.ts';

const { channel } = subscription();
const content = (valueCode: unknown) => ({ extension: [{ url: backport.payloadContent, valueCode }] });
const filter = (valueString: unknown) => ({ extension: [{ url: backport.filterCriteria, valueString }] });
const period = (url: string, value: unknown) => ({ extension: [{ url, valueUnsignedInt: value }] });

const criteria = 'Subscription.criteria';
const endpoint = 'Subscription.channel.endpoint';
const payload = 'Subscription.channel.payload';

/** What is wrong with a Subscription whose channel has other elements. */
const inChannel = (changes: object) => ({ channel: { ...channel, ...changes } });

/** What is refused, with the code and the element of the one issue. */
type Refused = [string, object, Issue['code'], string];
const refusedFilter = (name: string, text: unknown): Refused => [
  name,
  { _criteria: filter(text) },
  'filter-unsupported',
  criteria,
];
const malformed = (name: string, changes: object, path = ''): Refused => [
  name,
  inChannel(changes),
  'malformed-request',
  `Subscription.channel${path}`,
];
const booked = filter('Appointment?status=booked').extension[0];

const refused: Refused[] = [
  ['no topic', { criteria: undefined }, 'element-missing', criteria],
  refusedFilter('a filter that only contains a search', 'xAppointment?status=booked'),
  refusedFilter('a filter of two lines', 'Appointment?status=booked\nx'),
  refusedFilter('a filter without a condition', 'Appointment?'),
  refusedFilter('a filter that is not text', 1),
  refusedFilter('an array for a filter', Array(5000).fill('x')),
  refusedFilter('a filter by something that is not a status', 'Appointment?status=booked 1'),
  refusedFilter('a filter by something that only ends as a status', 'Appointment?status=1booked'),
  refusedFilter('a filter by an id without its type', 'Appointment?actor=p1'),
  refusedFilter('a filter by one good and one bad value', 'Appointment?patient=p1,Slot/s1'),
  refusedFilter('a filter of 4001 characters', `Appointment?status=${'x'.repeat(3982)}`),
  ['11 filters', { _criteria: { extension: Array(11).fill(booked) } }, 'filter-unsupported', criteria],
  ['no channel type', inChannel({ type: undefined }), 'element-missing', 'Subscription.channel.type'],
  ['no endpoint', inChannel({ endpoint: undefined }), 'element-missing', endpoint],
  ['an empty endpoint', inChannel({ endpoint: '' }), 'element-missing', endpoint],
  ['a password', inChannel({ endpoint: 'https://:secret@a.example/' }), 'endpoint-not-allowed', endpoint],
  [
    '2001 characters',
    inChannel({ endpoint: 'https://a.example/'.padEnd(2001, 'x') }),
    'endpoint-not-allowed',
    endpoint,
  ],
  ['no payload', inChannel({ payload: undefined }), 'element-missing', payload],
  ['a payload that begins with one', inChannel({ payload: '\napplication/json' }), 'channel-unsupported', payload],
  ...[-1, 1.5, '5'].map((value) => malformed(`a timeout of ${JSON.stringify(value)}`, period(backport.timeout, value))),
  malformed('a heartbeat of -1', period(backport.heartbeatPeriod, -1)),
  ['an end that is not an instant', { end: 'tomorrow' }, 'malformed-request', 'Subscription.end'],
  malformed('a header that is no list', { header: 'x' }, '.header[0]'),
  malformed('21 headers', { header: Array(21).fill('A: 1') }, '.header'),
  malformed('8001 characters of headers', { header: ['A: 1', `B: ${'x'.repeat(7994)}`] }, '.header'),
];

test.each(refused)('%s is refused', (_, changes, code, expression) => {
  const { settings, issues } = readSubscriptionParameters(subscription(changes), config);
  expect(issues).toMatchObject([{ code, expression }]);
  expect(settings).toBeUndefined();
});

describe('just within the bounds', () => {
  test.each<[string, object]>([
    ['10 filters', { _criteria: { extension: Array(10).fill(filter('Appointment?status=booked').extension[0]) } }],
    ['a filter of 4000 characters', { _criteria: filter(`Appointment?status=${'x'.repeat(3981)}`) }],
    ['a filter with white space around it', { _criteria: filter('  Appointment?status=booked\n') }],
    ['an endpoint of 2000 characters', inChannel({ endpoint: 'https://a.example/'.padEnd(2000, 'x') })],
    ['20 headers', inChannel({ header: Array(20).fill('A: 1') })],
    ['8000 characters of headers', inChannel({ header: ['A: 1', `B: ${'x'.repeat(7993)}`] })],
    ['an http endpoint, which may be in an allowed network', inChannel({ endpoint: 'http://a.example/' })],
  ])('%s: accepted', (_, changes) => {
    const { settings, issues } = readSubscriptionParameters(subscription(changes), config);
    expect(issues).toEqual([]);
    expect(settings).toBeDefined();
  });
});

test('everything that a Subscription asks for is read', () => {
  const wanted = subscription({
    extension: [
      { url: 'http://other.example', valueBoolean: false },
      { url: `${config.profileBase}/StructureDefinition/LocalOwnChanges`, valueBoolean: true },
    ],
    criteria: topicUrl('appointment-cancel', config),
    _criteria: {
      extension: ['Appointment?status=booked,pending', 'Appointment?patient=p1&actor=Practitioner/d1'].flatMap(
        (text) => filter(text).extension,
      ),
    },
    end: '2027-02-03T04:05:06Z',
    ...inChannel({
      payload: 'application/fhir+json; charset=utf-8',
      _payload: content('full-resource'),
      extension: [...period(backport.heartbeatPeriod, 60).extension, ...period(backport.timeout, 3).extension],
    }),
  });
  const { settings, issues } = readSubscriptionParameters(wanted, config);
  expect(issues).toEqual([]);
  expect(settings).toEqual({
    topic: 'appointment-cancel',
    conditions: [
      { name: 'status', values: ['booked', 'pending'] },
      { name: 'patient', values: ['Patient/p1'] },
      { name: 'actor', values: ['Practitioner/d1'] },
    ],
    endpoint: new URL('https://portal.example.org/notifications'),
    mediaType: 'application/fhir+json; charset=utf-8',
    content: 'full-resource',
    heartbeat: 60,
    timeout: 3000,
    wantsOwnChanges: true,
    end: Date.parse('2027-02-03T04:05:06Z'),
  });
});
