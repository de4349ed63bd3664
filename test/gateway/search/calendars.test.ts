import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Bundle, BundleEntry, Resource } from '@medplum/fhirtypes';
import { createUpstream, type Upstream } from '../../../gateway/medplum/client.ts';
import { type CalendarList, createCalendars } from '../../../gateway/search/calendars.ts';
import { type FakeMedplum, startFakeMedplum } from '../fake-medplum.ts';

const limits = { connectTimeoutMs: 500, upstreamTimeoutMs: 1_000, responseBytes: 1_000_000, connections: 2 };

let fake: FakeMedplum;
let upstream: Upstream;
let now = 0;
let stored: Resource[] = [];
let refused = '';

const service = (id: string, versionId = '1'): Resource => ({
  resourceType: 'HealthcareService',
  id,
  meta: { versionId },
});
const schedule = (id: string): Resource => ({ resourceType: 'Schedule', id, actor: [{}], meta: { versionId: '1' } });

/** Answers a search as Medplum does; what was written last is the last of the stored ones. */
function answered(url: string): BundleEntry {
  const [type, query] = url.split('?');
  if (type === refused) {
    return { response: { status: '403' } };
  }
  const parameters = new URLSearchParams(query);
  const ids = parameters.get('_id')?.split(',');
  const all = stored.filter(({ resourceType, id = '' }) => resourceType === type && (!ids || ids.includes(id)));
  const page = parameters.has('_sort') ? all.slice(-1) : all;
  const total = parameters.has('_total') ? { total: all.length } : {};
  const entry = page.map((resource) => ({ resource }));
  return { response: { status: '200' }, resource: { resourceType: 'Bundle', type: 'searchset', ...total, entry } };
}

const urlsOf = (body: string): string[] => {
  const { entry = [] }: Bundle = JSON.parse(body);
  return entry.map(({ request }) => request?.url ?? '');
};

beforeAll(async () => {
  fake = await startFakeMedplum();
  fake.answer = ({ body }) => ({
    body: { resourceType: 'Bundle', type: 'batch-response', entry: urlsOf(body).map(answered) },
  });
  upstream = createUpstream(fake.url, limits);
});

afterAll(async () => {
  await upstream.close();
  await fake.close();
});

beforeEach(() => {
  fake.received.length = 0;
  refused = '';
  stored = [service('a'), service('b'), schedule('1'), schedule('2')];
});

/** The lists that were read in whole since the last question. */
const listsRead = (): string[] => {
  const urls = fake.received.splice(0).flatMap(({ body }) => urlsOf(body));
  return urls.filter((url) => !url.includes('_sort')).map((url) => url.split('?')[0] ?? '');
};

async function read(calendars: ReturnType<typeof createCalendars>, ids?: string, token = 'one') {
  const found = await calendars.read(ids, { authorization: `Bearer ${token}` });
  if (!('services' in found)) {
    throw new Error(`There is no list: ${JSON.stringify(found)}`);
  }
  const idsOf = (list: CalendarList['schedules'] | CalendarList['services']) => list.map(({ id }) => id).join();
  return [idsOf(found.schedules), idsOf(found.services)];
}

test('lists are read once, as long as nothing changes; of named schedules those that are named', async () => {
  const calendars = createCalendars(upstream, () => now);
  expect(await read(calendars)).toEqual(['1,2', 'a,b']);
  expect(listsRead()).toEqual(['Schedule', 'HealthcareService']);
  expect(await read(calendars)).toEqual(['1,2', 'a,b']);
  expect(listsRead()).toEqual([]);
  expect(await read(calendars, '2')).toEqual(['2', 'a,b']);
  expect(listsRead()).toEqual(['Schedule']);
});

test.each<[string, () => void, string]>([
  ['changed', () => stored.push(service('a', '2')) && void stored.shift(), 'b,a'],
  ['made', () => void stored.push(service('c')), 'a,b,c'],
  ['deleted', () => void stored.shift(), 'b'],
])('a service that is %s is seen at once', async (_, change, expected) => {
  const calendars = createCalendars(upstream, () => now);
  await read(calendars);
  listsRead();
  change();
  expect((await read(calendars))[1]).toBe(expected);
  expect(listsRead()).toEqual(['HealthcareService']);
});

test('each caller has lists of its own, and they are read again after half a minute', async () => {
  const calendars = createCalendars(upstream, () => now);
  await read(calendars);
  await read(calendars, undefined, 'two');
  expect(listsRead()).toHaveLength(4);
  now += 29_000;
  await read(calendars);
  expect(listsRead()).toHaveLength(0);
  now += 2_000;
  await read(calendars);
  expect(listsRead()).toHaveLength(2);
});

test('what a caller may not search is empty to it', async () => {
  refused = 'HealthcareService';
  expect(await read(createCalendars(upstream, () => now))).toEqual(['1,2', '']);
});

test('without an answer there is no list', async () => {
  const answer = fake.answer;
  fake.answer = () => ({ status: 503 });
  expect(await createCalendars(upstream, () => now).read(undefined, {})).toMatchObject({ status: 503 });
  fake.answer = answer;
});
