import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import fastify, { type FastifyInstance } from 'fastify';
import { MAX_VALUES } from '../../../core/fhir/bounds.ts';
import { addBodyParsers, isReadBody } from '../../../gateway/http/body.ts';
import { formatOfBody, isForm, isJsonPatch, negotiate } from '../../../gateway/http/content-negotiation.ts';
import { parsePrefer, preferredHandling, preferredReturn, prefersAsync } from '../../../gateway/http/prefer.ts';
import { bearer, gatewayTo } from '../fake-medplum.ts';

describe('body', () => {
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
    const response = await app.inject({ method: 'POST', url: '/', headers: { 'content-type': type }, payload });
    const { isRead, body } = response.json();
    return isRead ? (body.issues ?? body.value) : response.statusCode;
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
      const tooMany = malformed(`The body has more than ${MAX_VALUES} values.`);
      expect(await read(list(MAX_VALUES - 1))).toHaveLength(MAX_VALUES - 1);
      expect(await read(list(MAX_VALUES))).toEqual(tooMany);
      expect(await read(lists(MAX_VALUES))).toEqual(tooMany);
      const commas = `{"a":"${','.repeat(MAX_VALUES + 1)}"}`;
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
});

describe('content negotiation', () => {
  test.each([
    [undefined, undefined, 'json'],
    ['', undefined, 'json'],
    ['*/*', undefined, 'json'],
    ['application/*', undefined, 'json'],
    ['application/fhir+json', undefined, 'json'],
    ['application/json;charset=utf-8', undefined, 'json'],
    ['APPLICATION/FHIR+JSON', undefined, 'json'],
    ['text/html, application/xhtml+xml, */*;q=0.8', undefined, 'json'],
    ['application/fhir+xml;q=0.1, application/fhir+json;q=0.9', undefined, 'json'],
    ['application/fhir+json; fhirVersion=4.0', undefined, 'json'],
    ['text/html', 'json', 'json'],
    ['text/html', 'application/fhir+json', 'json'],
    [undefined, 'application/fhir json', 'json'],
    ['application/json', '', 'json'],
    ['text/html', undefined, undefined],
    ['application/fhir+xml', undefined, 'xml'],
    ['application/fhir+xml, application/fhir+json', undefined, 'json'],
    ['application/fhir+xml, */*;q=0.5', undefined, 'xml'],
    ['application/fhir+json;q=0.1, application/json;q=0, application/fhir+xml;q=0.9', undefined, 'xml'],
    ['application/fhir+json', 'xml', 'xml'],
    ['text/html', 'application/fhir xml', 'xml'],
    ['application/json', 'text/xml', 'xml'],
    ['application/json', 'application/xml', 'xml'],
    ['application/xml', undefined, 'xml'],
    ['text/xml', undefined, 'xml'],
    ['text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8', undefined, 'xml'],
    ['*/*;q=0', undefined, undefined],
    ['application/fhir+json;q=0, application/json;q=0, */*', undefined, 'xml'],
    ['application/fhir+json; fhirVersion=5.0', undefined, undefined],
    ['application/json', 'text/turtle', undefined],
    ['text/html', 'application/fhir+json; fhirVersion=4.0.1', 'json'],
    ['application/json', 'application/fhir+json; fhirVersion=5.0', undefined],
    ['application/json', 'application/fhir json;fhirVersion=5.0', undefined],
    [' , ', undefined, 'json'],
    ['text/*', undefined, 'xml'],
    ['image/*', undefined, undefined],
    ['application/json; Q=0, text/xml', undefined, 'xml'],
    ['application/json; q=2, text/xml; q=0.1', undefined, 'xml'],
    ['application/json; q=-1, text/xml; q=0.1', undefined, 'xml'],
    ['application/json; q=high, text/xml; q=0.1', undefined, 'xml'],
    ['application/json; q="0.5", text/xml; q=0.6', undefined, 'xml'],
  ])('Accept %s, _format %s: %s', (accept, format, expected) => {
    expect(negotiate(accept, format)?.format.name).toBe(expected);
  });

  test.each([
    [undefined, undefined, 'application/fhir+json'],
    ['*/*', undefined, 'application/fhir+json'],
    ['application/json', undefined, 'application/json'],
    ['application/json, text/plain, */*', undefined, 'application/json'],
    ['application/fhir+json, application/json', undefined, 'application/fhir+json'],
    ['application/fhir+json;q=0.5, application/json', undefined, 'application/json'],
    ['text/xml;q=0.5, application/xml', undefined, 'application/xml'],
    ['text/xml', undefined, 'text/xml'],
    ['text/csv', 'json', 'application/fhir+json'],
    ['text/csv', 'text/xml', 'text/xml'],
  ])('Accept %s, _format %s: the Content-Type of the answer is %s', (accept, format, expected) => {
    expect(negotiate(accept, format)?.mediaType).toBe(expected);
  });

  test.each([
    ['application/fhir+json', 'json'],
    ['application/json; charset=UTF-8', 'json'],
    ['application/fhir+json; charset="utf-8"; fhirVersion=4.0', 'json'],
    ['application/fhir+xml; charset=utf-8', 'xml'],
    ['application/json; charset=utf8', 'json'],
    ['application/json; charset=US-ASCII', 'json'],
    ['application/json; charset=iso-8859-1', undefined],
    ['application/json; charset="utf-8', undefined],
    ['application/json; charset=x"utf-8"', undefined],
    ['application/json; charset=utf"-8"', undefined],
    ['application/json; charset="utf"-8', undefined],
    ['application/json; charset', undefined],
    ['application/fhir+xml; charset=iso-8859-1', undefined],
    ['text/xml', 'xml'],
    ['application/xml; charset=UTF-8', 'xml'],
    ['text/html', undefined],
    ['application/fhir+json; fhirVersion=3.0', undefined],
    ['application/json-patch+json', undefined],
    ['text/plain', undefined],
    [undefined, undefined],
  ])('Content-Type %s: %s', (contentType, expected) => {
    expect(formatOfBody(contentType)?.name).toBe(expected);
  });

  test.each([
    ['application/json-patch+json', true],
    ['Application/JSON-Patch+JSON; charset=UTF-8', true],
    ['application/json-patch+json; charset=utf8', true],
    ['application/json-patch+json; charset=us-ascii', true],
    ['application/json-patch+json; charset=utf-16', false],
    ['application/json', false],
    [undefined, false],
  ])('Content-Type %s is a JSON Patch: %s', (contentType, expected) => {
    expect(isJsonPatch(contentType)).toBe(expected);
  });

  test.each([
    ['application/x-www-form-urlencoded', true],
    ['Application/X-WWW-Form-URLencoded; charset=utf-8', true],
    ['multipart/form-data', false],
    [undefined, false],
  ])('Content-Type %s is a form: %s', (contentType, expected) => {
    expect(isForm(contentType)).toBe(expected);
  });
});

describe('cors', () => {
  const portal = 'https://portal.example.org';
  const medplum = { url: 'http://127.0.0.1:1' };
  const [open, closed] = [gatewayTo(medplum, {}, { corsOrigins: [portal] }), gatewayTo(medplum)];

  /** What is listed in a header. */
  const listed = (header: string | string[] | number | undefined) => String(header).split(', ').sort();

  const preflight = (origin: string) => ({
    method: 'OPTIONS' as const,
    url: '/fhir/R4/Appointment/$book',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,prefer',
    },
  });

  describe('a browser', () => {
    test('may call from an origin that is configured', async () => {
      const asked = await open.inject(preflight(portal));
      expect([asked.statusCode, asked.headers['access-control-allow-origin']]).toEqual([204, portal]);
      expect(asked.headers['access-control-allow-headers']).toContain('authorization');
      expect(listed(asked.headers['access-control-allow-methods'])).toEqual([
        'DELETE',
        'GET',
        'HEAD',
        'PATCH',
        'POST',
        'PUT',
      ]);
      const called = await open.inject({ url: '/fhir/R4/Slot/s1', headers: { ...bearer, origin: portal } });
      expect(called.headers).toMatchObject({ 'access-control-allow-origin': portal, vary: 'Origin' });
      expect(listed(called.headers['access-control-expose-headers'])).toEqual([
        'Allow',
        'Content-Location',
        'ETag',
        'Location',
        'Preference-Applied',
        'Retry-After',
        'WWW-Authenticate',
        'X-Progress',
        'X-Request-Id',
      ]);
    });

    test('may not call from anywhere by default', async () => {
      const asked = await closed.inject(preflight(portal));
      expect([asked.statusCode, asked.headers['access-control-allow-origin']]).toEqual([405, undefined]);
      const called = await closed.inject({ url: '/fhir/R4/Slot/s1', headers: { ...bearer, origin: portal } });
      expect(called.headers['access-control-allow-origin']).toBeUndefined();
    });
  });
});

describe('Prefer (RFC 7240)', () => {
  test.each([
    ['return=minimal', 'minimal'],
    ['Return=MINIMAL', 'minimal'],
    ['respond-async, return=representation', 'representation'],
    ['return="OperationOutcome"; foo=bar', 'OperationOutcome'],
    ['foo="a, return=minimal", return = representation', 'representation'],
    ['return=minimal, return=representation', 'minimal'],
    ['foo; return=minimal', undefined],
    ['return', undefined],
    ['return=everything', undefined],
    ['return=mini=mal', undefined],
    ['return=x"minimal"', undefined],
    ['return="minimal"x', undefined],
    ['return="minimal', undefined],
    ['return=min/imal', undefined],
    ['return=<minimal>', undefined],
    ['respond-async, /, , return=minimal', 'minimal'],
    ['(, return=minimal', 'minimal'],
    ['return=minimal;a="b, return=representation', 'minimal'],
  ])('%s asks for %s', (header, expected) => {
    expect(preferredReturn(parsePrefer(header))).toBe(expected);
  });

  test.each([
    ['respond-async', true],
    ['RESPOND-ASYNC; wait=10', true],
    ['return=minimal,respond-async', true],
    ['foo="respond-async"', false],
    ['respond-asynchronously', false],
  ])('%s: asynchronous %s', (header, expected) => {
    expect(prefersAsync(parsePrefer(header))).toBe(expected);
  });

  test.each([
    ['handling=strict', 'strict'],
    ['Handling="LENIENT"', 'lenient'],
    ['return=minimal', undefined],
    ['handling=relaxed', undefined],
  ])('%s: unknown parameters are handled as %s', (header, expected) => {
    expect(preferredHandling(parsePrefer(header))).toBe(expected);
  });

  test('what was written is read again, whatever the values', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,8}$/);
    fc.assert(
      fc.property(fc.uniqueArray(fc.tuple(name, fc.string()), { selector: ([key]) => key }), (pairs) => {
        const header = pairs.map(([key, value]) => `${key}="${value.replace(/["\\]/g, '\\$&')}"`).join(' , ');
        expect([...parsePrefer(header)]).toEqual(pairs);
      }),
    );
  });
});
