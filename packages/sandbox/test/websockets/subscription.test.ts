import { describe, expect, test } from '@jest/globals';
import type { Bundle, Subscription } from '@medplum/fhirtypes';
import { portal, websocketSubscription, withWebsockets } from './websockets.ts';

const { client, subscribe } = withWebsockets();

describe('a Subscription over websockets', () => {
  test('is read by id, and found by no search; it has no history and cannot be patched', async () => {
    const { id, meta } = await subscribe('Task?code=found');
    expect(meta?.versionId).toEqual(expect.any(String));
    const read = await client().fhir<Subscription>('GET', `Subscription/${id}`, undefined, portal);
    expect(read).toMatchObject({ status: 200, body: { id, channel: { type: 'websocket' } } });
    for (const query of [`_id=${id}`, 'criteria=Task?code=found', 'type=websocket']) {
      expect((await client().fhir<Bundle>('GET', `Subscription?${query}`)).body).not.toHaveProperty('entry');
    }
    expect((await client().fhir<Bundle>('GET', `Subscription/${id}/_history`)).body.total).toBe(0);
    const patch = [{ op: 'replace', path: '/status', value: 'off' }];
    expect((await client().fhir('PATCH', `Subscription/${id}`, patch)).status).toBe(404);
  });

  test('is updated and deleted, and is not found afterwards', async () => {
    const subscription = await subscribe();
    const { id } = subscription;
    const changed = await client().fhir<Subscription>('PUT', `Subscription/${id}`, {
      ...subscription,
      reason: 'other',
    });
    expect(changed).toMatchObject({ status: 200, body: { reason: 'other' } });
    expect((await client().fhir('DELETE', `Subscription/${id}`, undefined, portal)).status).toBe(200);
    expect((await client().fhir('GET', `Subscription/${id}`)).status).toBe(404);
    expect((await client().fhir('DELETE', `Subscription/${id}`)).status).toBe(404);
  });

  test('is for those whose AccessPolicy lets them read it', async () => {
    const other = { authorization: 'Bearer portal-b' };
    const [on, off] = [await subscribe('Task'), await subscribe('Task', { status: 'off' })];
    const statuses = [on, off].map(async ({ id }) => {
      const path = `Subscription/${id}`;
      const read = await client().fhir('GET', path, undefined, other);
      const token = await client().fhir('GET', `${path}/$get-ws-binding-token`, undefined, other);
      return [read.status, token.status];
    });
    expect(await Promise.all(statuses)).toEqual([
      [404, 400],
      [200, 200],
    ]);
  });

  test('is there once the transaction that creates it is committed, and not in it', async () => {
    const { body } = await client().transaction([
      { request: { method: 'POST', url: 'Subscription' }, resource: websocketSubscription('Task?code=transaction') },
      { request: { method: 'GET', url: 'Subscription?criteria=Task?code=transaction' } },
    ]);
    const [created, found] = body.entry ?? [];
    expect(found?.response?.status).toBe('200');
    expect(found?.resource).not.toHaveProperty('entry');
    expect((await client().fhir('GET', `Subscription/${created?.resource?.id}`)).status).toBe(200);
  });
});
