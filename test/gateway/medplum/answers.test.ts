import { describe, expect, test } from '@jest/globals';
import type { Bundle, OperationOutcome, Patient } from '@medplum/fhirtypes';
import fc from 'fast-check';
import { createAddresses } from '../../../gateway/medplum/address-rewriting.ts';
import type { UpstreamAnswer, UpstreamFailure } from '../../../gateway/medplum/client.ts';
import { upstreamProblem } from '../../../gateway/medplum/errors.ts';
import { publicBundle, publicResource } from '../../../gateway/medplum/public-resources.ts';
import { base, config } from '../fake-medplum.ts';

const answer = (status: number, body?: unknown, headers = {}): UpstreamAnswer => ({ status, headers, body });
const outcome = (...issue: unknown[]) => ({ resourceType: 'OperationOutcome', issue });

function told(given: UpstreamAnswer | UpstreamFailure) {
  const { status, resource, headers } = upstreamProblem(given, config);
  const issues = resource?.resourceType === 'OperationOutcome' ? resource.issue : [];
  return {
    status,
    headers,
    issues: issues.map(({ details, diagnostics, expression }) => [
      details?.coding?.[0]?.code,
      diagnostics,
      expression?.[0],
    ]),
  };
}

const unavailable = 'The FHIR server behind the service cannot be reached: try again.';

const late =
  'The FHIR server behind the service did not answer in time. A change may have been stored: read before you try again.';

const broken =
  'The FHIR server behind the service gave an invalid response. A change may have been stored: read before you try again.';

test.each<[UpstreamAnswer | UpstreamFailure, number, string | undefined, string]>([
  [{ failure: 'unavailable' }, 503, 'upstream-unavailable', unavailable],
  [{ failure: 'timeout' }, 504, 'upstream-timeout', late],
  [{ failure: 'broken' }, 503, 'upstream-unavailable', broken],
  [answer(500), 503, 'upstream-unavailable', unavailable],
  [answer(503), 503, 'upstream-unavailable', unavailable],
  [answer(504), 504, 'upstream-timeout', late],
  [answer(409), 409, 'booking-conflict', 'Another request changed the same resource at the same moment: try again.'],
  [answer(412), 412, 'version-conflict', 'The resource has a newer version: read it again.'],
  [answer(412, { ...outcome(), id: 'multiple-matches' }), 412, undefined, 'The condition matches several resources.'],
  [answer(401), 401, undefined, 'Send a valid bearer token in the Authorization header.'],
  [answer(403), 403, undefined, 'The caller is not allowed to do this.'],
  [answer(404), 404, undefined, 'There is no such resource, or the caller may not see it.'],
  [answer(410), 410, undefined, 'The resource was deleted.'],
  [answer(418), 400, undefined, 'The request is not valid HTTP.'],
])('%j becomes %i %s', (given, status, code, diagnostics) => {
  const found = told(given);
  expect([found.status, found.issues]).toEqual([status, [[code, diagnostics, undefined]]]);
});

test('a redirection is no answer', () => {
  expect([told(answer(302)).status, told(answer(399)).status]).toEqual([502, 502]);
});

test('a token that is refused is invalid; who asks too often learns when to come again', () => {
  expect(told(answer(401)).headers).toEqual({ 'www-authenticate': 'Bearer error="invalid_token"' });
  expect([told(answer(429)).status, told(answer(429)).headers]).toEqual([429, { 'retry-after': '60' }]);
  expect(told(answer(429, undefined, { 'retry-after': '7' })).headers).toEqual({ 'retry-after': '7' });
});

describe.each([400, 422])('what Medplum finds malformed (%i)', (status) => {
  const rejected = 'The FHIR server rejected the request.';
  test.each<[unknown, unknown[]]>([
    [
      outcome({ details: { text: 'Bad.' }, diagnostics: 'Other.', expression: ['Slot.start'] }),
      [['malformed-request', 'Bad.', 'Slot.start']],
    ],
    [outcome({ diagnostics: 'Other.' }), [['malformed-request', 'Other.', undefined]]],
    [outcome({ details: { text: 1 }, expression: 'x' }), [['malformed-request', rejected, undefined]]],
    [outcome({ expression: [1] }), [['malformed-request', rejected, undefined]]],
    [
      outcome({ diagnostics: 'A.' }, null, { diagnostics: 'B.' }),
      [
        ['malformed-request', 'A.', undefined],
        ['malformed-request', 'B.', undefined],
      ],
    ],
    [outcome(), [['malformed-request', rejected, undefined]]],
    [undefined, [['malformed-request', rejected, undefined]]],
  ])('%j', (body, issues) => {
    expect(told(answer(status, body))).toMatchObject({ status: 400, issues });
  });
});

describe('public resources', () => {
  const addresses = createAddresses(config, ['http://medplum:8103/']);
  const slot = { resourceType: 'Slot', id: 's1' };
  const channel = { type: 'rest-hook', endpoint: 'https://portal.example', header: ['Authorization: secret'] };
  const shownChannel = { type: 'rest-hook', endpoint: 'https://portal.example' };

  describe('a resource', () => {
    test('is shown if it is of the type that was asked for', () => {
      expect(publicResource(slot, 'Slot')).toEqual(slot);
      const others: unknown[] = [slot, null, undefined, 'x', {}, { resourceType: 'Bot' }];
      expect(others.map((one) => publicResource(one, 'Patient'))).toEqual(others.map(() => undefined));
    });

    test('keeps the secrets of its channel', () => {
      const subscription = { resourceType: 'Subscription', id: 'u1', channel };
      expect(publicResource(subscription, 'Subscription')).toEqual({ ...subscription, channel: shownChannel });
      const bare = { resourceType: 'Subscription', id: 'u1' };
      expect(publicResource(bare, 'Subscription')).toEqual(bare);
    });
  });

  describe('a search result', () => {
    const bundleOf = (more: object) => ({ resourceType: 'Bundle', type: 'searchset', ...more }) as Bundle;
    const shown = (more: object) => publicBundle(bundleOf(more), 'Slot', addresses);

    test('names the addresses of the service', () => {
      const medplum = 'http://medplum:8103/fhir/R4';
      const link = [
        { relation: 'self', url: `${medplum}/Slot?status=free` },
        { relation: 'next', url: `${medplum}/Slot?_cursor=x`, id: 'y' },
        { relation: 'other', url: `${medplum}/Bot?x` },
        { relation: 'strange', url: 'http://elsewhere.example/Slot' },
        { relation: 'none' },
        { url: `${medplum}/Slot` },
        null,
      ];
      const entry = [{ fullUrl: `${medplum}/Slot/s1`, resource: slot, search: { mode: 'match' } }];
      expect(shown({ total: 1, link, entry })).toEqual({
        ...bundleOf({ total: 1 }),
        link: [
          { relation: 'self', url: `${base}/Slot?status=free` },
          { relation: 'next', url: `${base}/Slot?_cursor=x` },
        ],
        entry: [{ fullUrl: `${base}/Slot/s1`, resource: slot, search: { mode: 'match' } }],
      });
    });

    test('has no entries of types that are not served, nor secrets', () => {
      const subscription = { resourceType: 'Subscription', id: 'u1', channel };
      const entry = [
        { resource: { resourceType: 'Bot', id: 'b' } },
        {},
        null,
        'x',
        { resource: 'y' },
        { resource: subscription },
      ];
      expect(shown({ entry }).entry).toEqual([
        { fullUrl: `${base}/Subscription/u1`, resource: { ...subscription, channel: shownChannel } },
      ]);
    });

    test('without links and entries has an empty list of links', () => {
      expect(shown({ link: 'x' })).toEqual(bundleOf({ link: [] }));
      expect(shown({ entry: [] })).toEqual(bundleOf({ link: [] }));
    });
  });
});

describe('address rewriting', () => {
  const config = { baseUrl: 'https://booking.example.org/fhir/R4' };
  const addresses = createAddresses(config, ['http://medplum/', 'http://localhost:8103/']);

  describe('an address', () => {
    test.each([
      ['http://medplum/fhir/R4/Patient/1', 'https://booking.example.org/fhir/R4/Patient/1'],
      ['http://medplum/fhir/R4', 'https://booking.example.org/fhir/R4'],
      ['http://medplum/storage/1?key=2', 'https://booking.example.org/storage/1?key=2'],
      ['http://medplum', 'https://booking.example.org'],
      ['http://127.0.0.1:8103/fhir/R4/Slot/1', 'https://booking.example.org/fhir/R4/Slot/1'],
      ['http://localhost:8103/', 'https://booking.example.org/'],
    ])('%s of Medplum becomes %s', (url, shown) => {
      expect(addresses.rewriteUrl(url)).toBe(shown);
    });

    test.each([
      'https://medplum.com/docs',
      'http://medplum.com/fhir/R4/Patient/1',
      'http://medplum:8103/fhir/R4/Patient/1',
      'http://medplum-test/fhir/R4/Patient/1',
      'http://localhost:81030/',
      'http://localhost/',
      'https://medplum/',
      'http://medplum@evil.example/',
      'Patient/1',
      'see http://medplum/',
    ])('%s is not Medplum and stays', (url) => {
      expect(addresses.rewriteUrl(url)).toBe(url);
    });
  });

  describe('the addresses of the service', () => {
    test.each([
      ['https://booking.example.org/fhir/R4', '/fhir/R4', 'https://booking.example.org'],
      ['http://localhost:3000', '', 'http://localhost:3000'],
    ])('%s has the path "%s"', (baseUrl, basePath, origin) => {
      expect(createAddresses({ baseUrl }, [])).toMatchObject({ base: baseUrl, basePath, origin });
    });

    test.each([
      ['http://any.example/fhir/R4/Slot?_cursor=x', 'https://booking.example.org/fhir/R4/Slot?_cursor=x'],
      ['/fhir/R4/', 'https://booking.example.org/fhir/R4/'],
      ['http://any.example/fhir/R4', undefined],
      ['http://any.example/storage/1', undefined],
    ])('that are public: %s is %s', (url, expected) => {
      expect(addresses.publicUrl(url)).toBe(expected);
    });

    test.each(['localhost', '127.0.0.1', '[::1]'])(
      'hide a Medplum on the same machine by all its names: %s',
      (name) => {
        const near = createAddresses(config, [`http://${name}/`, 'https://booking.example.org:8103/']);
        for (const one of ['localhost', '127.0.0.1', '[::1]']) {
          expect(near.rewriteUrl(`http://${one}/storage/1#x`)).toBe('https://booking.example.org/storage/1#x');
          expect(near.rewriteUrl(`http://${one}:8103/storage/1`)).toBe(`http://${one}:8103/storage/1`);
        }
        expect(near.rewriteUrl('https://booking.example.org:8103/a')).toBe('https://booking.example.org/a');
      },
    );
  });

  describe('a resource', () => {
    test.each(['reference', 'fullUrl', 'valueUrl', 'valueUri'])('has addresses of Medplum nowhere as %s', (name) => {
      const resource = { resourceType: 'Basic' as const, code: {}, part: [{ [name]: 'http://medplum/a', other: [7] }] };
      expect(addresses.rewriteResource(resource)).toEqual({
        ...resource,
        part: [{ [name]: 'https://booking.example.org/a', other: [7] }],
      });
    });

    test.each([
      ['link', true],
      ['photo', true],
      ['valueAttachment', true],
      ['attachment', true],
      ['contentAttachment', true],
      ['extension', false],
      ['endpoint', false],
    ])('has addresses of Medplum below %s as url: they become those of the service: %s', (parent, isRewritten) => {
      const of = (url: string) => ({
        resourceType: 'Basic' as const,
        code: {},
        [parent]: [{ url, title: 'http://medplum/' }],
      });
      const shown = isRewritten ? 'https://booking.example.org/a' : 'http://medplum/a';
      expect(addresses.rewriteResource(of('http://medplum/a'))).toEqual(of(shown));
    });

    test('shares what has no addresses with the original', () => {
      const [first, second] = [{ reference: 'http://medplum/a' }, { display: 'x' }];
      const resource = { resourceType: 'Basic' as const, code: {}, items: [first, second] };
      const shown = addresses.rewriteResource(resource);
      expect([shown.items[1] === second, shown.code === resource.code, resource.items[0]]).toEqual([
        true,
        true,
        { reference: 'http://medplum/a' },
      ]);
    });

    test.each([
      ['"http://medplum/fhir/R4/X/1"', '"https://booking.example.org/fhir/R4/X/1"'],
      ["'http://medplum'", "'https://booking.example.org'"],
      ['<http://medplum/a>', '<https://booking.example.org/a>'],
      ['http://medplum/a http://medplum/b', 'https://booking.example.org/a https://booking.example.org/b'],
      ['http://[::1]:8103/a', 'https://booking.example.org/a'],
      ['http://medplum.com/?u=http://medplum/a', 'http://medplum.com/?u=https://booking.example.org/a'],
      ['http://medplum:80/?u=http://medplum/a', 'http://medplum:80/?u=https://booking.example.org/a'],
      ['http://medplum-2/?u=http://medplum/a', 'http://medplum-2/?u=https://booking.example.org/a'],
    ])('quotes no address of Medplum in its errors: %s', (diagnostics, expected) => {
      const of = (text: string): OperationOutcome => ({
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'error', code: 'invalid', diagnostics: text }],
      });
      expect(addresses.rewriteResource(of(diagnostics))).toEqual(of(expected));
    });

    test('keeps what identifies and what people wrote', () => {
      const patient: Patient = {
        resourceType: 'Patient',
        extension: [{ url: 'http://medplum/fhir/R4/StructureDefinition/x', valueString: 'http://medplum/a' }],
        identifier: [{ system: 'http://medplum/ids', value: 'http://medplum/ids/1' }],
        text: { status: 'generated', div: '<div>http://medplum/</div>' },
        link: [{ type: 'seealso', other: { reference: 'https://medplum.com/fhir/R4/Patient/1' } }],
      };
      expect(addresses.rewriteResource(patient)).toBe(patient);
    });

    test('without any address of Medplum is never changed', () => {
      fc.assert(
        fc.property(fc.jsonValue(), (value) => {
          const text = JSON.stringify(value);
          fc.pre(!text.includes('http://medplum') && !text.includes('http://localhost'));
          const resource = { resourceType: 'Basic' as const, code: {}, value };
          expect(addresses.rewriteResource(resource)).toBe(resource);
        }),
      );
    });
  });

  test('an installation at the address of Medplum rewrites nothing', () => {
    const same = createAddresses(config, ['https://booking.example.org/']);
    expect(same.rewriteUrl('https://booking.example.org/storage/1')).toBe('https://booking.example.org/storage/1');
    const outcome: OperationOutcome = {
      resourceType: 'OperationOutcome',
      issue: [{ severity: 'error', code: 'invalid', diagnostics: 'https://booking.example.org/ is here.' }],
    };
    expect(same.rewriteResource(outcome)).toBe(outcome);
  });
});
