import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { base, bearer, config, gatewayTo, type Reply, searchset, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

async function get(url: string, status = 200): Promise<Bundle> {
  const answer = await inject({ url: url.replace(base, '/fhir/R4'), headers: bearer });
  expect(answer.statusCode).toBe(status);
  expect(answer.body).not.toContain(new URL(fake.url).host);
  return answer.json();
}

const slot = { resourceType: 'Slot', id: 's1' };

describe('searches', () => {
  test.each(['/fhir/R4/Slot?schedule=1', '/fhir/R4/Slot/?schedule=1', '/fhir/R4/Slot?schedule=1&_count'])(
    '%s',
    async (url) => {
      fake.answer = () => ({ body: searchset(fake.url, 'Slot', [slot]) });
      const bundle = await get(url);
      expect(bundle.entry).toEqual([{ fullUrl: `${base}/Slot/s1`, search: { mode: 'match' }, resource: slot }]);
      expect(fake.received.map(({ path, query }) => [path, query.toString()])).toEqual([
        ['/fhir/R4/Slot', 'schedule=Schedule%2F1&_total=accurate'],
      ]);
    },
  );

  test('links lead back through the gateway and keep _format', async () => {
    fake.answer = () => ({ body: searchset(fake.url, 'Slot', [slot], '_offset=1&_count=1&schedule=1') });
    const bundle = await get('/fhir/R4/Slot?schedule=1&start=ge2027-01-01&_count=1&_format=json');
    const next = bundle.link?.find(({ relation }) => relation === 'next')?.url ?? '';
    expect(next).toBe(`${base}/Slot?schedule=1&start=ge2027-01-01&_format=json&_offset=1&_count=1`);
    await get(next);
    expect(fake.received[1]?.query.toString()).toBe(
      'schedule=Schedule%2F1&start=ge2027-01-01T00%3A00%3A00.000Z&_offset=1&_count=1&_total=accurate',
    );
  });

  test.each([
    ['_cursor=a&_count=1', '_count=2&_cursor=b', '_count=2&_cursor=b'],
    ['_count=1&_offset=3', '_total=accurate&_offset=4&_count=1&schedule=Schedule/1', '_offset=4&_count=1'],
  ])('links have the page of Medplum, and nothing else of it: %s', async (asked, next, expected) => {
    fake.answer = () => ({ body: searchset(fake.url, 'Slot', [slot], next) });
    const { link = [] } = await get(`/fhir/R4/Slot?schedule=1&${asked}`);
    expect(link).toEqual([
      { relation: 'self', url: `${base}/Slot?schedule=1&_count=20` },
      { relation: 'next', url: `${base}/Slot?schedule=1&${expected}` },
    ]);
  });

  test('a link without a query leads to what was asked', async () => {
    const link = [{ relation: 'self', url: `${fake.url}/fhir/R4/Slot` }];
    fake.answer = () => ({ body: { resourceType: 'Bundle', type: 'searchset', link } });
    expect((await get('/fhir/R4/Slot?schedule=1')).link).toEqual([
      { relation: 'self', url: `${base}/Slot?schedule=1` },
    ]);
  });

  test('a result without links has none', async () => {
    fake.answer = () => ({ body: { resourceType: 'Bundle', type: 'searchset', total: 0 } });
    const bundle = await get('/fhir/R4/Slot?schedule=1');
    expect([bundle.total, bundle.link ?? []]).toEqual([0, []]);
  });

  test.each<[Reply, number]>([
    [{ status: 403 }, 403],
    [{ status: 500 }, 503],
    [{ body: { resourceType: 'Slot' } }, 502],
    [{ body: { resourceType: 'Bundle', entry: {} } }, 502],
  ])('where Medplum answers %j: %i', async (reply, status) => {
    fake.answer = () => reply;
    await get('/fhir/R4/Slot?schedule=1', status);
    expect(fake.received).toHaveLength(1);
  });

  test('what is ignored is said in the answer, if the client or the installation lets it', async () => {
    fake.answer = () => ({ body: searchset(fake.url, 'Slot', [slot]) });
    const lenient = gatewayTo(fake, {}, { config: { ...config, handling: 'lenient' } });
    const url = '/fhir/R4/Slot?schedule=1&colour=red';
    const answers = [
      await inject({ url, headers: { ...bearer, prefer: 'handling=lenient' } }),
      await lenient.inject({ url, headers: bearer }),
    ];
    for (const answer of answers) {
      const { entry = [], link = [] }: Bundle = answer.json();
      expect(entry.map(({ search }) => search?.mode)).toEqual(['match', 'outcome']);
      expect(link.map((one) => one.url)).toEqual([`${base}/Slot?schedule=1&_count=20`]);
    }
    const strict = await lenient.inject({ url, headers: { ...bearer, prefer: 'handling=strict' } });
    expect(strict.statusCode).toBe(400);
    await lenient.close();
  });

  describe('the total of Slots of every Schedule', () => {
    /** A page as Medplum gives it that was not told to count. */
    const page = (count: number, next?: string) => {
      const slots = Array.from({ length: count }, (_, index) => ({ ...slot, id: `s${index}` }));
      return { body: { ...searchset(fake.url, 'Slot', slots, next), total: undefined } };
    };
    const sent = () => fake.received.map(({ query, body }) => [query, new URLSearchParams(body)].join(''));

    test('is counted up to a page of a thousand, without what shapes the page', async () => {
      fake.answer = ({ method }) => (method === 'POST' ? page(40) : page(2, '_offset=2'));
      const query = 'status=busy&_count=2&_offset=2&_sort=start&_include=Slot:schedule&_elements=start';
      expect((await get(`/fhir/R4/Slot?${query}`)).total).toBe(40);
      expect(sent()[1]).toBe('status=busy&_fields=id&_count=1000');
    });

    test('is missing, if there are more', async () => {
      fake.answer = () => page(2, '_offset=2');
      expect(await get('/fhir/R4/Slot?status=busy')).not.toHaveProperty('total');
      expect(sent()).toEqual(['status=busy&_total=none', 'status=busy&_fields=id&_count=1000']);
    });

    test.each<[Reply]>([
      [{ status: 500, body: {} }],
      [{ status: 400, body: { resourceType: 'Bundle', entry: [] } }],
      [{ body: { resourceType: 'Patient', entry: [] } }],
    ])('is missing, if it cannot be counted: %j', async (reply) => {
      fake.answer = ({ method }) => (method === 'POST' ? reply : page(2, '_offset=2'));
      expect(await get('/fhir/R4/Slot?status=busy')).not.toHaveProperty('total');
    });

    test.each([
      ['_offset=0', 1],
      ['_offset=2', 2],
      ['_cursor=x', 2],
    ])('is that of the only page, not that of the last one: %s', async (more, searches) => {
      fake.answer = ({ method }) => page(method === 'POST' ? 40 : 1);
      expect((await get(`/fhir/R4/Slot?status=busy&${more}`)).total).toBe(searches === 1 ? 1 : 40);
      expect(fake.received).toHaveLength(searches);
    });
  });

  test('links and addresses do not depend on the Host header', async () => {
    fake.answer = () => ({ body: searchset(fake.url, 'Slot', [slot]) });
    const headers = { ...bearer, host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    const answer = await inject({ url: '/fhir/R4/Slot', headers });
    expect(answer.body).not.toContain('evil.example');
  });

  test('entries of types that are not served do not pass, nor secrets of a Subscription', async () => {
    const subscription = {
      resourceType: 'Subscription',
      id: 'x',
      channel: { type: 'rest-hook', header: ['Authorization: s'] },
    };
    fake.answer = () => ({ body: searchset(fake.url, 'Slot', [slot, { resourceType: 'Bot', id: 'b' }, subscription]) });
    const bundle = await get('/fhir/R4/Slot');
    expect(bundle.entry?.map(({ resource }) => resource)).toEqual([
      slot,
      { resourceType: 'Subscription', id: 'x', channel: { type: 'rest-hook' } },
    ]);
  });

  test('POST _search keeps its parameters out of the address', async () => {
    fake.answer = () => ({ body: searchset(fake.url, 'Patient', []) });
    const headers = { ...bearer, 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await inject({
      method: 'POST',
      url: '/fhir/R4/Patient/_search?_count=5',
      headers,
      payload: 'family=M%C3%BCller&given=',
    });
    expect(answer.statusCode).toBe(200);
    const [received] = fake.received;
    expect([received?.method, received?.path, received?.query.size]).toEqual(['POST', '/fhir/R4/Patient/_search', 0]);
    expect([...new URLSearchParams(received?.body)]).toEqual([
      ['_count', '5'],
      ['family', 'Müller'],
      ['_sort', '_lastUpdated,_id'],
      ['_total', 'accurate'],
    ]);
  });

  test('an unknown parameter is 400, names itself and what is supported, and Medplum is not asked', async () => {
    const answer = await inject({ url: '/fhir/R4/Slot?colour=red', headers: bearer });
    expect(answer.statusCode).toBe(400);
    expect(answer.json().issue[0]).toMatchObject({
      expression: ['http.colour'],
      diagnostics: expect.stringContaining('schedule'),
    });
    expect(fake.received).toEqual([]);
  });

  test('what Medplum finds malformed is 400 with its words, but not its address', async () => {
    const text = `Invalid value, see ${fake.url}/fhir/R4/SearchParameter/1`;
    fake.answer = () => ({
      status: 400,
      body: { resourceType: 'OperationOutcome', issue: [{ severity: 'error', code: 'invalid', details: { text } }] },
    });
    const outcome = await get('/fhir/R4/Slot?status=x', 400);
    expect(JSON.stringify(outcome)).toContain(`Invalid value, see ${base}/SearchParameter/1`);
  });

  test('HEAD answers like GET without the body', async () => {
    fake.answer = () => ({ body: searchset(fake.url, 'Slot', [slot]) });
    const answer = await inject({ method: 'HEAD', url: '/fhir/R4/Slot', headers: bearer });
    expect([answer.statusCode, answer.body]).toEqual([200, '']);
    expect(answer.headers['content-type']).toBe('application/fhir+json; charset=utf-8');
  });
});
