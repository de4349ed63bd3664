import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import { backport } from '../../../core/fhir/backport.ts';
import { isActionable, issuesOf, refusalOf, request, resourceIn } from '../http.ts';
import { base, config } from '../installation.ts';
import { submit, subscription, turnsTo } from './fixtures.ts';
import { type Listener, listen } from './listener.ts';
import './stand-ins.ts';

let listener: Listener;
beforeAll(async () => {
  listener = await listen();
});
afterAll(() => listener.close());

it('POST /Subscription: 201 with Location, status requested, its profile, and what was sent', async () => {
  const sent = subscription(listener, { filter: 'Appointment?status=booked,cancelled' });
  const response = await submit(sent);
  const created = resourceIn('Subscription', response);
  expect(response.status).toBe(201);
  expect(response.headers.get('location')).toBe(`${base}/Subscription/${created.id}`);
  expect(response.headers.get('etag')).toBe(`W/"${created.meta?.versionId}"`);
  expect(created).toMatchObject({ ...sent, status: 'requested' });
  expect(created.meta?.profile).toContain(artefactUri(config, 'LocalSubscriptionTermin'));
  await turnsTo('active', created.id);
});

it('who claims by a tag to be active gets a handshake all the same', async () => {
  const tag = [{ system: 'http://hl7.org/fhir/subscription-status', code: 'active' }];
  const refusing = await listen();
  refusing.reply = 404;
  const response = await submit({ ...subscription(refusing), meta: { tag } });
  const { id, status } = resourceIn('Subscription', response);
  expect([response.status, status]).toEqual([201, 'requested']);
  await turnsTo('error', id);
  const sent = { ...subscription(refusing), id, meta: { tag } };
  const again = await request('portal-a', 'PUT', `/Subscription/${id}`, { body: sent });
  expect([again.status, resourceIn('Subscription', again).status]).toEqual([200, 'requested']);
  await turnsTo('error', id);
  await refusing.close();
});

it.each(['active', 'off', 'error', undefined])('status %s is refused', async (status) => {
  const response = await submit({ ...subscription(listener), status });
  expect([response.status, issuesOf(response)]).toEqual(
    status ? [422, ['profile-violation Subscription.status']] : [400, ['element-missing Subscription.status']],
  );
  expect(isActionable(response)).toBe(true);
});

it('an end in the past is refused', async () => {
  const response = await submit({ ...subscription(listener), end: '2020-01-01T00:00:00Z' });
  expect(refusalOf(response)).toEqual([422, 'profile-violation Subscription.end']);
});

it('all that is wrong comes back at once', async () => {
  const { channel, reason: _, ...sent } = subscription(listener, { filter: 'Appointment?colour=blue' });
  const response = await submit({
    ...sent,
    criteria: 'https://example.org/topic',
    channel: { ...channel, type: 'email' },
  });
  expect([response.status, issuesOf(response).sort()]).toEqual([
    400,
    [
      'channel-unsupported Subscription.channel.type',
      'element-missing Subscription.reason',
      'filter-unsupported Subscription.criteria',
      'topic-unknown Subscription.criteria',
    ],
  ]);
});

it('a body that is no Subscription: 400', async () => {
  expect(refusalOf(await submit({ resourceType: 'Basic' }))).toEqual([400, 'malformed-request http.body']);
});

it('GET /metadata names the topics, the profile and the operations', async () => {
  const statement = resourceIn('CapabilityStatement', await request('nobody', 'GET', '/metadata'));
  const served = statement.rest?.[0]?.resource?.find(({ type }) => type === 'Subscription');
  const topics = served?.extension?.filter(({ url }) => url === backport.topicCanonical);
  expect(topics?.map(({ valueCanonical }) => valueCanonical)).toEqual([
    `${config.profileBase}/SubscriptionTopic/appointment-update`,
    `${config.profileBase}/SubscriptionTopic/appointment-cancel`,
    `${config.profileBase}/SubscriptionTopic/appointment-offer`,
  ]);
  expect(served?.interaction?.map(({ code }) => code)).toEqual(['read', 'search-type', 'create', 'update', 'delete']);
  expect(served?.operation?.map(({ name }) => name)).toEqual(['status', 'events', 'get-ws-binding-token', 'deliver']);
});
