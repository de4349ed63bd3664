import { describe, expect, test } from '@jest/globals';
import type { Bundle } from '@medplum/fhirtypes';
import { createAddresses } from '../../../gateway/medplum/address-rewriting.ts';
import type { MedplumResponse, UpstreamFailure } from '../../../gateway/medplum/client.ts';
import { upstreamProblem } from '../../../gateway/medplum/errors.ts';
import { publicBundle, publicResource } from '../../../gateway/medplum/public-resources.ts';
import { rows } from '../../lib/rows.ts';
import { base, config } from '../fake-medplum.ts';

const answer = (status: number, body?: unknown, headers = {}): MedplumResponse => ({ status, headers, body });
const outcome = (...issue: unknown[]) => ({ resourceType: 'OperationOutcome', issue });

/** What a client is told: the status, and of each issue code, words and expression. */
function told(given: MedplumResponse | UpstreamFailure) {
  const { status, resource, headers } = upstreamProblem(given, config);
  const issues = resource?.resourceType === 'OperationOutcome' ? resource.issue : [];
  const codes = issues.map(({ details, code }) => details?.coding?.[0]?.code ?? code);
  return {
    status,
    headers,
    codes,
    words: issues.map(({ diagnostics, expression = [] }) => [diagnostics, ...expression].join(' ')),
  };
}

test.each<[MedplumResponse | UpstreamFailure, number, string, RegExp]>([
  [{ failure: 'unavailable' }, 503, 'upstream-unavailable', /cannot be reached: try again/],
  [{ failure: 'timeout' }, 504, 'upstream-timeout', /may have been stored: read before you try again/],
  [{ failure: 'broken' }, 503, 'upstream-unavailable', /may have been stored: read before you try again/],
  [answer(500), 503, 'upstream-unavailable', /cannot be reached: try again/],
  [answer(503), 503, 'upstream-unavailable', /cannot be reached: try again/],
  [answer(504), 504, 'upstream-timeout', /may have been stored/],
  [answer(409), 409, 'booking-conflict', /try again/],
  [answer(412), 412, 'version-conflict', /read it again/],
  [answer(412, { ...outcome(), id: 'multiple-matches' }), 412, 'multiple-matches', /matches several/],
  [answer(401), 401, 'login', /bearer token/],
  [answer(403), 403, 'forbidden', /not allowed/],
  [answer(404), 404, 'not-found', /no such resource/],
  [answer(410), 410, 'deleted', /deleted/],
  [answer(418), 400, 'structure', /not valid HTTP/],
  [answer(302), 502, 'transient', /./],
  [answer(399), 502, 'transient', /./],
])('%j becomes %i %s', (given, status, code, words) => {
  const found = told(given);
  expect([found.status, found.codes]).toEqual([status, [code]]);
  expect(found.words[0]).toMatch(words);
});

test('a token that is refused is invalid; who asks too often learns when to come again', () => {
  expect(told(answer(401)).headers).toEqual({ 'www-authenticate': 'Bearer error="invalid_token"' });
  expect(told(answer(429))).toMatchObject({ status: 429, headers: { 'retry-after': '60' } });
  expect(told(answer(429, undefined, { 'retry-after': '7' })).headers).toEqual({ 'retry-after': '7' });
});

const rejected = 'The FHIR server rejected the request.';

test.each<[unknown, string[]]>([
  [outcome({ details: { text: 'Bad.' }, diagnostics: 'Other.', expression: ['Slot.start'] }), ['Bad. Slot.start']],
  [outcome({ diagnostics: 'A.' }, null, { diagnostics: 'B.' }), ['A.', 'B.']],
  [outcome({ details: { text: 1 }, expression: 'x' }), [rejected]],
  [outcome({ expression: [1] }), [rejected]],
  [outcome(), [rejected]],
  [undefined, [rejected]],
])('what Medplum finds malformed is malformed: %j', (body, words) => {
  for (const status of [400, 422]) {
    expect(told(answer(status, body))).toMatchObject({
      status: 400,
      words,
      codes: words.map(() => 'malformed-request'),
    });
  }
});

const addresses = createAddresses(config, ['http://medplum/', 'http://localhost:8103/']);

describe('what is shown of Medplum’s resources', () => {
  const slot = { resourceType: 'Slot', id: 's1' };
  const subscription = { resourceType: 'Subscription', id: 'u1' };
  const channel = { type: 'rest-hook', endpoint: 'https://portal.example' };
  const secret = { ...subscription, channel: { ...channel, header: ['Authorization: secret'] } };
  const bundleOf = (more: object) => ({ resourceType: 'Bundle', type: 'searchset', ...more }) as Bundle;
  const shown = (more: object) => publicBundle(bundleOf(more), 'Slot', addresses, config);

  test('a resource is that of the type that was asked for, and keeps the secrets of its channel', () => {
    expect(publicResource(slot, 'Slot')).toEqual(slot);
    const others: unknown[] = [slot, null, undefined, 'x', {}, { resourceType: 'Bot' }];
    expect(others.map((one) => publicResource(one, 'Patient'))).toEqual(others.map(() => undefined));
    expect(publicResource(secret, 'Subscription')).toEqual({ ...subscription, channel });
    expect(publicResource(subscription, 'Subscription')).toEqual(subscription);
  });

  test('a search result names the addresses of the service, and no types that it does not serve', () => {
    const medplum = 'http://medplum/fhir/R4';
    const link = [
      { relation: 'self', url: `${medplum}/Slot?status=free` },
      { relation: 'next', url: `${medplum}/Slot?_cursor=x`, id: 'y' },
      { relation: 'other', url: `${medplum}/Bot?x` },
      { relation: 'strange', url: 'http://elsewhere.example/Slot' },
      { relation: 'none' },
      { url: `${medplum}/Slot` },
      null,
    ];
    const strange = [{ resource: { resourceType: 'Bot', id: 'b' } }, {}, null, 'x', { resource: 'y' }];
    const entry = [
      { fullUrl: `${medplum}/Slot/s1`, resource: slot, search: { mode: 'match' } },
      ...strange,
      { resource: secret },
    ];
    expect(shown({ total: 1, link, entry })).toEqual({
      ...bundleOf({ total: 1 }),
      link: [
        { relation: 'self', url: `${base}/Slot?status=free` },
        { relation: 'next', url: `${base}/Slot?_cursor=x` },
      ],
      entry: [
        { fullUrl: `${base}/Slot/s1`, resource: slot, search: { mode: 'match' } },
        { fullUrl: `${base}/Subscription/u1`, resource: { ...subscription, channel } },
      ],
    });
    expect([shown({ link: 'x' }), shown({ entry: [] })]).toEqual([bundleOf({ link: [] }), bundleOf({ link: [] })]);
  });
});

describe('addresses of Medplum', () => {
  test.each(
    rows(`
    http://medplum/fhir/R4/Patient/1 ¦ {}/fhir/R4/Patient/1
    http://medplum/fhir/R4 ¦ {}/fhir/R4
    http://medplum/storage/1?key=2 ¦ {}/storage/1?key=2
    http://medplum ¦ {}
    http://127.0.0.1:8103/fhir/R4/Slot/1 ¦ {}/fhir/R4/Slot/1
    http://localhost:8103/ ¦ {}/
    https://medplum.com/docs ¦ https://medplum.com/docs
    http://medplum.com/fhir/R4/Patient/1 ¦ http://medplum.com/fhir/R4/Patient/1
    http://medplum:8103/fhir/R4/Patient/1 ¦ http://medplum:8103/fhir/R4/Patient/1
    http://medplum-test/fhir/R4/Patient/1 ¦ http://medplum-test/fhir/R4/Patient/1
    http://localhost:81030/ ¦ http://localhost:81030/
    http://localhost/ ¦ http://localhost/
    https://medplum/ ¦ https://medplum/
    http://medplum@evil.example/ ¦ http://medplum@evil.example/
    Patient/1 ¦ Patient/1
    see http://medplum/ ¦ see http://medplum/`),
  )('%s is shown as %s', (url = '', shown = '') => {
    expect(addresses.rewriteUrl(url)).toBe(shown.replace('{}', 'https://booking.example.org'));
  });

  test.each([
    ['http://any.example/fhir/R4/Slot?_cursor=x', 'https://booking.example.org/fhir/R4/Slot?_cursor=x'],
    ['/fhir/R4/', 'https://booking.example.org/fhir/R4/'],
    ['http://any.example/fhir/R4', undefined],
    ['http://any.example/storage/1', undefined],
  ])('%s is public as %s', (url, expected) => {
    expect(addresses.publicUrl(url)).toBe(expected);
  });

  test.each([
    [config.baseUrl, '/fhir/R4', 'https://booking.example.org'],
    ['http://localhost:3000', '', 'http://localhost:3000'],
  ])('%s has the path "%s"', (baseUrl, basePath, origin) => {
    expect(createAddresses({ baseUrl }, [])).toMatchObject({ base: baseUrl, basePath, origin });
  });

  test.each(['localhost', '127.0.0.1', '[::1]'])(
    'a Medplum on the same machine is hidden by all its names: %s',
    (name) => {
      const near = createAddresses(config, [`http://${name}/`, 'https://booking.example.org:8103/']);
      for (const one of ['localhost', '127.0.0.1', '[::1]']) {
        expect(near.rewriteUrl(`http://${one}/storage/1#x`)).toBe('https://booking.example.org/storage/1#x');
        expect(near.rewriteUrl(`http://${one}:8103/storage/1`)).toBe(`http://${one}:8103/storage/1`);
      }
      expect(near.rewriteUrl('https://booking.example.org:8103/a')).toBe('https://booking.example.org/a');
    },
  );

  const of = (parts: object) => ({ resourceType: 'Basic' as const, code: {}, ...parts });
  const [hidden, shown] = ['http://medplum/a', 'https://booking.example.org/a'];

  test.each([
    ...['link', 'photo', 'valueAttachment', 'attachment', 'contentAttachment'].map((name) => [name, shown] as const),
    ...['extension', 'endpoint'].map((name) => [name, hidden] as const),
  ])('below %s as url they are shown as %s', (parent, url) => {
    const title = 'http://medplum/';
    expect(addresses.rewriteResource(of({ [parent]: [{ url: hidden, title }] }))).toEqual(
      of({ [parent]: [{ url, title }] }),
    );
  });

  test.each(
    rows(`
    "http://medplum/fhir/R4/X/1" ¦ "{}/fhir/R4/X/1"
    'http://medplum' ¦ '{}'
    <http://medplum/a> ¦ <{}/a>
    http://medplum/a http://medplum/b ¦ {}/a {}/b
    http://[::1]:8103/a ¦ {}/a
    http://medplum.com/?u=http://medplum/a ¦ http://medplum.com/?u={}/a
    http://medplum:80/?u=http://medplum/a ¦ http://medplum:80/?u={}/a
    http://medplum-2/?u=http://medplum/a ¦ http://medplum-2/?u={}/a`),
  )('errors quote none: %s', (diagnostics = '', expected = '') => {
    const said = (text: string) => ({
      resourceType: 'OperationOutcome' as const,
      issue: [{ severity: 'error' as const, code: 'invalid' as const, diagnostics: text }],
    });
    expect(addresses.rewriteResource(said(diagnostics))).toEqual(
      said(expected.replaceAll('{}', 'https://booking.example.org')),
    );
  });

  test('what identifies and what people wrote stays, shared with the original', () => {
    const [first, second] = [{ reference: hidden }, { display: 'x' }];
    const resource = of({ items: [first, second] });
    const rewritten = addresses.rewriteResource(resource);
    expect([Object(rewritten).items[1] === second, rewritten.code === resource.code, first.reference]).toEqual([
      true,
      true,
      hidden,
    ]);
    for (const parts of [
      { extension: [{ url: 'http://medplum/fhir/R4/StructureDefinition/x', valueString: hidden }] },
      { identifier: [{ system: 'http://medplum/ids', value: 'http://medplum/ids/1' }] },
      { text: { status: 'generated', div: '<div>http://medplum/</div>' } },
      { other: { diagnostics: 'See http://medplum/a' } },
    ]) {
      const kept = of(parts);
      expect(addresses.rewriteResource(kept)).toBe(kept);
    }
  });
});
