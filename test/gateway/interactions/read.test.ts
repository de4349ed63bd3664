import { beforeEach, describe, expect, test } from '@jest/globals';
import { base, bearer, withGateway } from '../fake-medplum.ts';

const { fake, inject } = withGateway();

const appointment = {
  resourceType: 'Appointment',
  id: 'a1',
  meta: { versionId: 'v3', lastUpdated: '2027-01-01T09:00:00.000Z' },
};
const read = (headers = {}) => inject({ url: '/fhir/R4/Appointment/a1', headers: { ...bearer, ...headers } });

describe('read', () => {
  beforeEach(() => {
    fake.answer = () => ({ body: appointment });
  });

  test('200 with ETag and Last-Modified', async () => {
    const answer = await read();
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      etag: 'W/"v3"',
      'last-modified': 'Fri, 01 Jan 2027 09:00:00 GMT',
      'cache-control': 'no-store',
    });
    expect(answer.json()).toEqual(appointment);
  });

  test('If-None-Match with the current version: 304 without a body', async () => {
    const answer = await read({ 'if-none-match': 'W/"v2", W/"v3"' });
    expect([answer.statusCode, answer.body]).toEqual([304, '']);
    expect([answer.headers.etag, answer.headers['content-type']]).toEqual(['W/"v3"', undefined]);
  });

  test.each([
    ['*', 304],
    ['W/"v2" , * ', 304],
    ['W/"v2"', 200],
    ['"v3"', 200],
    ['', 200],
  ])('If-None-Match %j: %i', async (sent, status) => {
    expect((await read({ 'if-none-match': sent })).statusCode).toBe(status);
  });

  test('of a resource without a version the client knows none', async () => {
    fake.answer = () => ({ body: { resourceType: 'Appointment', id: 'a1' } });
    const answer = await read({ 'if-none-match': '*' });
    expect([answer.statusCode, answer.headers.etag]).toEqual([200, undefined]);
  });

  test('of no id is 404, and Medplum is not asked', async () => {
    fake.received.length = 0;
    expect((await inject({ url: '/fhir/R4/Slot/s_1', headers: bearer })).statusCode).toBe(404);
    expect(fake.received).toEqual([]);
  });

  test('_pretty', async () => {
    const answer = await inject({ url: '/fhir/R4/Appointment/a1?_pretty=true', headers: bearer });
    expect(answer.body).toContain('\n  "id": "a1"');
  });

  test.each([
    [403, 403, 'forbidden'],
    [404, 404, 'not-found'],
    [410, 410, 'deleted'],
    [429, 429, 'throttled'],
    [500, 503, 'transient'],
    [502, 503, 'transient'],
    [504, 504, 'timeout'],
    [302, 502, 'transient'],
  ])('Medplum says %i: %i', async (said, expected, code) => {
    const text = `secret at ${fake.url}`;
    fake.answer = () => ({ status: said, body: { resourceType: 'OperationOutcome', issue: [{ details: { text } }] } });
    const answer = await read();
    expect(answer.statusCode).toBe(expected);
    expect(answer.json().issue[0].code).toBe(code);
    expect(answer.body).not.toContain('secret');
  });

  test('another resource than was asked for never passes', async () => {
    fake.answer = () => ({ body: { resourceType: 'Bot', id: 'a1' } });
    expect((await read()).statusCode).toBe(502);
  });

  test('references to Medplum lead to the service; what people wrote stays', async () => {
    const slot = [{ reference: `${fake.url}/fhir/R4/Slot/1` }];
    const comment = `See ${fake.url}.de/x`;
    fake.answer = () => ({ body: { ...appointment, slot, comment } });
    expect((await read()).json()).toMatchObject({ slot: [{ reference: `${base}/Slot/1` }], comment });
  });
});
