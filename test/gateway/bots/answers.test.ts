import { describe, expect, test } from '@jest/globals';
import type { OperationOutcome } from '@medplum/fhirtypes';
import { bookingErrors } from '../../../core/fhir/outcome/errors.ts';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { bookingResponse } from '../../../gateway/bots/booking-response.ts';
import { ownRefusal, refusedByBot } from '../../../gateway/bots/error-response.ts';
import type { GatewayContext } from '../../../gateway/context.ts';
import type { MedplumResponse, UpstreamFailure } from '../../../gateway/medplum/client.ts';
import { base, config } from '../fake-medplum.ts';

const appointment = (status: string) => ({
  resourceType: 'Appointment',
  id: 'a1',
  status,
  meta: { versionId: '7', lastUpdated: '2027-01-01T09:00:00.000Z' },
});

describe('the answer to $book', () => {
  test.each([
    ['booked', 201],
    ['pending', 202],
  ])('%s: %i with Location, ETag and Last-Modified', (status, expected) => {
    expect(bookingResponse(appointment(status), config)).toMatchObject({
      status: expected,
      headers: {
        location: `${base}/Appointment/a1`,
        etag: 'W/"7"',
        'last-modified': 'Fri, 01 Jan 2027 09:00:00 GMT',
      },
    });
  });

  test.each(Object.entries(bookingErrors))('the error %s keeps its status', (code, { status }) => {
    const outcome = toOperationOutcome([{ code: code as keyof typeof bookingErrors, diagnostics: 'x' }], config);
    const headers = status === 429 && { headers: { 'retry-after': '10' } };
    expect(bookingResponse(outcome, config)).toEqual({ status, ...headers, resource: outcome });
  });

  test.each([
    ['nothing', undefined],
    ['another resource', { resourceType: 'Patient', id: 'p' }],
    ['an appointment without id', { resourceType: 'Appointment', status: 'booked' }],
    ["an outcome without the service's codes", { resourceType: 'OperationOutcome', issue: [{ code: 'exception' }] }],
    ['an outcome without issues', { resourceType: 'OperationOutcome', issue: [] }],
  ])('%s is no answer', (_name, body) => {
    expect(bookingResponse(body, config)).toBeUndefined();
  });
});

const context = { config } as GatewayContext;
const outcome = (...issue: object[]) => ({ resourceType: 'OperationOutcome', issue }) as OperationOutcome;
const ours = toOperationOutcome([{ code: 'slot-not-free', diagnostics: 'Taken.' }], config);
const answer = (status: number, body?: unknown): MedplumResponse => ({ status, headers: {}, body });

const said = (given: MedplumResponse | UpstreamFailure) => {
  const { status, resource } = refusedByBot(given, context);
  const [issue] = resource?.resourceType === 'OperationOutcome' ? resource.issue : [];
  return [status, issue?.code, issue?.diagnostics];
};

describe('a refusal of the service', () => {
  test('has the status of its gravest issue, whatever status Medplum gave it', () => {
    expect(refusedByBot(answer(200, ours), context)).toEqual({ status: 409, resource: ours });
    expect(refusedByBot(answer(400, ours), context)).toEqual({ status: 409, resource: ours });
  });

  test('that is soon over says when', () => {
    const tooMany = toOperationOutcome([{ code: 'too-many-bookings', diagnostics: 'x' }], config);
    expect(ownRefusal(tooMany, config)).toMatchObject({ status: 429, headers: { 'retry-after': '10' } });
  });

  test.each([
    ['no issue', outcome()],
    ['a code of another system', outcome({ details: { coding: [{ system: 'urn:x', code: 'slot-not-free' }] } })],
    [
      'a code that is unknown',
      outcome({ details: { coding: [{ ...ours.issue[0]?.details?.coding?.[0], code: 'toString' }] } }),
    ],
    ['an issue of its own and one of another', outcome(...ours.issue, { code: 'exception' })],
    ['no list', { resourceType: 'OperationOutcome', issue: 'x' }],
    ['another resource', { resourceType: 'Appointment', issue: ours.issue }],
    ['nothing', undefined],
  ])('is not one with %s', (_name, body) => {
    expect(ownRefusal(body, config)).toBeUndefined();
  });
});

describe('where there is nothing for the caller', () => {
  test.each([
    ['not-found', 404],
    ['deleted', 410],
    ['forbidden', 403],
  ])('the Bot says so: %s is %i, in its words', (code, status) => {
    expect(said(answer(200, outcome({ code, diagnostics: 'In its words.' })))).toEqual([status, code, 'In its words.']);
  });

  test('what has no words is Medplum’s own: the caller may not call the Bot', () => {
    expect(said(answer(404, outcome({ code: 'not-found' })))[0]).toBe(403);
    expect(said(answer(403))[0]).toBe(403);
  });
});

describe('a Bot that did not answer', () => {
  test.each<[MedplumResponse | UpstreamFailure, number, string]>([
    [{ failure: 'unavailable' }, 503, 'did not answer. It may'],
    [{ failure: 'timeout' }, 504, 'did not answer in time. It may'],
    [{ failure: 'broken' }, 503, 'gave an invalid response. It may'],
    [answer(504), 504, 'did not answer in time. It may'],
    [answer(400, outcome({ code: 'exception' })), 503, 'gave an invalid response. It may'],
    [answer(500), 503, 'gave an invalid response. It may'],
    [answer(200, { resourceType: 'Patient' }), 503, 'gave an invalid response. It may'],
  ])('%j: %i, and the caller learns what to do', (given, status, words) => {
    const [found, , diagnostics] = said(given);
    expect([found, diagnostics]).toEqual([status, expect.stringContaining(words)]);
    expect(diagnostics).toContain('send it again with the same Appointment.identifier, or read first.');
  });

  test.each([
    ['unavailable', 503],
    ['timeout', 504],
  ] as const)('because it was never asked has changed nothing: %s', (failure, expected) => {
    const [status, , diagnostics] = said({ failure, isUnsent: true });
    expect([status, diagnostics]).toEqual([expected, expect.stringContaining('Nothing was changed: try again.')]);
  });

  test.each([
    [401, 401],
    [429, 429],
    [302, 502],
  ])('Medplum said %i: %i', (status, expected) => {
    expect(said(answer(status))[0]).toBe(expected);
  });
});
