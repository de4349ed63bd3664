import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { simultaneously } from '../fixtures.ts';
import { isActionable, issuesOf, medplum, request } from '../http.ts';
import { aBooking, cancellation, patch, read } from './fixtures.ts';

describe('PATCH of an appointment', () => {
  it("unknown, and another requestor's: 404", async () => {
    const { id, booked } = await aBooking();
    for (const answer of [await patch(randomUUID(), cancellation), await patch(id, cancellation, 'portal-b')]) {
      expect(answer.status).toBe(404);
      expect(isActionable(answer)).toBe(true);
    }
    expect(await read(id)).toEqual(booked);
  });

  it('deleted: 410', async () => {
    const { id } = await aBooking();
    expect((await patch(id, cancellation)).status).toBe(200);
    expect((await medplum('front-desk', 'DELETE', `/Appointment/${id}`)).status).toBe(200);
    expect((await patch(id, cancellation)).status).toBe(410);
  });

  it('without a token: 401', async () => {
    const { id, booked } = await aBooking();
    expect((await patch(id, cancellation, 'nobody')).status).toBe(401);
    expect(await read(id)).toEqual(booked);
  });

  it('If-Match with the current version: 200', async () => {
    const { id, booked } = await aBooking();
    const current = `W/"${booked.meta?.versionId}"`;
    expect((await patch(id, cancellation, 'portal-a', { 'if-match': current })).status).toBe(200);
  });

  it.each<[string, string, number, string]>([
    ['another version', 'W/"1"', 412, 'version-conflict'],
    ['an unquoted one', '1', 400, 'malformed-request http.If-Match'],
  ])('If-Match with %s: refused, nothing changed', async (_, ifMatch, status, issue) => {
    const { id, booked } = await aBooking();
    const answer = await patch(id, cancellation, 'portal-a', { 'if-match': ifMatch });
    expect([answer.status, ...issuesOf(answer)]).toEqual([status, issue]);
    expect(await read(id)).toEqual(booked);
  });

  it('of ten with the same If-Match at once one succeeds', async () => {
    const { id, booked } = await aBooking();
    const headers = { 'if-match': `W/"${booked.meta?.versionId}"` };
    const add = (text: string) => [{ op: 'add', path: '/comment', value: text }];
    const answers = await simultaneously(10, (index) => patch(id, add(`comment ${index}`), 'portal-a', headers));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)]);
  });

  it('without If-Match ten changes at once all come to be', async () => {
    const { id } = await aBooking({ reasonCode: [{ text: 'start' }] });
    const add = (text: string) => [{ op: 'add', path: '/reasonCode/-', value: { text } }];
    const answers = await simultaneously(4, (index) => patch(id, add(`reason ${index}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect((await read(id)).reasonCode).toHaveLength(5);
  });

  it('PUT and DELETE: 405', async () => {
    const { id, booked } = await aBooking();
    for (const [method, body] of [
      ['PUT', booked],
      ['DELETE', undefined],
    ] as const) {
      const answer = await request('portal-a', method, `/Appointment/${id}`, { body });
      expect(answer.status).toBe(405);
      expect(answer.headers.get('allow')).toContain('PATCH');
    }
    expect(await read(id)).toEqual(booked);
  });

  it.each<[string, (answer: Awaited<ReturnType<typeof patch>>) => void]>([
    ['minimal', ({ text }) => expect(text).toBe('')],
    ['representation', ({ body }) => expect(body).toMatchObject({ resourceType: 'Appointment', status: 'cancelled' })],
    ['OperationOutcome', ({ body }) => expect(body).toMatchObject({ resourceType: 'OperationOutcome' })],
  ])('Prefer: return=%s', async (preference, check) => {
    const { id } = await aBooking();
    const answer = await patch(id, cancellation, 'portal-a', { prefer: `return=${preference}` });
    expect([answer.status, answer.headers.get('preference-applied')]).toEqual([200, `return=${preference}`]);
    check(answer);
  });

  it('the CapabilityStatement says so', async () => {
    const { body } = await request('nobody', 'GET', '/metadata');
    expect(JSON.stringify(body)).toMatch(
      /"type":"Appointment"[^[]*"supportedProfile":[^\]]*\],"interaction":\[[^\]]*"patch"/,
    );
    expect(body).toMatchObject({ patchFormat: expect.arrayContaining(['application/json-patch+json']) });
  });
});
