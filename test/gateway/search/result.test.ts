import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { base, bearer, config, type Reply, searchset, withGateway } from '../fake-medplum.ts';

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
  const answer = await inject({ url: url.replace(base, '/fhir/R4'), headers: bearer });
  expect(answer.statusCode).toBe(status);
  return answer.json();
}

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

  test('takes ten pages, if the tenth is the last', async () => {
    fake.answer = ({ method }) => (method === 'POST' || fake.received.length === 10 ? page([]) : page([], '_offset=1'));
    expect((await get(schedules)).total).toBe(0);
    expect(fake.received).toHaveLength(10);
  });

  test('finds nothing in an answer without entries', async () => {
    fake.answer = () => ({ body: { resourceType: 'Bundle', type: 'searchset' } });
    const bundle = await get(schedules);
    expect([bundle.total, bundle.entry]).toEqual([0, undefined]);
  });
});
