import { describe, expect, test } from '@jest/globals';
import type { UpstreamAnswer, UpstreamFailure } from '../../../gateway/medplum/client.ts';
import { isOutcome, isSuccess, upstreamProblem } from '../../../gateway/medplum/errors.ts';
import { config } from '../fake-medplum.ts';

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

test.each([
  [{ failure: 'timeout' } as const, false],
  [answer(199), false],
  [answer(200), true],
  [answer(299), true],
  [answer(300), false],
])('%j is a success: %s', (given, expected) => {
  expect(isSuccess(given)).toBe(expected);
});

test.each([
  [outcome(), true],
  [{ resourceType: 'OperationOutcome' }, false],
  [{ ...outcome(), resourceType: 'Bundle' }, false],
  [null, false],
])('%j is an outcome: %s', (value, expected) => {
  expect(isOutcome(value)).toBe(expected);
});
