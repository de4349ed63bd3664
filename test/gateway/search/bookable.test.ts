import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from '@jest/globals';
import type { Bundle, BundleEntry, HealthcareService, Resource, Schedule, Slot } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { bookableFilter } from '../../../core/booking/policy/policy.ts';
import { artefactUri } from '../../../core/fhir/artefacts.ts';
import type { GatewayContext } from '../../../gateway/context.ts';
import type { FhirRequest } from '../../../gateway/handler.ts';
import { createUpstream, type Upstream } from '../../../gateway/medplum/client.ts';
import { onlyBookable } from '../../../gateway/search/bookable.ts';
import { type CalendarList, createCalendars } from '../../../gateway/search/calendars.ts';
import { parseQuery } from '../../../gateway/search/rewrite.ts';
import type { ServedTypeName } from '../../../gateway/served-types.ts';
import { scaled } from '../../lib/time-scale.ts';
import { bearer, config, gatewayTo, type Reply, searchset, withGateway } from '../fake-medplum.ts';
import { answeredBatch, foundEntry, urlsOf } from './batch.ts';

describe('a search for free Slots', () => {
  const closed: Schedule = { resourceType: 'Schedule', id: 'closed', active: false, actor: [{ display: 'x' }] };

  it.each<[string, ...(string | undefined)[]]>([
    ['Slot?status=free', undefined],
    ['Slot?status=free&schedule=Schedule/a', 'a'],
    ['Slot?status=free&schedule=Schedule/a,Schedule/b&schedule=Schedule/c', 'a,b,c'],
    ['Slot?status=free&schedule=https://other.example/Schedule/a', 'https://other.example/Schedule/a'],
    ['Slot?status=free&schedule:identifier=urn:x|1&_tag=Schedule/a', undefined],
    ['Slot?schedule=Schedule/a&identifier=x&status=free', 'a'],
    ...['Slot?status=busy', 'Slot?status=free,busy', 'Slot?status:not=free', 'Slot?identifier=free'].map(
      (one) => [one] as [string],
    ),
    ['Slot?schedule=Schedule/closed'],
    ['Appointment?status=free'],
  ])('%s depends on the Schedules %s, or on none', async (search, ...expected) => {
    const read: (string | undefined)[] = [];
    const calendars: GatewayContext['calendars'] = {
      recall: () => undefined,
      read: async (ids) => {
        read.push(ids);
        return { schedules: [closed], services: [], rows: [], isWhole: true };
      },
    };
    const [type = '', query = ''] = search.split('?');
    const exchange = { caller: { role: 'requestor' }, upstreamHeaders: {} } as FhirRequest;
    const params = parseQuery(query);
    const result = await onlyBookable(
      type as ServedTypeName,
      params,
      exchange,
      { config, calendars } as GatewayContext,
      0,
    );
    expect(read).toEqual(expected);
    const added = expected.length > 0 ? [{ name: '_filter', value: '(schedule ne "Schedule/closed")' }] : [];
    expect(result).toEqual({ params: [...params, ...added] });
  });

  describe('over HTTP', () => {
    const { fake, inject } = withGateway();

    /** Answers batches so, and searches for Slots with one that leads on. */
    function answering(batch: (body: string) => Reply) {
      fake.answer = ({ path, body }) =>
        path === '/fhir/R4'
          ? batch(body)
          : { body: searchset(fake.url, 'Slot', [{ resourceType: 'Slot', id: 'x' }], '_offset=1') };
    }

    const entryOf = (url: string, more: object = {}): BundleEntry =>
      foundEntry({ total: 1, ...(url.startsWith('Schedule') && { entry: [{ resource: closed }] }), ...more });

    const get = async (query: string) => {
      const response = await inject({ url: `/fhir/R4/Slot?${query}`, headers: bearer });
      return { status: response.statusCode, body: response.json() };
    };

    test('Medplum carries the condition out, and no address and no link shows it', async () => {
      answering((body) => answeredBatch(body, entryOf));
      const { status, body } = await get('schedule=closed&status=free');
      const { method, path, query, body: form = '' } = fake.received.at(-1) ?? {};
      expect([status, method, path, query?.size]).toEqual([200, 'POST', '/fhir/R4/Slot/_search', 0]);
      expect(new URLSearchParams(form).get('_filter')).toBe('(schedule ne "Schedule/closed")');
      expect(body.link).toHaveLength(2);
      expect(JSON.stringify(body.link)).not.toContain('_filter');
    });

    const policies = {
      url: artefactUri(config, 'LocalBookingPolicy'),
      extension: [{ url: 'leadTime', valueString: 'x' }],
    };
    const serviceOf = (id: string, isValid: boolean, versionId: string): HealthcareService => ({
      resourceType: 'HealthcareService',
      id,
      meta: { versionId },
      ...(!isValid && { extension: [policies] }),
    });
    const scheduleOf = (id: string, service: string, active: boolean, versionId: string): Schedule => ({
      resourceType: 'Schedule',
      id,
      meta: { versionId },
      active,
      actor: [{ reference: `HealthcareService/${service}` }],
    });
    /** A change of what is stored, the last of which is sorted first; or a search by portal A, or by B, which sees no service. */
    const act = fc.oneof(
      fc.record({ change: fc.constantFrom('a', 'b', 's', 't'), isOpen: fc.boolean() }),
      fc.record({ by: fc.constantFrom('portal-a', 'portal-b'), ids: fc.constantFrom('', 'a', 'b', 'a,b') }),
    );

    test('whatever is changed between searches, each finds what the policies of its moment let its caller book', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(act, { minLength: 2, maxLength: 12 }), async (acts) => {
          let stored: (Schedule | HealthcareService)[] = [];
          const write = (id: string, isOpen: boolean, version: number) => {
            const [kind, service = ''] = { a: ['Schedule', 's'], b: ['Schedule', 't'] }[id] ?? [];
            const made = kind ? scheduleOf(id, service, isOpen, `${version}`) : serviceOf(id, isOpen, `${version}`);
            stored = [made, ...stored.filter((one) => one.id !== id)];
          };
          for (const id of ['a', 'b', 's', 't']) {
            write(id, true, 0);
          }
          const seenBy = (authorization: unknown) =>
            stored.filter((one) => one.resourceType === 'Schedule' || authorization === bearer.authorization);
          const slots = (query: URLSearchParams) => ({
            id: 'x',
            resourceType: 'Slot',
            comment: query.get('_filter') ?? '',
          });
          fake.answer = ({ path, body, query, headers }) => {
            const find = (url: string): BundleEntry => {
              const [type, parameters] = url.split('?');
              const asked = new URLSearchParams(parameters);
              const ids = asked.get('_id')?.split(',');
              const found = seenBy(headers.authorization).filter(
                ({ resourceType, id = '' }) => resourceType === type && (!ids || ids.includes(id)),
              );
              const entry = found.slice(0, Number(asked.get('_count'))).map((resource) => ({ resource }));
              return type === 'Slot'
                ? foundEntry(searchset(fake.url, 'Slot', [slots(asked)]))
                : foundEntry({ total: found.length, entry });
            };
            return path === '/fhir/R4'
              ? answeredBatch(body, find)
              : { body: searchset(fake.url, 'Slot', [slots(body ? new URLSearchParams(body) : query)]) };
          };
          const remembering = gatewayTo(fake);
          for (const [index, one] of acts.entries()) {
            if ('change' in one) {
              write(one.change, one.isOpen, index + 1);
            } else {
              const authorization = `Bearer ${one.by}`;
              const url = `/fhir/R4/Slot?status=free${one.ids && `&schedule=${one.ids}`}`;
              const found = await remembering.inject({ url, headers: { authorization } });
              const all = seenBy(authorization);
              const schedules = all.filter((each) => each.resourceType === 'Schedule');
              const expected = bookableFilter(
                schedules.filter(({ id = '' }) => one.ids === '' || one.ids.includes(id)),
                all.filter((each) => each.resourceType === 'HealthcareService'),
                [],
                'requestor',
                0,
                config,
              );
              const conditions = (filter = '') => filter.replace(/[()]/g, '').split(' and ').sort();
              const [slot] = found.json<Bundle<Slot>>().entry ?? [];
              expect(conditions(slot?.resource?.comment)).toEqual(conditions(expected));
            }
          }
        }),
        { numRuns: 30 },
      );
    });

    test('searches in calendars that are known ask once for all whether these have changed', async () => {
      const own = gatewayTo(fake);
      answering((body) => answeredBatch(body, entryOf));
      const ask = (start: number) =>
        own.inject({ url: `/fhir/R4/Slot?schedule=closed&status=free&start=ge203${start}`, headers: bearer });
      await ask(0);
      fake.received.length = 0;
      const found = await Promise.all([1, 2, 3, 4].map(ask));
      expect(found.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 200]);
      const asked = fake.received.filter(({ path }) => path === '/fhir/R4');
      expect([fake.received.length - asked.length, asked.length]).toEqual([4, 2]);
    });

    test.each([
      ['429', 429, '60'],
      ['500', 503, '5'],
      ['400', 502, undefined],
    ])('is answered so where Medplum answers what it depends on with %s: %i', async (said, status, retryAfter) => {
      answering((body) =>
        answeredBatch(body, (url) => (url.startsWith('Schedule') ? { response: { status: said } } : entryOf(url))),
      );
      const response = await inject({ url: '/fhir/R4/Slot?status=free', headers: bearer });
      expect([response.statusCode, response.headers['retry-after']]).toEqual([status, retryAfter]);
    });

    test('where there are too many Schedules, some have to be named', async () => {
      const link = [{ relation: 'next', url: 'x' }];
      answering((body) => answeredBatch(body, (url) => entryOf(url, url.startsWith('Schedule') ? { link } : {})));
      const { status, body } = await get('status=free');
      expect([status, body.issue[0].expression, body.issue[0].diagnostics]).toEqual([
        400,
        ['http.schedule'],
        'There are more than 1000 schedules: use the parameter schedule to name those to search.',
      ]);
    });
  });
});

describe('calendars', () => {
  const limits = {
    connectTimeoutMs: scaled(500),
    upstreamTimeoutMs: scaled(1_000),
    responseBytes: 1_000_000,
    connections: 2,
  };
  const { fake } = withGateway();
  let upstream: Upstream;
  const now = 0;
  let stored: Resource[] = [];

  const service = (id: string, versionId = '1'): Resource => ({
    resourceType: 'HealthcareService',
    id,
    meta: { versionId },
  });

  const schedule = (id: string): Resource => ({ resourceType: 'Schedule', id, actor: [{}], meta: { versionId: '1' } });

  /** Answers a search as Medplum does; what was written last is the last of the stored ones. */
  function answered(url: string): BundleEntry {
    const [type, query] = url.split('?');
    const parameters = new URLSearchParams(query);
    const ids = parameters.get('_id')?.split(',');
    const resources = stored.filter(({ resourceType, id = '' }) => resourceType === type && (!ids || ids.includes(id)));
    const page = parameters.has('_sort') ? resources.slice(-1) : resources;
    const total = parameters.has('_total') ? { total: resources.length } : {};
    return foundEntry({ ...total, entry: page.map((resource) => ({ resource })) });
  }

  beforeAll(() => {
    upstream = createUpstream(fake.url, limits);
  });

  afterAll(() => upstream.close());

  beforeEach(() => {
    fake.answer = ({ body }) => answeredBatch(body, answered);
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

  test.each<[string, () => void, string]>([
    ['made', () => void stored.push(service('c')), 'a,b,c'],
    ['deleted', () => void stored.shift(), 'b'],
  ])('a service that is %s is seen at once', async (_, change, expected) => {
    const calendars = createCalendars(upstream, () => now, config, 1_000);
    await read(calendars);
    listsRead();
    change();
    expect((await read(calendars))[1]).toBe(expected);
    expect(listsRead()).toEqual(['Schedule', 'HealthcareService']);
  });

  test.each<[string, Partial<Bundle>, boolean]>([
    ['has no links', {}, true],
    ['has no next page', { link: [{ relation: 'self', url: 'x' }] }, true],
    [
      'has a next page',
      {
        link: [
          { relation: 'self', url: 'x' },
          { relation: 'next', url: 'y' },
        ],
      },
      false,
    ],
  ])('a list that %s is whole: %s %s', async (_, more, isWhole) => {
    for (const type of ['Schedule', 'HealthcareService']) {
      fake.answer = ({ body }) =>
        answeredBatch(body, (url) => foundEntry({ total: 1, ...(url.startsWith(`${type}?_count`) && more) }));
      expect(await createCalendars(upstream, () => now, config, 1_000).read(undefined, {})).toMatchObject({ isWhole });
    }
    fake.answer = ({ body }) => answeredBatch(body, (url) => foundEntry(url.startsWith('Schedule?_id') ? more : {}));
    expect(await createCalendars(upstream, () => now, config, 1_000).read('1', {})).toMatchObject({ isWhole });
  });

  const batch = (entry?: unknown): Reply => ({ body: { resourceType: 'Bundle', type: 'batch-response', entry } });

  test.each<[string, Reply, object]>([
    ['none', { status: 503 }, { status: 503 }],
    ['no Bundle', { body: { resourceType: 'Patient', entry: [foundEntry({}), foundEntry({})] } }, { status: 200 }],
    ['a Bundle with another status', { ...batch([foundEntry({}), foundEntry({})]), status: 400 }, { status: 400 }],
    ['no entries', batch(), { status: 200 }],
    ['too few entries', batch([foundEntry({})]), { status: 200 }],
    ['an entry that says nothing', batch([foundEntry({}), {}]), { status: 200 }],
    ['an entry without a status', batch([foundEntry({}), { response: {} }]), { status: 200 }],
    ['an entry that failed', batch([foundEntry({}), { response: { status: '500' } }]), { status: 500 }],
  ])('where the answer of Medplum is %s there is no list', async (_, reply, expected) => {
    fake.answer = () => reply;
    const found = await createCalendars(upstream, () => now, config, 1_000).read(undefined, {});
    expect(found).toMatchObject(expected);
    expect(found).not.toHaveProperty('services');
    fake.answer = ({ body }) => (fake.received.length % 2 === 0 ? answeredBatch(body, answered) : reply);
    expect(await createCalendars(upstream, () => now, config, 1_000).read(undefined, {})).not.toHaveProperty(
      'services',
    );
  });
});
