import { beforeEach, describe, expect, test } from '@jest/globals';
import type { FastifyRequest } from 'fastify';
import { headerOf } from '../../gateway/handler.ts';
import { bearer, searchset, withGateway } from './fake-medplum.ts';

const { fake, inject } = withGateway();

beforeEach(() => {
  fake.answer = ({ path }) => (path.endsWith('/s1') ? { body: slot } : { body: searchset(fake.url, 'Slot', [slot]) });
});

const slot = { resourceType: 'Slot', id: 's1' };
const get = (url: string, headers = {}) => inject({ url: `/fhir/R4/${url}`, headers: { ...bearer, ...headers } });
const search = (query: string, form: string, headers = {}) =>
  inject({
    method: 'POST',
    url: `/fhir/R4/Slot/_search${query}`,
    headers: { ...bearer, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: form,
  });

test.each([
  [undefined, undefined],
  ['a', 'a'],
  [['a', 'b'], 'a, b'],
])('a header that was sent as %j has the value %j', (sent, value) => {
  const request = { headers: { ...(sent !== undefined && { 'x-sent': sent }) } };
  expect(headerOf(request as unknown as FastifyRequest, 'x-sent')).toBe(value);
});

describe('what is passed on to Medplum', () => {
  test('is the trace of the client, as far as it was sent', async () => {
    const traced = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=b' };
    await get('Slot/s1', traced);
    await get('Slot/s1');
    const [first, second] = fake.received;
    expect(first?.headers).toMatchObject(traced);
    expect(Object.keys(second?.headers ?? {}).filter((name) => name.startsWith('trace'))).toEqual([]);
  });

  test('is a wish for JSON, the token, and the id of the request', async () => {
    const answer = await get('Slot/s1', { accept: 'application/fhir+xml', 'x-request-id': 'r-1' });
    expect(answer.headers['x-request-id']).toBe('r-1');
    expect(fake.received[0]?.headers).toMatchObject({
      ...bearer,
      accept: 'application/fhir+json',
      'x-request-id': 'r-1',
    });
  });

  test('is the query up to its end', async () => {
    await get('Slot?identifier=a?b');
    expect(fake.received[0]?.query.get('identifier')).toBe('a?b');
  });
});

describe('how an answer is written', () => {
  const xml = 'application/fhir+xml; charset=utf-8';
  const json = 'application/fhir+json; charset=utf-8';

  test.each([
    ['Slot/s1?_format=xml', xml],
    ['Slot/s1?_format=%20xml%20', xml],
    ['Slot/s1?_format=', json],
    ['Slot/s1?_format=%20', json],
    ['Slot/s1', json],
  ])('%s is answered as %s', async (url, type) => {
    expect((await get(url)).headers['content-type']).toBe(type);
  });

  test.each([
    ['', '_format=xml', xml],
    ['?_format=xml', '', xml],
    ['?_format=xml', '_format=json', xml],
    ['', 'identifier=x', json],
  ])('a search by POST with the query %j and the form %j is answered as %s', async (query, form, type) => {
    const answer = await search(query, form);
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, type]);
  });

  test('a form that asks for what is not there is refused: 406', async () => {
    const answer = await search('', '_format=turtle');
    expect([answer.statusCode, answer.headers['content-type'], fake.received]).toEqual([406, json, []]);
  });

  test.each([
    ['Slot/s1?_pretty=true', true],
    ['Slot/s1?_pretty=false', false],
    ['Slot/s1?_pretty', false],
    ['Slot/s1', false],
  ])('%s is written for human readers: %s', async (url, isPretty) => {
    expect((await get(url)).body.includes('\n')).toBe(isPretty);
  });
});
