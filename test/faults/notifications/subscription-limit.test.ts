import { beforeAll, expect, it } from '@jest/globals';
import type { Installation } from '../../lib/installation.ts';
import { prepareInstallation } from '../installation.ts';

const LIMIT = 5;

let installation: Installation;
let contract: typeof import('../../contract/fixtures.ts');
let http: typeof import('../../contract/http.ts');
let fixtures: typeof import('../../contract/notifications/fixtures.ts');

beforeAll(async () => {
  installation = await prepareInstallation({}, { notifications: { maxSubscriptions: LIMIT } });
  [contract, http, fixtures] = await Promise.all([
    import('../../contract/fixtures.ts'),
    import('../../contract/http.ts'),
    import('../../contract/notifications/fixtures.ts'),
  ]);
  await installation.start();
});

const open = async () =>
  http.resourceIn('Bundle', await http.request('portal-a', 'GET', '/Subscription?status=requested,active')).entry ?? [];

it('30 simultaneous Subscriptions at a limit of 5: five are created, the others refused', async () => {
  const responses = await contract.simultaneously(30, () => fixtures.submit(fixtures.toWebsocket()));
  const refused = responses.filter(({ status }) => status === 422);
  expect([responses.filter(({ status }) => status === 201).length, refused.length]).toEqual([LIMIT, 30 - LIMIT]);
  expect(new Set(refused.flatMap(http.issuesOf))).toEqual(new Set(['subscriptions-exceeded']));
  expect(await open()).toHaveLength(LIMIT);
});

it('those that are over, all started anew at the same moment: no more than one takes the place that is free', async () => {
  const ids = (await open()).map(({ resource }) => resource?.id);
  const put = async (id: string | undefined, status: 'off' | 'requested') => {
    const stored = http.resourceIn('Subscription', await http.request('portal-a', 'GET', `/Subscription/${id}`));
    return http.request('portal-a', 'PUT', `/Subscription/${id}`, { body: { ...stored, status } });
  };
  const [first, second] = ids;
  for (const id of [first, second]) {
    expect((await put(id, 'off')).status).toBe(200);
  }
  expect((await fixtures.submit(fixtures.toWebsocket())).status).toBe(201);
  const answers = await Promise.all([put(first, 'requested'), put(second, 'requested')]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 422]);
  expect(await open()).toHaveLength(LIMIT);
});
