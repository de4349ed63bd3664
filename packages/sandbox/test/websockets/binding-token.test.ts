import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '@appointment-booking/sandbox';
import { describe, expect, test } from '@jest/globals';
import type { Parameters, Subscription } from '@medplum/fhirtypes';
import { clientOf } from '../start.ts';
import { portal, websocketSubscription, withWebsockets } from './websockets.ts';

const { client, subscribe } = withWebsockets();

describe('$get-ws-binding-token', () => {
  test('answers a token that is good for an hour', async () => {
    const path = `Subscription/${(await subscribe()).id}/$get-ws-binding-token`;
    const { body } = await client().fhir<Parameters>('GET', path, undefined, portal);
    const left = Date.parse(body.parameter?.[1]?.valueDateTime ?? '') - Date.now();
    expect(Math.abs(left - 3_600_000)).toBeLessThan(60_000);
  });

  test.each([
    [
      'another channel',
      { ...websocketSubscription(), channel: { type: 'rest-hook', endpoint: 'https://example.com' } } as const,
      'Invalid channel type for this operation: rest-hook',
    ],
    [
      'criteria for an unknown type',
      websocketSubscription('Nonsense?code=a'),
      "Invalid Subscription criteria: 'Nonsense?code=a'. 'Nonsense' is not a valid resource type.",
    ],
  ])('refuses %s', async (_, subscription, text) => {
    const { id } = await client().create<Subscription>(subscription);
    const { status, body } = await client().fhir('GET', `Subscription/${id}/$get-ws-binding-token`);
    expect([status, body.issue[0]?.details?.text]).toEqual([400, text]);
  });

  test('is refused in a project without websockets', async () => {
    const dataFolder = await mkdtemp(join(tmpdir(), 'sandbox-'));
    await (await startSandbox({ dataFolder })).close();
    const journal = join(dataFolder, 'journal.jsonl');
    await writeFile(journal, (await readFile(journal, 'utf8')).replace(',"websocket-subscriptions"', ''));
    const sandbox = await startSandbox({ dataFolder });
    const { id } = await clientOf(sandbox).create<Subscription>(websocketSubscription());
    const { status, body } = await clientOf(sandbox).fhir('GET', `Subscription/${id}/$get-ws-binding-token`);
    const text = 'WebSocket subscriptions not enabled for current project';
    expect([status, body.issue[0]?.details?.text]).toEqual([400, text]);
    await sandbox.close();
    await rm(dataFolder, { recursive: true });
  });
});
