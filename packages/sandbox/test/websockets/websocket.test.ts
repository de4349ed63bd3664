import { once } from 'node:events';
import { startSandbox } from '@appointment-booking/sandbox';
import { describe, expect, test } from '@jest/globals';
import { WebSocket } from 'ws';
import { until } from '../../../../test/lib/until.ts';
import { clientOf } from '../start.ts';
import { descriptions, task, unknown, withWebsockets } from './websockets.ts';

const { client, address, connect, subscribe, tokenFor, listen, sentinel, membership } = withWebsockets();

describe('a websocket', () => {
  test('is told of nothing that its member may not read, nor of what its criteria do not mean', async () => {
    const [all, few] = [await listen(), await listen('Task?status=requested')];
    await client().create(task('secret', 'draft'));
    await client().create(task('other', 'accepted'));
    await sentinel(all.listener, few.listener);
    expect(descriptions(all.listener)).toEqual(['other', 'sentinel']);
    expect(descriptions(few.listener)).toEqual(['sentinel']);
  });

  test('is told in the order of the commits, and of nothing that was rolled back', async () => {
    const { listener } = await listen();
    const post = (description: string) => ({
      request: { method: 'POST' as const, url: 'Task' },
      resource: task(description),
    });
    const failed = await client().transaction([post('lost'), { request: { method: 'GET', url: `Task/${unknown}` } }]);
    expect(failed.status).toBe(404);
    const order = Array.from({ length: 10 }, (_, index) => [`${index} a`, `${index} b`]);
    for (const names of order) {
      expect((await client().transaction(names.map(post))).status).toBe(200);
    }
    await sentinel(listener);
    expect(descriptions(listener)).toEqual([...order.flat(), 'sentinel']);
  });

  test('is bound to several Subscriptions, and told once for each of them', async () => {
    const { id, listener } = await listen();
    const other = await subscribe('Task?status=requested');
    listener.say('bind-with-token', await tokenFor(other.id));
    await until(async () => listener.told('handshake').length === 2);
    await sentinel(listener);
    await until(async () => listener.events().length === 2);
    const notified = listener.told('event-notification').map(({ subscription }) => subscription.reference);
    expect(notified).toEqual([`Subscription/${id}`, `Subscription/${other.id}`]);
  });

  test('is told nothing once it is unbound, and the Subscription is gone', async () => {
    const [first, second] = [await listen(), await listen()];
    first.listener.say('unbind-from-token', first.token);
    await first.listener.caughtUp();
    expect((await client().fhir('GET', `Subscription/${first.id}`)).status).toBe(404);
    await sentinel(second.listener);
    expect(first.listener.events()).toEqual([]);
    first.listener.say('bind-with-token', first.token);
    await first.listener.caughtUp();
    expect(first.listener.told('handshake')).toHaveLength(1);
  });

  test('that does not unbind its own leaves the Subscription to the others', async () => {
    const { id, token, listener } = await listen();
    const stranger = await connect();
    stranger.say('unbind-from-token', token);
    await stranger.caughtUp();
    await sentinel(listener);
    expect((await client().fhir('GET', `Subscription/${id}`)).status).toBe(200);
  });

  test('takes its Subscriptions along when it is closed', async () => {
    const { id, listener } = await listen();
    listener.socket.close();
    await until(async () => (await client().fhir('GET', `Subscription/${id}`)).status === 404);
  });

  test('is told nothing of a Subscription that was deleted', async () => {
    const [first, second] = [await listen(), await listen()];
    await client().fhir('DELETE', `Subscription/${first.id}`);
    await sentinel(second.listener);
    expect(first.listener.events()).toEqual([]);
  });

  test('is told nothing once its member is none any more', async () => {
    const [first, second] = [await listen(), await listen()];
    const { body } = await client().fhir<object>('GET', `ProjectMembership/${membership()}`);
    await client().fhir('PUT', `ProjectMembership/${membership()}`, { ...body, active: false });
    await client().create(task('unseen'));
    await until(async () => (await client().fhir('GET', `Subscription/${first.id}`)).status === 404);
    await client().fhir('PUT', `ProjectMembership/${membership()}`, { ...body, active: true });
    const third = await listen();
    await sentinel(third.listener);
    expect([...first.listener.events(), ...second.listener.events()]).toEqual([]);
  });

  test('refuses a bad token, and breaks off after one that is for something else', async () => {
    const listener = await connect();
    listener.say('bind-with-token', 'nonsense');
    await listener.caughtUp();
    expect(listener.messages[0]).toMatchObject({
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'error', code: 'invalid', details: { text: expect.stringContaining('failed to validate') } }],
    });
    const { clientId, clientSecret } = client().sandbox;
    const credentials = { client_id: clientId, client_secret: clientSecret };
    const form = new URLSearchParams({ grant_type: 'client_credentials', ...credentials }).toString();
    const { body } = await client().send<{ access_token: string }>('POST', 'oauth2/token', form, {
      authorization: '',
      'content-type': 'application/x-www-form-urlencoded',
    });
    listener.say('bind-with-token', body.access_token);
    await until(async () => listener.socket.readyState === WebSocket.CLOSED);
    expect(listener.told('handshake')).toEqual([]);
  });
});

test('closing the sandbox closes the websockets, also those that do not answer', async () => {
  const sandbox = await startSandbox();
  const url = address(undefined, clientOf(sandbox));
  const [{ socket }, mute] = [await connect(url), await connect(url)];
  mute.socket.pause();
  const closed = once(socket, 'close');
  await sandbox.close();
  expect((await closed)[0]).toBe(1001);
});
