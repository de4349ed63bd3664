import { expect, it } from '@jest/globals';
import { isActionable, request } from '../http.ts';

const nested = `${'{"extension":['.repeat(200)}${']}'.repeat(200)}`;

it.each<[number, string, string, string, object]>([
  [404, 'an unknown route', 'GET', '/Nonsense', {}],
  [404, 'a resource that does not exist', 'GET', '/Slot/00000000-0000-4000-8000-000000000000', {}],
  [400, 'no JSON', 'POST', '/Appointment/$book', { body: '{"resourceType":' }],
  [400, 'JSON nested too deeply', 'POST', '/Appointment/$book', { body: nested }],
  [400, 'no body', 'POST', '/Appointment/$book', {}],
  [405, 'PUT on Appointment', 'PUT', '/Appointment/1', { body: {} }],
  [405, 'DELETE on Appointment', 'DELETE', '/Appointment/1', {}],
  [405, 'POST on Slot', 'POST', '/Slot', { body: {} }],
  [406, 'an answer in CSV', 'GET', '/Slot', { headers: { accept: 'text/csv' } }],
  [
    413,
    'a body over 1 MB',
    'POST',
    '/Appointment/$book',
    { body: JSON.stringify({ comment: 'x'.repeat(1024 * 1024) }) },
  ],
  [415, 'a body of text', 'POST', '/Patient', { body: 'hello', headers: { 'content-type': 'text/plain' } }],
])('%i, %s, is an OperationOutcome', async (status, _, method, path, options) => {
  const answer = await request('portal-a', method, path, options);
  expect(answer.status).toBe(status);
  expect(isActionable(answer)).toBe(true);
  expect(answer.text).not.toMatch(/\bat \S+ \(|node_modules|portal-a|127\.0\.0\.1/);
});

it('405 names the methods that are allowed', async () => {
  const answer = await request('portal-a', 'DELETE', '/Patient/1');
  expect(answer.status).toBe(405);
  expect(answer.headers.get('allow')?.split(/, */)).toEqual(expect.arrayContaining(['GET', 'PUT']));
});
