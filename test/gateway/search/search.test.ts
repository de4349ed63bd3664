import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { bearer, type FakeMedplum, gatewayTo, searchset, startFakeMedplum, withGateway } from '../fake-medplum.ts';

describe('search', () => {
  const { fake, inject } = withGateway();

  describe('searches', () => {
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
  });
});

describe('search at once', () => {
  let fake: FakeMedplum;

  beforeAll(async () => {
    fake = await startFakeMedplum();
  });

  afterAll(() => fake.close());

  beforeEach(() => {
    fake.received.length = 0;
  });

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
      const answers = await Promise.all(requests.map((request) => counting.inject(request)));
      await counting.close();
      return answers;
    }

    const url = '/fhir/R4/Slot?schedule=1';
    const form = { ...bearer, 'content-type': 'application/x-www-form-urlencoded' };

    test('is sent to Medplum once more for all who came while it was under way', async () => {
      const answers = await send(Array.from({ length: 20 }, () => ({ url, headers: bearer })));
      const found = answers.map((answer) => answer.json<Bundle>().entry?.[0]?.resource?.id);
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
      const answers = await send(sent);
      expect(fake.received).toHaveLength(4);
      for (const [index, answer] of answers.entries()) {
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
