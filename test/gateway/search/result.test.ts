import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import type { FhirResponse } from '../../../gateway/http/response.ts';
import { type IgnoredParam, sayingIgnored } from '../../../gateway/search/result/ignored.ts';
import { isCountedInPart, withTotal } from '../../../gateway/search/result/result-total.ts';
import { formatQuery } from '../../../gateway/search/rewrite.ts';
import { base, bearer, config, type Reply, searchset, withGateway } from '../fake-medplum.ts';

const ignored = (name: string, expression?: string): IgnoredParam => ({
  param: { name, value: 'x' },
  issue: { code: 'malformed-request', diagnostics: `There is no '${name}'.`, ...(expression && { expression }) },
});

const warning = { severity: 'warning', code: 'not-supported', details: { text: 'The search parameter was ignored.' } };
const slot = { resource: { resourceType: 'Slot', id: 'a' }, search: { mode: 'match' } };

const found = (more: object): FhirResponse => ({
  status: 200,
  headers: { etag: 'x' },
  resource: { resourceType: 'Bundle', type: 'searchset', ...more } as Bundle,
});

describe('what was ignored', () => {
  test.each([
    ['after what was found', { total: 1, entry: [slot] }, [slot]],
    ['where nothing was found', { total: 0 }, []],
  ])('is said %s', (_, more, entries) => {
    const issue = [
      { ...warning, diagnostics: "There is no 'a'.", expression: ['http.a'] },
      { ...warning, diagnostics: "There is no 'b'." },
    ];
    const outcome = { resource: { resourceType: 'OperationOutcome', issue }, search: { mode: 'outcome' } };
    expect(sayingIgnored(found(more), [ignored('a', 'http.a'), ignored('b')])).toEqual(
      found({ ...more, entry: [...entries, outcome] }),
    );
  });
});

const { fake, inject } = withGateway();

interface Stored {
  readonly resourceType: string;
  readonly id?: string;
}

/** Medplum with these resources: it finds all of them, three to a page, or those whose ids it is given, in another order. */
function storing(resources: readonly Stored[], included: readonly object[] = []) {
  fake.answer = ({ path, query, body }) => {
    const type = path.split('/')[3] ?? '';
    const ids = new URLSearchParams(body).get('_id')?.split(',');
    const start = Number(query.get('_offset'));
    const isMore = start + 3 < resources.length;
    if (!ids) {
      return {
        body: searchset(fake.url, type, resources.slice(start, start + 3), isMore ? `_offset=${start + 3}` : ''),
      };
    }
    const found = searchset(fake.url, type, resources.filter(({ id = '' }) => ids.includes(id)).reverse()) as Bundle;
    return { body: { ...found, entry: [...included, ...(found.entry ?? [])] } };
  };
}

async function get(url: string, status = 200): Promise<Bundle> {
  const response = await inject({ url: url.replace(base, '/fhir/R4'), headers: bearer });
  expect(response.statusCode).toBe(status);
  return response.json();
}

const idsIn = ({ entry }: Bundle) => entry?.map(({ resource }) => resource?.id);

const usage = (code: string, value: string) => ({
  code: { system: config.contextTypeSystem, code },
  valueCodeableConcept: { coding: [{ system: config.resourceTypesSystem, code: value }] },
});

const system = (id: string, ...useContext: object[]) => ({ resourceType: 'CodeSystem', id, useContext });
const both = 'ResourceUsage';

const some = [
  system('a', usage(both, 'Schedule')),
  system('b', usage(both, 'HealthcareService')),
  system('c', usage('Other', 'HealthcareService'), usage(both, 'Schedule')),
  system('d', usage('Other', 'x'), usage(both, 'HealthcareService')),
  { resourceType: 'CodeSystem', id: 'e' },
];

const query = (type: string) =>
  new URLSearchParams({
    'context-type-value': `${config.contextTypeSystem}|ResourceUsage$${config.resourceTypesSystem}|${type}`,
  }).toString();

const schedules = `/fhir/R4/CodeSystem?${query('Schedule')}`;

/** So many CodeSystems for Schedules. */
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => system(`n${index}`, usage(both, 'Schedule')));

describe('context-type-value', () => {
  beforeEach(() => storing(some));

  test('_summary=count and _count=0 count what matches, and no page is read', async () => {
    for (const more of ['_summary=count', '_count=0', '_count=5&_summary=count']) {
      fake.received.length = 0;
      const bundle = await get(`${schedules}&${more}`);
      expect([bundle.total, bundle.entry, fake.received.length]).toEqual([2, undefined, 2]);
      expect(bundle.link?.map(({ relation }) => relation)).toEqual(['self', 'first']);
    }
  });
});

describe('pages of what matches', () => {
  /** The links of a page: where each begins, and how long the page is. */
  const linksIn = ({ link = [] }: Bundle) =>
    link.map(({ relation, url }) => {
      expect(url.startsWith(`${base}/CodeSystem?${query('Schedule')}&`)).toBe(true);
      return `${relation} ${url.slice(`${base}/CodeSystem?${query('Schedule')}&`.length)}`;
    });

  test.each<[string, number, string[] | undefined, string[]]>([
    ['_count=2', 5, ['n0', 'n1'], ['self _count=2', 'first _count=2', 'next _count=2&_offset=2']],
    [
      '_count=2&_offset=2',
      5,
      ['n2', 'n3'],
      ['self _count=2&_offset=2', 'first _count=2', 'next _count=2&_offset=4', 'previous _count=2'],
    ],
    [
      '_count=2&_offset=3',
      5,
      ['n3', 'n4'],
      ['self _count=2&_offset=3', 'first _count=2', 'previous _count=2&_offset=1'],
    ],
    ['_count=3&_offset=1', 4, ['n1', 'n2', 'n3'], ['self _count=3&_offset=1', 'first _count=3', 'previous _count=3']],
    ['_count=9&_count=1&_offset=1&_offset=0', 1, ['n0'], ['self _count=1', 'first _count=1']],
    ['_count=2&_offset=7', 5, undefined, ['self _count=2&_offset=7', 'first _count=2', 'previous _count=2&_offset=5']],
    ['_count=0&_offset=2', 5, undefined, ['self _count=0&_offset=2', 'first _count=0']],
    ['_format=json&_count=1', 1, ['n0'], ['self _format=json&_count=1', 'first _format=json&_count=1']],
  ])('%s of %i', async (more, count, ids, links) => {
    storing(many(count));
    const bundle = await get(`${schedules}&${more}`);
    expect([bundle.total, idsIn(bundle), linksIn(bundle)]).toEqual([count, ids, links]);
  });

  test('show what is included after what matches', async () => {
    const included = { resource: { resourceType: 'CodeSystem', id: 'b' }, search: { mode: 'include' } };
    const again = { resource: { resourceType: 'CodeSystem', id: 'a' }, search: { mode: 'include' } };
    const nameless = { resource: { resourceType: 'CodeSystem' } };
    storing(some, [again, included, nameless]);
    const { entry = [] } = await get(`${schedules}&_include=CodeSystem:supplements`);
    expect(entry.map(({ resource, search }) => `${search?.mode} ${resource?.id}`)).toEqual([
      'match a',
      'match c',
      'include a',
      'include b',
      'undefined undefined',
    ]);
  });
});

describe('looking through what may match', () => {
  const page = (resources: readonly object[], next?: string): Reply => ({
    body: searchset(fake.url, 'CodeSystem', resources, next),
  });

  test('ends after ten pages of a thousand; with more the search is refused', async () => {
    fake.answer = () => page(some, '_offset=1000');
    const outcome = await get(schedules, 400);
    expect(fake.received).toHaveLength(10);
    expect(outcome).toMatchObject({
      issue: [
        {
          diagnostics:
            'The search has more than 10000 CodeSystem resources to examine: narrow it, for example by patient or start.',
          expression: ['http.useContext'],
        },
      ],
    });
  });
});

test('a period is compared with every condition', async () => {
  const stay = (id: string, start: string, end: string) => ({ resourceType: 'Encounter', id, period: { start, end } });
  storing([
    stay('early', '2026-01-01', '2026-01-02'),
    stay('both', '2026-01-03', '2026-01-04'),
    stay('late', '2026-01-05', '2026-01-06'),
  ]);
  const bundle = await get('/fhir/R4/Encounter?date-start=ge2026-01-02&end-date=le2026-01-05');
  expect([bundle.total, idsIn(bundle)]).toEqual([1, ['both']]);
  expect(Object.fromEntries(fake.received[0]?.query ?? [])).toEqual({
    _sort: '_lastUpdated,_id',
    _elements: 'period',
    _count: '1000',
  });
});

const params = (query: string) => [...new URLSearchParams(query)].map(([name, value]) => ({ name, value }));

describe('how a search is counted', () => {
  test.each([
    ['Patient', 'family=a', 'family=a&_total=accurate'],
    ['Patient', 'family=a&_total=none', 'family=a&_total=none'],
    ['Patient', '_count=0&_total=none', '_count=0&_total=accurate'],
    ['Patient', '_count=00', '_count=00&_total=accurate'],
    ['Patient', '_summary=count&_total=estimate', '_summary=count&_total=accurate'],
    ['Patient', '_summary=text&_total=none', '_summary=text&_total=none'],
    ['Patient', 'given=count&_total=none', 'given=count&_total=none'],
    ['Patient', 'given=0&_total=none', 'given=0&_total=none'],
    ['Slot', 'status=busy', 'status=busy&_total=none'],
    ['Slot', 'status=busy&_count=5', 'status=busy&_count=5&_total=none'],
    ['Slot', 'schedule=Schedule/1', 'schedule=Schedule/1&_total=accurate'],
    ['Slot', '_id=1', '_id=1&_total=accurate'],
    ['Slot', 'identifier=a', 'identifier=a&_total=accurate'],
    ['Slot', '_total=estimate', '_total=estimate'],
    ['Slot', '_count=0', '_count=0&_total=accurate'],
  ] as const)('%s?%s: %s', (type, query, expected) => {
    expect(formatQuery(withTotal(params(query), isCountedInPart(type, params(query))))).toBe(
      new URLSearchParams(expected).toString(),
    );
  });
});
