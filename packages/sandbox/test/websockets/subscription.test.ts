import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '@appointment-booking/sandbox';
import { describe, expect, test } from '@jest/globals';
import type { Bundle, Subscription } from '@medplum/fhirtypes';
import { until } from '../../../../test/lib/until.ts';
import { createCache } from '../../storage/cache.ts';
import { clientOf } from '../start.ts';
import { portal, websocketSubscription, withWebsockets } from './websockets.ts';

const { client, connect, subscribe, tokenFor } = withWebsockets();

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

  test('starts no Bots', async () => {
    const bot = await client().bot(`exports.handler = async (medplum, event) => {
      await medplum.createResource({ resourceType: 'Basic', code: { text: event.input.criteria } });
    };`);
    const ordinary: Subscription = {
      ...websocketSubscription('Subscription'),
      channel: { type: 'rest-hook', endpoint: `Bot/${bot}` },
    };
    const { id } = await client().create<Subscription>(ordinary);
    await subscribe('Task?code=silent');
    await client().create<Subscription>({ ...ordinary, status: 'off', criteria: 'Task?code=told' });
    const made = await until(async () => {
      const { body } = await client().fhir<Bundle>('GET', 'Basic');
      return body.entry?.some(({ resource }) => JSON.stringify(resource).includes('told')) && body.entry;
    });
    expect(JSON.stringify(made)).not.toContain('silent');
    await client().fhir('DELETE', `Subscription/${id}`);
  });

  test('leaves nothing in the data folder', async () => {
    const dataFolder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    const journal = join(dataFolder, 'journal.jsonl');
    const first = await startSandbox({ dataFolder });
    const before = await readFile(journal, 'utf8');
    await clientOf(first).create<Subscription>(websocketSubscription());
    await first.close();
    expect(await readFile(journal, 'utf8')).toBe(before);
    await rm(dataFolder, { recursive: true });
  });

  test('is forgotten after a day', () => {
    let time = new Date('2027-01-01T00:00:00Z');
    const cache = createCache(() => time);
    const resource = { ...websocketSubscription(), id: 'a' };
    const lastUpdated = time.toISOString();
    const write = { type: 'Subscription' as const, id: 'a', versionId: '1', lastUpdated, resource };
    cache.apply([{ write, interaction: 'create' }]);
    time = new Date('2027-01-01T23:59:59Z');
    expect(cache.find('Subscription', 'a')?.resource).toBe(resource);
    time = new Date('2027-01-02T00:00:00Z');
    expect(cache.find('Subscription', 'a')).toBeUndefined();
  });
});

test('no further Subscription is created once 20 are bound', async () => {
  const listener = await connect();
  for (let count = 1; count <= 20; count++) {
    const { id } = await subscribe();
    listener.say('bind-with-token', await tokenFor(id));
  }
  await until(async () => listener.told('handshake').length === 20);
  const { status, body } = await client().fhir('POST', 'Subscription', websocketSubscription(), portal);
  expect(status).toBe(400);
  expect(body.issue[0]?.details?.text).toMatch(/exceeded allotted maximum number .*: 20$/);
  expect((await client().fhir('POST', 'Subscription', websocketSubscription())).status).toBe(201);
});
