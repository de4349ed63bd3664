import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { MOST_VALUES } from '../../../core/fhir/bounds.ts';
import {
  addBodyParsers,
  announcesBody,
  type BodyKind,
  isPatchBody,
  isReadBody,
  isSupportedBody,
} from '../../../gateway/http/body.ts';

const DEPTH = 4;
let app: FastifyInstance;

beforeAll(async () => {
  app = fastify();
  addBodyParsers(app, DEPTH);
  app.post('/', async ({ body }) => ({ isRead: isReadBody(body), body }));
  await app.ready();
});
afterAll(() => app.close());

/** What was read of a body: its value, or the issues. */
async function read(payload: string | Buffer, type = 'application/fhir+json') {
  const answer = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload });
  const { isRead, body } = answer.json();
  return isRead ? (body.issues ?? body.value) : answer.statusCode;
}

const malformed = (diagnostics: string) => [{ code: 'malformed-request', diagnostics, expression: 'http.body' }];

describe('a body of JSON', () => {
  test.each([
    ['{"a":[1,{"b":"c"}]}', { a: [1, { b: 'c' }] }],
    ['"x"', 'x'],
    ['{"a":1,"a":2}', { a: 2 }],
    ['{"a":"[[[[[[{{{{"}', { a: '[[[[[[{{{{' }],
    ['{"a":"\\"[[[[["}', { a: '"[[[[[' }],
    ['{"a":"\\\\","b":"[[[[["}', { a: '\\', b: '[[[[[' }],
    ['[[1],[2],[3],[4],[5],[6]]', [[1], [2], [3], [4], [5], [6]]],
    ['[{"a":{}},{"a":{}},{"a":{}}]', [{ a: {} }, { a: {} }, { a: {} }]],
    ['[[[[1]]]]', [[[[1]]]]],
  ])('%s is read', async (payload, expected) => {
    expect(await read(payload)).toEqual(expected);
    expect(await read(payload, 'application/json-patch+json')).toEqual(expected);
  });

  test.each(['[[[[[1]]]]]', '{"a":{"a":{"a":{"a":{}}}}}', '[1,[{"a":[[2]]}]]'])(
    '%s is nested too deep',
    async (payload) => {
      expect(await read(payload)).toEqual(malformed('The body is nested deeper than 4 levels.'));
    },
  );

  test('has so many values, no more', async () => {
    const list = (count: number) => JSON.stringify(Array.from({ length: count }, () => 1));
    const lists = (count: number) => JSON.stringify(Array.from({ length: count }, () => []));
    const tooMany = malformed(`The body has more than ${MOST_VALUES} values.`);
    expect(await read(list(MOST_VALUES - 1))).toHaveLength(MOST_VALUES - 1);
    expect(await read(list(MOST_VALUES))).toEqual(tooMany);
    expect(await read(lists(MOST_VALUES))).toEqual(tooMany);
    const commas = `{"a":"${','.repeat(MOST_VALUES + 1)}"}`;
    expect(Object.keys(await read(commas))).toEqual(['a']);
  });

  test.each(['{', '{"a":}', '{"__proto__":{"x":1}}', '{"constructor":{"prototype":{}}}', ']', '"a', 'null,'])(
    '%s is refused',
    async (payload) => {
      expect(await read(payload)).toEqual(malformed('The body is not valid JSON.'));
    },
  );

  test.each(['{"a":"\\u0000"}', '{"a":"\0"}'])('%j has a character that FHIR forbids', async (payload) => {
    expect(await read(payload)).toEqual(
      malformed('The body contains the character U+0000, which FHIR does not allow in strings.'),
    );
  });

  test('that is not UTF-8 is refused', async () => {
    expect(await read(Buffer.from([0x22, 0xfc, 0x22]))).toEqual(malformed('The body is not valid UTF-8.'));
  });

  test('that is empty has no value', async () => {
    const answer = await app.inject({
      method: 'POST',
      url: '/',
      headers: { 'content-type': 'application/fhir+json', 'content-length': '1' },
      payload: ' ',
    });
    expect(answer.json().isRead).toBe(true);
    expect(await read('')).toBeUndefined();
  });
});

describe('a body of XML', () => {
  test('is read, also one that is longer than what is read at once', async () => {
    const text = 'x'.repeat(200_000);
    const xml = `<Patient xmlns="http://hl7.org/fhir"><id value="a"/><!-- ${text} --><active value="true"/></Patient>`;
    expect(await read(xml, 'application/fhir+xml')).toEqual({ resourceType: 'Patient', id: 'a', active: true });
  });

  test('is read piece by piece: others have their turns while a long one is read', async () => {
    let turns = 0;
    let isRead = false;
    const count = () => {
      turns++;
      if (!isRead) {
        setImmediate(count);
      }
    };
    setImmediate(count);
    const xml = `<Patient xmlns="http://hl7.org/fhir"><!-- ${'x'.repeat(900_000)} --><active value="true"/></Patient>`;
    expect(await read(xml, 'application/fhir+xml')).toEqual({ resourceType: 'Patient', active: true });
    isRead = true;
    expect(turns).toBeGreaterThanOrEqual(13);
  });

  test('that is broken is refused, with a place in the body', async () => {
    const issues = await read('<Patient xmlns="http://hl7.org/fhir"><id value="a">', 'text/xml');
    expect(issues[0]).toMatchObject({
      code: 'malformed-request',
      expression: expect.stringMatching(/^(http\.body|Patient)/),
    });
  });
});

test('a form is taken as it stands; other types are not', async () => {
  expect(await read('family=M%C3%BCller&a', 'application/x-www-form-urlencoded')).toBe('family=M%C3%BCller&a');
  expect(await read('a', 'text/plain')).toBe(415);
});

const request = (headers: Record<string, string>, body?: unknown) => ({ headers, body }) as FastifyRequest;

describe('the type of a body', () => {
  const suited = (type: string | undefined, encoding?: string) =>
    (['fhir', 'form', 'patch'] as const satisfies readonly BodyKind[]).filter((kind) =>
      isSupportedBody(
        request({ ...(type && { 'content-type': type }), ...(encoding && { 'content-encoding': encoding }) }),
        kind,
      ),
    );

  test.each([
    ['application/fhir+json', ['fhir', 'patch']],
    ['text/xml', ['fhir', 'patch']],
    ['application/json-patch+json', ['patch']],
    ['application/json-patch+json; charset=latin1', []],
    ['application/x-www-form-urlencoded', ['form']],
    ['text/plain', []],
    [undefined, []],
  ])('%s suits %j', (type, expected) => {
    expect(suited(type)).toEqual(expected);
  });

  test('a compressed one suits nothing', () => {
    expect([suited('application/fhir+json', 'gzip'), suited('application/fhir+json', 'identity')]).toEqual([
      [],
      ['fhir', 'patch'],
    ]);
  });

  test.each([
    ['application/json-patch+json', [], true],
    ['application/json-patch+json', { resourceType: 'Parameters' }, false],
    ['application/fhir+json', { resourceType: 'Parameters' }, true],
    ['application/fhir+json', { resourceType: 'Patient' }, false],
    ['application/fhir+json', [], false],
    ['application/fhir+json', undefined, false],
  ])('%s with %j is a patch: %s', (type, body, expected) => {
    expect(isPatchBody(request({ 'content-type': type }, body))).toBe(expected);
  });
});

test.each([
  [{}, false],
  [{ 'content-length': '0' }, false],
  [{ 'content-length': '1' }, true],
  [{ 'transfer-encoding': 'chunked' }, true],
])('headers %j declare a body: %s', (headers, expected) => {
  expect(announcesBody(request(headers))).toBe(expected);
});

test.each([
  [{ value: undefined }, true],
  [{ issues: [] }, true],
  [{}, false],
  [null, false],
  ['value', false],
])('%j was read by these parsers: %s', (body, expected) => {
  expect(isReadBody(body)).toBe(expected);
});
