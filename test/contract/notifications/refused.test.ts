import { describe, expect, it } from '@jest/globals';
import { backport } from '../../../core/notifications/subscription/extensions.ts';
import { isActionable, issuesOf } from '../http.ts';
import { config } from '../installation.ts';
import { type Asked, submit, subscription, toWebsocket } from './fixtures.ts';
import './stand-ins.ts';

const endpoint = 'https://example.com/notifications';

function withChannel(changes: object) {
  const { channel, ...rest } = subscription(endpoint);
  return { ...rest, channel: { ...channel, ...changes } };
}

async function expectRefused(body: unknown, status: number, issues: string[]) {
  const answer = await submit(body);
  expect([answer.status, issuesOf(answer)]).toEqual([status, issues]);
  expect(isActionable(answer)).toBe(true);
}

describe('an unknown topic', () => {
  it.each([
    'https://example.org/fhir/SubscriptionTopic/other',
    'Appointment',
    'Appointment?status=booked',
    `${config.profileBase}/SubscriptionTopic/Appointment`,
    '',
  ])('%s: 422', async (criteria) => {
    await expectRefused({ ...subscription(endpoint), criteria }, 422, ['topic-unknown Subscription.criteria']);
  });
});

describe('what is sent is not repeated at length', () => {
  it('a criteria of 100,000 characters: 422', async () => {
    const answer = await submit({ ...subscription(endpoint), criteria: 'x'.repeat(100_000) });
    expect([answer.status, issuesOf(answer)]).toEqual([422, ['topic-unknown Subscription.criteria']]);
    expect(answer.text.length).toBeLessThan(2_000);
  });
});

describe('a narrative that is not safe to display', () => {
  it.each(['<div><script>alert(1)</script></div>', '<'.repeat(80_000)])('%.40s: 422', async (div) => {
    const body = { ...subscription(endpoint), text: { status: 'additional', div } };
    await expectRefused(body, 422, ['profile-violation Subscription.text.div']);
  });
});

describe('an unknown filter', () => {
  it('in an extension of another version: 422', async () => {
    const url = 'http://hl7.org/fhir/5.0/subscriptions-backport/StructureDefinition/backport-filter-criteria';
    const other = { extension: [{ url, valueString: 'Appointment?status=booked' }] };
    const body = { ...subscription(endpoint), _criteria: other };
    await expectRefused(body, 422, ['filter-unsupported Subscription.criteria']);
  });

  it.each([
    'Appointment?colour=blue',
    'Patient?status=booked',
    'status=booked',
    'Appointment?patient=https://elsewhere.example/Patient/1',
    'Appointment?patient=Practitioner/1',
    'Appointment?status:not=booked',
    'Appointment?actor.name=Smith',
  ])('%s: 422', async (filter) => {
    const asked: Asked = { filter };
    await expectRefused(subscription(endpoint, asked), 422, ['filter-unsupported Subscription.criteria']);
  });
});

describe('an unknown channel', () => {
  it.each(['email', 'sms', 'message', 'Websocket'])('%s: 422', async (type) => {
    await expectRefused(withChannel({ type }), 422, ['channel-unsupported Subscription.channel.type']);
  });

  it('a websocket with an endpoint: 422', async () => {
    await expectRefused(withChannel({ type: 'websocket' }), 422, ['channel-unsupported Subscription.channel.endpoint']);
  });

  it.each(['text/html', 'text/xml', 'application/fhir+json\r\nX-Evil: 1'])('payload %j: 422', async (payload) => {
    await expectRefused(withChannel({ payload }), 422, ['channel-unsupported Subscription.channel.payload']);
  });

  it('XML over a websocket: 422', async () => {
    const body = toWebsocket({ payload: 'application/fhir+xml' });
    await expectRefused(body, 422, ['channel-unsupported Subscription.channel.payload']);
  });

  it('an unknown content: 422', async () => {
    const extension = [{ url: backport.payloadContent, valueCode: 'everything' }];
    const issues = ['channel-unsupported Subscription.channel.payload'];
    await expectRefused(withChannel({ _payload: { extension } }), 422, issues);
  });

  it('no content: 400', async () => {
    await expectRefused(withChannel({ _payload: undefined }), 400, ['element-missing Subscription.channel.payload']);
  });
});

describe('an endpoint that is not https or leads into a private network', () => {
  it.each([
    'http://example.com/',
    'ftp://example.com/',
    'https://10.0.0.1/',
    'https://172.16.3.4/',
    'https://192.168.1.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://100.64.0.1/',
    'https://0.0.0.0/',
    'https://224.0.0.1/',
    'https://[fe80::1]/',
    'https://[fc00::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[64:ff9b::a00:1]/',
    'https://0xa000001/',
    'https://167772161/',
    'https://user:secret@example.com/',
    'Bot/1',
    'not a url',
  ])('%s: 422', async (address) => {
    const issues = ['endpoint-not-allowed Subscription.channel.endpoint'];
    await expectRefused(subscription(address), 422, issues);
  });
});

describe('a header that is none', () => {
  it.each(['no colon', ': no name', 'Content-Type: text/html', 'Host: elsewhere', 'X: a\r\nY: b', 'Bad Name: x'])(
    '%j: 400',
    async (header) => {
      await expectRefused(withChannel({ header: [header] }), 400, ['malformed-request Subscription.channel.header[0]']);
    },
  );
});
