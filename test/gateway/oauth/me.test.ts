import { expect, test } from '@jest/globals';
import { bearer, withGateway } from '../fake-medplum.ts';

const { inject } = withGateway();

test('a client finds out who it is, and nothing that Medplum says besides', async () => {
  const answer = await inject({ url: '/auth/me', headers: bearer });
  expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store']);
  expect(answer.json()).toEqual({
    project: { resourceType: 'Project' },
    membership: { resourceType: 'ProjectMembership', profile: { reference: 'ClientApplication/portal-a-id' } },
    profile: { resourceType: 'ClientApplication', id: 'portal-a-id' },
    config: { resourceType: 'UserConfiguration' },
  });
});

test('a stranger is refused', async () => {
  const answer = await inject('/auth/me');
  expect([answer.statusCode, answer.headers['content-type'], answer.json().resourceType]).toEqual([
    401,
    'application/fhir+json; charset=utf-8',
    'OperationOutcome',
  ]);
});
