import { describe, expect, test } from '@jest/globals';
import type { Issue } from '../../../../core/fhir/outcome/outcome.ts';
import { backport } from '../../../../core/notifications/subscription/extensions.ts';
import { readSubscriptionParameters } from '../../../../core/notifications/subscription/subscription-parameters.ts';
import { topicNames, topicOf, topicUrl } from '../../../../core/notifications/subscription/topics.ts';
import { config, subscription } from '../support.ts';

const { channel } = subscription();
const topics = topicNames.map((name) => topicUrl(name, config)).join(', ');
const content = (valueCode: unknown) => ({ extension: [{ url: backport.payloadContent, valueCode }] });
const filter = (valueString: unknown) => ({ extension: [{ url: backport.filterCriteria, valueString }] });
const period = (url: string, value: unknown) => ({ extension: [{ url, valueUnsignedInt: value }] });

const criteria = 'Subscription.criteria';
const endpoint = 'Subscription.channel.endpoint';
const payload = 'Subscription.channel.payload';
const names = 'status, actor, patient';
const known = 'application/fhir+json or application/json or application/fhir+xml';

/** What is wrong with a Subscription whose channel has other elements. */
const inChannel = (changes: object) => ({ channel: { ...channel, ...changes } });

/** What is refused, with the code, the element and the text of the one issue. */
const refused: [string, object, Issue['code'], string, string][] = [
  [
    'no topic',
    { criteria: undefined },
    'element-missing',
    criteria,
    `Subscription.criteria is required: the address of a topic, one of ${topics}.`,
  ],
  ['an unknown topic', { criteria: 'x' }, 'topic-unknown', criteria, `The criteria must be one of ${topics}, not 'x'.`],
  [
    'a filter that is not a search',
    { _criteria: filter('status=booked') },
    'filter-unsupported',
    criteria,
    `A filter must have the form Appointment?name=value. Supported names: ${names}.`,
  ],
  [
    'a filter that only contains a search',
    { _criteria: filter('xAppointment?status=booked') },
    'filter-unsupported',
    criteria,
    `A filter must have the form Appointment?name=value. Supported names: ${names}.`,
  ],
  [
    'a filter of two lines',
    { _criteria: filter('Appointment?status=booked\nx') },
    'filter-unsupported',
    criteria,
    `A filter must have the form Appointment?name=value. Supported names: ${names}.`,
  ],
  [
    'a filter without a condition',
    { _criteria: filter('Appointment?') },
    'filter-unsupported',
    criteria,
    `A filter must have the form Appointment?name=value. Supported names: ${names}.`,
  ],
  [
    'a filter that is not text',
    { _criteria: filter(1) },
    'filter-unsupported',
    criteria,
    `A filter must have the form Appointment?name=value. Supported names: ${names}.`,
  ],
  [
    'an array for a filter',
    { _criteria: filter(Array(5000).fill('x')) },
    'filter-unsupported',
    criteria,
    `A filter must have the form Appointment?name=value. Supported names: ${names}.`,
  ],
  [
    'a filter by another parameter',
    { _criteria: filter('Appointment?date=2027') },
    'filter-unsupported',
    criteria,
    `There is no filter 'date'. Supported: ${names}.`,
  ],
  [
    'a filter by something that is not a status',
    { _criteria: filter('Appointment?status=booked 1') },
    'filter-unsupported',
    criteria,
    `'booked 1' is not a value of the filter 'status'.`,
  ],
  [
    'a filter by something that only ends as a status',
    { _criteria: filter('Appointment?status=1booked') },
    'filter-unsupported',
    criteria,
    `'1booked' is not a value of the filter 'status'.`,
  ],
  [
    'a filter by an id without its type',
    { _criteria: filter('Appointment?actor=p1') },
    'filter-unsupported',
    criteria,
    `'p1' is not a value of the filter 'actor'.`,
  ],
  [
    'a filter by one good and one bad value',
    { _criteria: filter('Appointment?patient=p1,Slot/s1') },
    'filter-unsupported',
    criteria,
    `'p1,Slot/s1' is not a value of the filter 'patient'.`,
  ],
  [
    'a filter of 4001 characters',
    { _criteria: filter(`Appointment?status=${'x'.repeat(3982)}`) },
    'filter-unsupported',
    criteria,
    'A filter can have at most 4000 characters.',
  ],
  [
    '11 filters',
    { _criteria: { extension: Array(11).fill(filter('Appointment?status=booked').extension[0]) } },
    'filter-unsupported',
    criteria,
    'A Subscription can have at most 10 filters.',
  ],
  [
    'an unknown channel',
    inChannel({ type: 'email' }),
    'channel-unsupported',
    'Subscription.channel.type',
    "The channel type must be rest-hook or websocket, not 'email'.",
  ],
  [
    'no channel type',
    inChannel({ type: undefined }),
    'element-missing',
    'Subscription.channel.type',
    'Subscription.channel.type is required: rest-hook or websocket.',
  ],
  [
    'an endpoint for websockets',
    inChannel({ type: 'websocket' }),
    'channel-unsupported',
    endpoint,
    'A websocket Subscription must not have an endpoint: call $get-ws-binding-token and connect to the websocket-url it returns.',
  ],
  [
    'no endpoint',
    inChannel({ endpoint: undefined }),
    'element-missing',
    endpoint,
    'Subscription.channel.endpoint is required: the https URL that notifications are sent to.',
  ],
  [
    'an empty endpoint',
    inChannel({ endpoint: '' }),
    'element-missing',
    endpoint,
    'Subscription.channel.endpoint is required: the https URL that notifications are sent to.',
  ],
  [
    'a relative endpoint',
    inChannel({ endpoint: '/x' }),
    'endpoint-not-allowed',
    endpoint,
    "The endpoint must be an absolute URL, not '/x'.",
  ],
  [
    'an endpoint by another protocol',
    inChannel({ endpoint: 'ftp://a.example/' }),
    'endpoint-not-allowed',
    endpoint,
    'The endpoint must be an https URL, not ftp:.',
  ],
  [
    'a user in the endpoint',
    inChannel({ endpoint: 'https://user@a.example/' }),
    'endpoint-not-allowed',
    endpoint,
    'The endpoint must not contain a user or password; use channel.header.',
  ],
  [
    'a password in the endpoint',
    inChannel({ endpoint: 'https://:secret@a.example/' }),
    'endpoint-not-allowed',
    endpoint,
    'The endpoint must not contain a user or password; use channel.header.',
  ],
  [
    'an endpoint of 2001 characters',
    inChannel({ endpoint: 'https://a.example/'.padEnd(2001, 'x') }),
    'endpoint-not-allowed',
    endpoint,
    'The endpoint can have at most 2000 characters.',
  ],
  [
    'no payload',
    inChannel({ payload: undefined }),
    'element-missing',
    payload,
    `Subscription.channel.payload is required: ${known}.`,
  ],
  [
    'another payload',
    inChannel({ payload: 'text/plain' }),
    'channel-unsupported',
    payload,
    `The payload must be ${known}, not 'text/plain'.`,
  ],
  [
    'a payload with a line break',
    inChannel({ payload: 'application/json;\nx' }),
    'channel-unsupported',
    payload,
    `The payload must be ${known}, not 'application/json;\nx'.`,
  ],
  [
    'a payload that begins with one',
    inChannel({ payload: '\napplication/json' }),
    'channel-unsupported',
    payload,
    `The payload must be ${known}, not '\napplication/json'.`,
  ],
  [
    'XML over a websocket',
    inChannel({ type: 'websocket', endpoint: undefined, payload: 'application/fhir+xml' }),
    'channel-unsupported',
    payload,
    "The payload must be application/fhir+json or application/json, not 'application/fhir+xml'.",
  ],
  [
    'no content',
    inChannel({ _payload: undefined }),
    'element-missing',
    payload,
    `Subscription.channel.payload is required: the extension ${backport.payloadContent} with empty, id-only, full-resource.`,
  ],
  [
    'another content',
    inChannel({ _payload: content('all') }),
    'channel-unsupported',
    payload,
    "The content must be one of empty, id-only, full-resource, not 'all'.",
  ],
  ...[-1, 1.5, '5'].map((value): (typeof refused)[number] => [
    `a timeout of ${JSON.stringify(value)}`,
    inChannel(period(backport.timeout, value)),
    'malformed-request',
    'Subscription.channel',
    `The extension ${backport.timeout} must have a valueUnsignedInt, in seconds.`,
  ]),
  [
    'a heartbeat of -1',
    inChannel(period(backport.heartbeatPeriod, -1)),
    'malformed-request',
    'Subscription.channel',
    `The extension ${backport.heartbeatPeriod} must have a valueUnsignedInt, in seconds.`,
  ],
  [
    'an end that is not an instant',
    { end: 'tomorrow' },
    'malformed-request',
    'Subscription.end',
    "The end must be an instant, not 'tomorrow'.",
  ],
  [
    'a malformed header',
    inChannel({ header: ['A: 1', 'x'] }),
    'malformed-request',
    'Subscription.channel.header[1]',
    'A header must have the form Name: value. Headers of the connection or of the notification itself cannot be set.',
  ],
  [
    'a header that is no list',
    inChannel({ header: 'x' }),
    'malformed-request',
    'Subscription.channel.header[0]',
    'A header must have the form Name: value. Headers of the connection or of the notification itself cannot be set.',
  ],
  [
    '21 headers',
    inChannel({ header: Array(21).fill('A: 1') }),
    'malformed-request',
    'Subscription.channel.header',
    'A Subscription can have at most 20 headers.',
  ],
  [
    '8001 characters of headers',
    inChannel({ header: ['A: 1', `B: ${'x'.repeat(7994)}`] }),
    'malformed-request',
    'Subscription.channel.header',
    'The headers of a Subscription can have at most 8000 characters in total.',
  ],
];

test.each(refused)('%s is refused', (_, changes, code, expression, diagnostics) => {
  const { settings, issues } = readSubscriptionParameters(subscription(changes), config);
  expect(issues).toEqual([{ code, diagnostics, expression }]);
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
