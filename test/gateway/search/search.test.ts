import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { base, bearer, gatewayTo, type Reply, searchset, withGateway } from '../fake-medplum.ts';

describe('search', () => {
  const { fake, inject } = withGateway();

  async function get(url: string, status = 200): Promise<Bundle> {
    const response = await inject({ url: url.replace(base, '/fhir/R4'), headers: bearer });
    expect(response.statusCode).toBe(status);
    expect(response.body).not.toContain(new URL(fake.url).host);
    return response.json();
  }

  const slot = { resourceType: 'Slot', id: 's1' };

  describe('searches', () => {
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
  });
});

describe('search at once', () => {
  const { fake } = withGateway();

  describe('the same search by many at once', () => {
    interface Sent {
      readonly method?: 'GET' | 'POST' | 'HEAD';
      readonly url: string;
      readonly headers: Record<string, string>;
      readonly payload?: string;
    }

    /** Sends requests and lets Medplum answer when all of them have arrived: with a Slot that is named after the token. */
    async function send(requests: readonly Sent[]) {
      let arrived = 0;
      const { promise: haveArrived, resolve } = Promise.withResolvers<void>();
      const counting = gatewayTo(fake);
      counting.addHook('preHandler', async () => {
        arrived += 1;
        if (arrived === requests.length) {
          setImmediate(resolve);
        }
      });
      fake.answer = async ({ headers, path }) => {
        const id = `${String(headers.authorization).replace(/^Bearer /, '')}-${fake.received.length}`;
        await haveArrived;
        const resourceType = path.split('/')[3] ?? '';
        return { body: searchset(fake.url, resourceType, [{ resourceType, id }]) };
      };
      const responses = await Promise.all(requests.map((request) => counting.inject(request)));
      return responses;
    }

    const url = '/fhir/R4/Slot?schedule=1';
    const form = { ...bearer, 'content-type': 'application/x-www-form-urlencoded' };

    test('is sent to Medplum once more for all who came while it was under way', async () => {
      const responses = await send(Array.from({ length: 20 }, () => ({ url, headers: bearer })));
      const found = responses.map((response) => response.json<Bundle>().entry?.[0]?.resource?.id);
      expect(found.filter((id) => id === 'portal-a-1')).toHaveLength(1);
      expect(found.filter((id) => id === 'portal-a-2')).toHaveLength(19);
      expect(fake.received).toHaveLength(2);
    });

    test.each<[string, Sent, Sent]>([
      ['token', { url, headers: bearer }, { url, headers: { authorization: 'Bearer portal-b' } }],
      ['query', { url, headers: bearer }, { url: `${url}&start=ge2027-01-01`, headers: bearer }],
      ['handling', { url, headers: bearer }, { url, headers: { ...bearer, prefer: 'handling=lenient' } }],
      ['type', { url: '/fhir/R4/Slot?_id=1', headers: bearer }, { url: '/fhir/R4/Schedule?_id=1', headers: bearer }],
      [
        'method',
        { url, headers: bearer },
        { method: 'POST', url: '/fhir/R4/Slot/_search?schedule=1', headers: form, payload: '' },
      ],
      [
        'form',
        { method: 'POST', url: '/fhir/R4/Slot/_search', headers: form, payload: 'schedule=1' },
        { method: 'POST', url: '/fhir/R4/Slot/_search', headers: form, payload: 'schedule=2' },
      ],
    ])('is sent by itself for each %s', async (_, one, other) => {
      const sent = [one, other, one, other, one, other];
      const responses = await send(sent);
      expect(fake.received).toHaveLength(4);
      for (const [index, answer] of responses.entries()) {
        const token = sent[index]?.headers.authorization?.replace(/^Bearer /, '') ?? '';
        expect(answer.json<Bundle>().entry?.[0]?.resource?.id).toMatch(new RegExp(`^${token}-\\d$`));
      }
    });

    test('is answered to each in the format that it asks for', async () => {
      const xml = { ...bearer, accept: 'application/fhir+xml' };
      const [, inJson, inXml, head] = await send([
        { url, headers: bearer },
        { url, headers: bearer },
        { url, headers: xml },
        { method: 'HEAD', url, headers: bearer },
      ]);
      expect(fake.received).toHaveLength(2);
      expect(inJson?.json<Bundle>().entry?.[0]?.resource?.id).toBe('portal-a-2');
      expect(inXml?.headers['content-type']).toContain('application/fhir+xml');
      expect(inXml?.body).toContain('<id value="portal-a-2"/>');
      expect([head?.statusCode, head?.body]).toEqual([200, '']);
    });
  });
});
