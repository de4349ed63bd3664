import { expect, it } from '@jest/globals';
import { aClient, removeClient } from '../clients.ts';
import { base } from '../installation.ts';

const me = (headers: Record<string, string> = {}) => fetch(`${new URL(base).origin}/auth/me`, { headers });

it('auth/me tells a client who it is, and nothing else', async () => {
  const client = await aClient('Appointment booking: requestor');
  const answer = await me({ authorization: `Bearer ${client.token}` });
  expect([answer.status, await answer.json()]).toEqual([
    200,
    {
      project: { resourceType: 'Project' },
      membership: {
        resourceType: 'ProjectMembership',
        profile: { reference: `ClientApplication/${client.id}` },
      },
      profile: { resourceType: 'ClientApplication', id: client.id },
      config: { resourceType: 'UserConfiguration' },
    },
  ]);
  await removeClient(client);
  expect((await me()).status).toBe(401);
  expect((await me({ authorization: 'Bearer made-up' })).status).toBe(401);
});
