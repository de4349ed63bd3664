import { expect, it } from '@jest/globals';
import { request } from '../http.ts';

it.each([
  ['GET', '/Bot'],
  ['GET', '/Project'],
  ['GET', '/ProjectMembership'],
  ['GET', '/AccessPolicy'],
  ['GET', '/ClientApplication'],
  ['GET', '/Task'],
  ['GET', '/AuditEvent'],
  ['GET', '/Binary/1'],
  ['POST', '/Bot/$execute'],
  ['POST', '/$graphql'],
  ['GET', '/Patient/$export'],
  ['GET', '/Slot/..%2fBot'],
  ['GET', '/Slot/%2e%2e/Bot'],
  ['GET', '//Bot'],
  ['GET', '/../../admin/projects'],
])('%s %s is 404, also for the administrator', async (method, path) => {
  const answer = await request('admin', method, path, method === 'GET' ? {} : { body: { resourceType: 'Bundle' } });
  expect(answer.status).toBe(404);
});

it.each([
  '/Patient?_include=Patient:link',
  '/Appointment?_revinclude=Task:focus',
  '/Patient?_has:AuditEvent:patient:action=R',
])('no search leads to another type: %s', async (path) => {
  const answer = await request('admin', 'GET', path);
  expect([200, 400]).toContain(answer.status);
  expect(answer.text).not.toMatch(/"resourceType":"(Task|AuditEvent|Bot)"/);
});
