import { createRequire } from 'node:module';
import type vm from 'node:vm';
import { beforeAll, expect, it } from '@jest/globals';
import type { Appointment, Bundle, Resource, Subscription } from '@medplum/fhirtypes';
import { botSource } from '../../../core/config/bots.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { outboxTask } from '../../../core/notifications/delivery/outbox.ts';
import { backport } from '../../../core/notifications/subscription/extensions.ts';
import { topicUrl } from '../../../core/notifications/subscription/topics.ts';
import { bundleBot } from '../../../scripts/build.ts';
import { config, history, outbox, portal, settings, staff } from '../../core/notifications/support.ts';
import { compile } from '../server.ts';

const subscription: Subscription = {
  resourceType: 'Subscription',
  id: 's1',
  meta: { tag: [requestorTag(portal, config)] },
  status: 'active',
  reason: 'Test',
  criteria: topicUrl('appointment-update', config),
  channel: { type: 'rest-hook', endpoint: settings.endpoint?.href ?? '', payload: settings.mediaType },
};
Object.assign(subscription.channel, {
  _payload: { extension: [{ url: backport.payloadContent, valueCode: settings.content }] },
});

const task = {
  ...outboxTask(outbox, { subscription: 'Subscription/s1', subscriber: portal }, config),
  id: 't1',
  meta: { versionId: '1' },
};
const versions = history({ by: portal, seconds: 1 }, { by: staff, seconds: 2, status: 'arrived' });
const [current] = versions;

let announce: vm.Script;

beforeAll(async () => {
  announce = compile(await bundleBot(botSource('record-events'), config));
});

/** Runs the Bot with a history that may lag behind; gives the resources that it writes. */
async function announceWith(known: readonly Appointment[]): Promise<Resource[]> {
  const found = (url: string): readonly (Resource | undefined)[] => {
    const answers = { 'Task?': [task], 'Subscription?': [subscription], 'Appointment?': [current] };
    const [, listed = []] = Object.entries(answers).find(([start]) => url.startsWith(start)) ?? [];
    return url.includes('/_history') ? known : listed;
  };
  const answered = (sent: Bundle): Bundle => ({
    resourceType: 'Bundle',
    type: 'batch-response',
    entry: sent.entry?.map(({ request, resource }) => ({
      response: { status: '200' },
      resource: resource ?? {
        resourceType: 'Bundle',
        type: 'searchset',
        entry: found(request?.url ?? '').flatMap((one) => (one ? { resource: one } : [])),
      },
    })),
  });
  const written: Resource[] = [];
  const told = { input: current, headers: {} };
  await announce.runInNewContext({
    require: createRequire(import.meta.url),
    console,
    URL,
    URLSearchParams,
    TextEncoder,
    TextDecoder,
    told,
    medplum: {
      getAccessToken: () => 'token',
      fhirUrl: () => 'http://localhost/fhir/R4',
    },
    fetch: async (_url: string, { body }: { body: string }) => {
      const sent = JSON.parse(body) as Bundle;
      written.push(...(sent.entry ?? []).flatMap(({ resource }) => resource ?? []));
      return { status: 200, json: async () => answered(sent) };
    },
  });
  return written;
}

it('a change is announced when the history has its version', async () => {
  const written = await announceWith(versions);
  expect(written.map(({ resourceType }) => resourceType)).toEqual(['Task', 'Communication']);
  expect(JSON.stringify(written[1])).toContain(`Appointment/a1/_history/${current?.meta?.versionId}`);
});

it('a history that lags behind is not relied on: the Bot fails, so that the next sweep announces the change', async () => {
  await expect(announceWith(versions.slice(1))).rejects.toThrow(/lag behind/);
});
