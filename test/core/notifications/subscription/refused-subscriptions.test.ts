import { describe, expect, test } from '@jest/globals';
import type { Issue } from '../../../../core/fhir/outcome/outcome.ts';
import { backport } from '../../../../core/notifications/subscription/extensions.ts';
import { readSubscriptionParameters } from '../../../../core/notifications/subscription/subscription-parameters.ts';
import { topicOf, topicUrl } from '../../../../core/notifications/subscription/topics.ts';
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
const refused: [string, object, Issue['code'], string][] = [
  ['no topic', { criteria: undefined }, 'element-missing', criteria],
  [
    'a filter that only contains a search',
    { _criteria: filter('xAppointment?status=booked') },
    'filter-unsupported',
    criteria,
  ],
  ['a filter of two lines', { _criteria: filter('Appointment?status=booked\nx') }, 'filter-unsupported', criteria],
  ['a filter without a condition', { _criteria: filter('Appointment?') }, 'filter-unsupported', criteria],
  ['a filter that is not text', { _criteria: filter(1) }, 'filter-unsupported', criteria],
  ['an array for a filter', { _criteria: filter(Array(5000).fill('x')) }, 'filter-unsupported', criteria],
  [
    'a filter by something that is not a status',
    { _criteria: filter('Appointment?status=booked 1') },
    'filter-unsupported',
    criteria,
  ],
  [
    'a filter by something that only ends as a status',
    { _criteria: filter('Appointment?status=1booked') },
    'filter-unsupported',
    criteria,
  ],
  ['a filter by an id without its type', { _criteria: filter('Appointment?actor=p1') }, 'filter-unsupported', criteria],
  [
    'a filter by one good and one bad value',
    { _criteria: filter('Appointment?patient=p1,Slot/s1') },
    'filter-unsupported',
    criteria,
  ],
  [
    'a filter of 4001 characters',
    { _criteria: filter(`Appointment?status=${'x'.repeat(3982)}`) },
    'filter-unsupported',
    criteria,
  ],
  [
    '11 filters',
    { _criteria: { extension: Array(11).fill(filter('Appointment?status=booked').extension[0]) } },
    'filter-unsupported',
    criteria,
  ],
  ['no channel type', inChannel({ type: undefined }), 'element-missing', 'Subscription.channel.type'],
  ['no endpoint', inChannel({ endpoint: undefined }), 'element-missing', endpoint],
  ['an empty endpoint', inChannel({ endpoint: '' }), 'element-missing', endpoint],
  [
    'a password in the endpoint',
    inChannel({ endpoint: 'https://:secret@a.example/' }),
    'endpoint-not-allowed',
    endpoint,
  ],
  [
    'an endpoint of 2001 characters',
    inChannel({ endpoint: 'https://a.example/'.padEnd(2001, 'x') }),
    'endpoint-not-allowed',
    endpoint,
  ],
  ['no payload', inChannel({ payload: undefined }), 'element-missing', payload],
  ['a payload that begins with one', inChannel({ payload: '\napplication/json' }), 'channel-unsupported', payload],
  ...[-1, 1.5, '5'].map((value): (typeof refused)[number] => [
    `a timeout of ${JSON.stringify(value)}`,
    inChannel(period(backport.timeout, value)),
    'malformed-request',
    'Subscription.channel',
  ]),
  ['a heartbeat of -1', inChannel(period(backport.heartbeatPeriod, -1)), 'malformed-request', 'Subscription.channel'],
  ['an end that is not an instant', { end: 'tomorrow' }, 'malformed-request', 'Subscription.end'],
  ['a header that is no list', inChannel({ header: 'x' }), 'malformed-request', 'Subscription.channel.header[0]'],
  ['21 headers', inChannel({ header: Array(21).fill('A: 1') }), 'malformed-request', 'Subscription.channel.header'],
  [
    '8001 characters of headers',
    inChannel({ header: ['A: 1', `B: ${'x'.repeat(7994)}`] }),
    'malformed-request',
    'Subscription.channel.header',
  ],
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

test('a websocket Subscription has no endpoint', () => {
  const sent = subscription(inChannel({ type: 'websocket', endpoint: undefined }));
  expect(readSubscriptionParameters(sent, config)).toMatchObject({ issues: [], settings: { endpoint: undefined } });
});

test('a heartbeat of 0 is none', () => {
  const { settings } = readSubscriptionParameters(subscription(inChannel(period(backport.heartbeatPeriod, 0))), config);
  expect(settings).toMatchObject({ heartbeat: undefined });
});

test('several faults are reported at once', () => {
  const { settings, issues } = readSubscriptionParameters({}, config);
  expect(settings).toBeUndefined();
  expect(issues.map(({ code, expression }) => [code, expression])).toEqual([
    ['element-missing', criteria],
    ['element-missing', 'Subscription.channel.type'],
    ['element-missing', endpoint],
    ['element-missing', payload],
    ['element-missing', payload],
  ]);
});

test('a topic is known by its whole address', () => {
  expect(topicOf(topicUrl('appointment-cancel', config), config)).toBe('appointment-cancel');
  expect(topicOf('https://other.example/SubscriptionTopic/appointment-cancel', config)).toBeUndefined();
});

test('the extensions are those of the backport IG', () => {
  expect(backport.payloadContent).toBe(
    'http://hl7.org/fhir/uv/subscriptions-backport/StructureDefinition/backport-payload-content',
  );
});
