import { describe, expect, test } from '@jest/globals';
import type { Resource } from '@medplum/fhirtypes';
import { problem, problemOfStatus, refusal } from '../../../gateway/http/errors.ts';
import { ifMatchVersion } from '../../../gateway/http/if-match.ts';
import { type FhirResponse, isAnyResource, preferred, versionHeaders } from '../../../gateway/http/response.ts';
import { config } from '../fake-medplum.ts';

const slot = (meta?: Resource['meta']) => ({ resourceType: 'Slot', id: 's1', ...(meta && { meta }) }) as Resource;

test.each<[Resource['meta'], Record<string, string>]>([
  [
    { versionId: '3', lastUpdated: '2027-01-01T09:00:00.000Z' },
    { etag: 'W/"3"', 'last-modified': 'Fri, 01 Jan 2027 09:00:00 GMT' },
  ],
  [{ versionId: '3' }, { etag: 'W/"3"' }],
  [{ lastUpdated: '2027-01-01T09:00:00.000Z' }, { 'last-modified': 'Fri, 01 Jan 2027 09:00:00 GMT' }],
  [{ versionId: '', lastUpdated: 'soon' }, {}],
  [undefined, {}],
])('the headers of %j', (meta, expected) => {
  expect(versionHeaders(slot(meta))).toEqual(expected);
});

describe('the answer to a write that prefers', () => {
  const answer: FhirResponse = { status: 201, headers: { etag: 'W/"1"' }, resource: slot() };

  test('nothing stays as it is', () => {
    expect(preferred(answer, undefined)).toBe(answer);
  });

  test('minimal has no resource, representation has it', () => {
    expect(preferred(answer, 'minimal')).toEqual({
      status: 201,
      headers: { etag: 'W/"1"', 'preference-applied': 'return=minimal' },
    });
    expect(preferred(answer, 'representation')).toEqual({
      ...answer,
      headers: { etag: 'W/"1"', 'preference-applied': 'return=representation' },
    });
  });

  test.each([
    [200, 'stored'],
    [201, 'created'],
    [202, 'accepted'],
  ])('OperationOutcome says what was done: %i, %s', (status, done) => {
    expect(preferred({ ...answer, status }, 'OperationOutcome')).toEqual({
      status,
      headers: { etag: 'W/"1"', 'preference-applied': 'return=OperationOutcome' },
      resource: {
        resourceType: 'OperationOutcome',
        issue: [{ severity: 'information', code: 'informational', diagnostics: `Slot/s1 was ${done}.` }],
      },
    });
  });

  test.each([300, 409])('changes nothing of %i', (status) => {
    expect(preferred({ ...answer, status }, 'minimal')).toEqual({ ...answer, status });
  });
});

test.each([
  [{ resourceType: 'Slot' }, true],
  [{ resourceType: 1 }, false],
  [{}, false],
  [[], false],
  [null, false],
  ['Slot', false],
])('%j is a resource: %s', (value, expected) => {
  expect(isAnyResource(value)).toBe(expected);
});

describe('refusals of HTTP', () => {
  test.each([
    [400, 'bad-request'],
    [401, 'unauthorized'],
    [404, 'not-found'],
    [412, 'multiple-matches'],
    [418, 'bad-request'],
    [500, 'internal-error'],
    [599, 'internal-error'],
  ])('the status %i stands for %s', (status, expected) => {
    expect(problemOfStatus(status)).toBe(expected);
  });

  test('say what is wrong, by default in their own words', () => {
    const words = 'There is no such resource, or the caller may not see it.';
    const issue = { severity: 'error', code: 'not-found', details: { text: words } };
    expect(problem('not-found')).toEqual({
      status: 404,
      headers: {},
      resource: { resourceType: 'OperationOutcome', issue: [{ ...issue, diagnostics: words }] },
    });
    expect(problem('not-found', 'No.', { allow: 'GET' })).toEqual({
      status: 404,
      headers: { allow: 'GET' },
      resource: { resourceType: 'OperationOutcome', issue: [{ ...issue, diagnostics: 'No.' }] },
    });
  });

  test('without a token say how one is sent', () => {
    expect(problem('unauthorized').headers).toEqual({ 'www-authenticate': 'Bearer' });
    const more = { 'www-authenticate': 'Bearer error="invalid_token"' };
    expect(problem('unauthorized', undefined, more).headers).toEqual(more);
  });

  test('that may pass by say when to come again', () => {
    const refused = (code: 'upstream-unavailable' | 'slot-not-free') => refusal([{ code, diagnostics: 'x' }], config);
    expect([refused('upstream-unavailable').status, refused('upstream-unavailable').headers]).toEqual([
      503,
      { 'retry-after': '5' },
    ]);
    expect([refused('slot-not-free').status, refused('slot-not-free').headers]).toEqual([409, {}]);
  });
});

test.each([
  [undefined, {}],
  ['*', {}],
  [' * ', {}],
  ['W/"3"', { version: '3' }],
  ['"3"', { version: '3' }],
  [' W/"a b" ', { version: 'a b' }],
])('If-Match %j asks for %j', (sent, expected) => {
  expect(ifMatchVersion(sent)).toEqual(expected);
});

test.each(['3', '""', 'W/3', '"3', 'W/"3", W/"4"', 'x"3"', '"3"x', ''])('If-Match %j is malformed', (sent) => {
  expect(ifMatchVersion(sent)).toEqual({
    code: 'malformed-request',
    diagnostics: 'If-Match must have the form W/"version" or "version".',
    expression: 'http.If-Match',
  });
});
