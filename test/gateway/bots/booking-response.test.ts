import { describe, expect, test } from '@jest/globals';
import { wouldBeCarriedOut } from '../../../core/booking/book/answer.ts';
import { bookingErrors } from '../../../core/fhir/outcome/errors.ts';
import { toOperationOutcome } from '../../../core/fhir/outcome/outcome.ts';
import { bookingResponse } from '../../../gateway/bots/booking-response.ts';
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

  const answered = (isExisting: boolean, status = 'booked') => ({
    resourceType: 'Parameters',
    parameter: [
      { name: 'return', resource: appointment(status) },
      { name: 'existing', valueBoolean: isExisting },
    ],
  });

  test('the Bot says whether the appointment is new: 201, or 200 and 202 for an existing one', () => {
    expect(bookingResponse(answered(false), config)).toMatchObject({ status: 201, resource: appointment('booked') });
    expect(bookingResponse(answered(true), config)).toMatchObject({ status: 200, resource: appointment('booked') });
    expect(bookingResponse(answered(true, 'pending'), config)).toMatchObject({ status: 202 });
  });

  test('of a dry run is that nothing was written: 200, without a resource that could be read', () => {
    const { id: _, ...resource } = wouldBeCarriedOut;
    const answer = { resourceType: 'Parameters', parameter: [{ name: 'dry-run', resource: wouldBeCarriedOut }] };
    expect(bookingResponse(answer, config)).toEqual({ status: 200, resource });
  });

  test('no tag of an appointment makes it an existing one', () => {
    const tag = [{ system: `${config.profileBase}/CodeSystem/LocalBookingAnswer`, code: 'existing' }];
    const resource = { ...appointment('booked'), meta: { versionId: '7', tag } };
    expect(bookingResponse(resource, config)).toMatchObject({ status: 201, resource });
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
