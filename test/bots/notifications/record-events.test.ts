import { createRequire } from 'node:module';
import type vm from 'node:vm';
import { beforeAll, expect, it } from '@jest/globals';
import type { Appointment, Bundle, Communication, Resource, Subscription, Task } from '@medplum/fhirtypes';
import { botSource } from '../../../core/config/bots.ts';
import { requestorTag } from '../../../core/fhir/tags.ts';
import { checkpointTask } from '../../../core/notifications/delivery/checkpoint.ts';
import { noOutboxes, outboxesTask, withOutbox } from '../../../core/notifications/delivery/outbox.ts';
import { eventResource } from '../../../core/notifications/events/event.ts';
import { backport } from '../../../core/notifications/subscription/extensions.ts';
import { topicUrl } from '../../../core/notifications/subscription/topics.ts';
import { bundleBot } from '../../../scripts/build/bots.ts';
import { begin, config, history, outbox, portal, settings, staff } from '../../core/notifications/support.ts';
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
  ...outboxesTask({ ...withOutbox(noOutboxes(portal), 's1', outbox), readable: ['Appointment'] }, config),
  id: 't1',
  meta: { versionId: '1' },
};
const versions = history({ by: portal, seconds: 1 }, { by: staff, seconds: 2, status: 'arrived' });
const [current] = versions;

let announce: vm.Script;

beforeAll(async () => {
  announce = compile(await bundleBot(botSource('record-events'), config));
});

/** What the Bot finds besides the history. */
interface Found {
  readonly current?: Appointment | undefined;
  readonly checkpoint?: Task;
  readonly events?: readonly Communication[];
}

/** A page of what was found. */
function pageOf<T>(all: readonly T[], url: string): readonly T[] {
  const { searchParams } = new URL(url, 'http://localhost/');
  const offset = Number(searchParams.get('_offset') ?? 0);
  return all.slice(offset, offset + Number(searchParams.get('_count') ?? 100));
}

/** Runs the Bot with a history that may lag behind; gives the resources that it writes. */
async function announceWith(known: readonly Appointment[], given: Found = {}): Promise<Resource[]> {
  const now = given.current ?? current;
  const events = (url: string): readonly Communication[] => {
    const since = /sent=ge([^&]+)/.exec(url)?.[1];
    return pageOf(
      (given.events ?? []).filter(({ sent = '' }) => since === undefined || sent >= since),
      url,
    );
  };
  const found = (url: string): readonly (Resource | undefined)[] => {
    const tasks = url.includes('announce') ? [given.checkpoint] : [task];
    const answers = {
      ...{ 'Task?': tasks, 'Subscription?': [subscription], 'Appointment?': [now] },
      'Communication?': events(url),
    };
    const [, listed = []] = Object.entries(answers).find(([start]) => url.startsWith(start)) ?? [];
    return url.includes('/_history') ? pageOf(known, url) : listed;
  };
  const answered = (sent: Bundle): Bundle => ({
    resourceType: 'Bundle',
    type: 'batch-response',
    entry: sent.entry?.map(({ request, resource }) => ({
      response: { status: '200' },
      resource: resource ?? {
        resourceType: 'Bundle',
        type: 'searchset',
        total: known.length,
        entry: found(request?.url ?? '').flatMap((one) => (one ? { resource: one } : [])),
      },
    })),
  });
  const written: Resource[] = [];
  const told = { input: now, headers: {} };
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

/** The event of a version that was recorded. */
const eventFor = ({ id = '', meta }: Appointment, index: number): Communication => {
  const [timestamp, version] = [meta?.lastUpdated ?? '', meta?.versionId ?? ''];
  const facts = { timestamp, appointment: id, version, kind: 'update' as const };
  return { ...eventResource(facts, new Map([['s1', index + 1]]), config), id: `e${index}` };
};

/** A history of so many versions by staff, the newest first, one a second. */
const long = (count: number): Appointment[] =>
  history(
    ...Array.from({ length: count }, (_, index) => ({
      by: staff,
      seconds: index + 1,
      status: index % 2 === 0 ? ('booked' as const) : ('arrived' as const),
    })),
  );

const versionsTold = (written: readonly Resource[]): string[] =>
  written.flatMap((one) =>
    one.resourceType === 'Communication' ? (one.about?.[0]?.reference?.split('/').at(-1) ?? []) : [],
  );

it('of 1,300 changes whose runs were all missed, none is lost: the oldest come first', async () => {
  const all = long(1_300);
  const told = versionsTold(await announceWith(all, { current: all[0] }));
  expect([told.length, told[0], told.at(-1)]).toEqual([500, 'v1', 'v500']);
});

it('no more versions are read than were written since everything was recorded', async () => {
  const all = long(1_300);
  const settled = begin + 1_290_000;
  const checkpoint = checkpointTask({ until: settled, settled }, config);
  const told = versionsTold(await announceWith(all, { current: all[0], checkpoint }));
  expect([told.length, told.at(-1)]).toEqual([249, 'v1300']);
});

it('what is recorded already is not recorded again, however much that is', async () => {
  const all = long(1_300);
  const recorded = all
    .slice(5)
    .toReversed()
    .map((version, index) => eventFor(version, index));
  const told = versionsTold(await announceWith(all, { current: all[0], events: recorded }));
  expect(told).toEqual(['v1296', 'v1297', 'v1298', 'v1299', 'v1300']);
});
