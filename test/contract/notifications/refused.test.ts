import { expect, it } from '@jest/globals';
import { backport } from '../../../core/fhir/backport.ts';
import { isActionable, refusalOf } from '../http.ts';
import { config } from '../installation.ts';
import { submit, subscription, toWebsocket } from './fixtures.ts';
import './stand-ins.ts';

const endpoint = 'https://example.com/notifications';

const withChannel = (changes: object) => {
  const { channel, ...rest } = subscription(endpoint);
  return { ...rest, channel: { ...channel, ...changes } };
};
const containing = (valueCode: string) => ({ extension: [{ url: backport.payloadContent, valueCode }] });

const topics = [
  'https://example.org/fhir/SubscriptionTopic/other',
  'Appointment',
  'Appointment?status=booked',
  `${config.profileBase}/SubscriptionTopic/Appointment`,
  '',
];
const unsafe = ['<div><script>alert(1)</script></div>', '<'.repeat(80_000)];
const newer = 'http://hl7.org/fhir/5.0/subscriptions-backport/StructureDefinition/backport-filter-criteria';
const filters = [
  'Appointment?colour=blue',
  'Patient?status=booked',
  'status=booked',
  'Appointment?patient=https://elsewhere.example/Patient/1',
  'Appointment?patient=Practitioner/1',
  'Appointment?status:not=booked',
  'Appointment?actor.name=Smith',
];
const payloads = ['text/html', 'text/xml', 'application/fhir+json\r\nX-Evil: 1'];
/** Not https, or leading into a private network. */
const endpoints = [
  ...['http://example.com/', 'ftp://example.com/', 'https://10.0.0.1/', 'https://172.16.3.4/', 'https://192.168.1.1/'],
  ...['https://169.254.169.254/latest/meta-data', 'https://100.64.0.1/', 'https://0.0.0.0/', 'https://224.0.0.1/'],
  ...['https://[fe80::1]/', 'https://[fc00::1]/', 'https://[::ffff:10.0.0.1]/', 'https://[64:ff9b::a00:1]/'],
  ...['https://0xa000001/', 'https://167772161/', 'https://user:secret@example.com/', 'Bot/1', 'not a url'],
];
const headers = ['no colon', ': no name', 'Content-Type: text/html', 'Host: elsewhere', 'X: a\r\nY: b', 'Bad Name: x'];

type Row = readonly [what: string, body: object, status: number, issue: string];

// biome-ignore format: a row a line
const refused: readonly Row[] = [
  ...topics.map((criteria): Row => [`the topic ${criteria}`, { ...subscription(endpoint), criteria }, 422, 'topic-unknown criteria']),
  ...unsafe.map((div): Row => [`a narrative ${div.slice(0, 20)}`, { ...subscription(endpoint), text: { status: 'additional', div } }, 422, 'profile-violation text.div']),
  ['a filter of another version', { ...subscription(endpoint), _criteria: { extension: [{ url: newer, valueString: 'Appointment?status=booked' }] } }, 422, 'filter-unsupported criteria'],
  ...filters.map((filter): Row => [`the filter ${filter}`, subscription(endpoint, { filter }), 422, 'filter-unsupported criteria']),
  ...['email', 'sms', 'message', 'Websocket'].map((type): Row => [`the channel ${type}`, withChannel({ type }), 422, 'channel-unsupported channel.type']),
  ['a websocket with an endpoint', withChannel({ type: 'websocket' }), 422, 'channel-unsupported channel.endpoint'],
  ...payloads.map((payload): Row => [`the payload ${payload}`, withChannel({ payload }), 422, 'channel-unsupported channel.payload']),
  ['XML over a websocket', toWebsocket({ payload: 'application/fhir+xml' }), 422, 'channel-unsupported channel.payload'],
  ['an unknown content', withChannel({ _payload: containing('everything') }), 422, 'channel-unsupported channel.payload'],
  ['no content', withChannel({ _payload: undefined }), 400, 'element-missing channel.payload'],
  ...endpoints.map((address): Row => [`the endpoint ${address}`, subscription(address), 422, 'endpoint-not-allowed channel.endpoint']),
  ...headers.map((header): Row => [`the header ${header}`, withChannel({ header: [header] }), 400, 'malformed-request channel.header[0]']),
];

it.each(refused)('%s is refused', async (_, body, status, issue) => {
  const response = await submit(body);
  expect(refusalOf(response)).toEqual([status, issue.replace(' ', ' Subscription.')]);
  expect(isActionable(response)).toBe(true);
});

it('what is sent is not repeated at length: a criteria of 100,000 characters: 422', async () => {
  const response = await submit({ ...subscription(endpoint), criteria: 'x'.repeat(100_000) });
  expect(refusalOf(response)).toEqual([422, 'topic-unknown Subscription.criteria']);
  expect(response.text.length).toBeLessThan(2_000);
});
