import { expect, it } from '@jest/globals';
import { issuesOf, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { submit, toWebsocket } from './fixtures.ts';
import './stand-ins.ts';

it('one subscriber has only so many Subscriptions: 422, until one is ended', async () => {
  const { maxSubscriptions } = config.notifications;
  const ids: string[] = [];
  for (let count = 0; count < maxSubscriptions; count++) {
    ids.push(resourceIn('Subscription', await submit(toWebsocket())).id ?? '');
  }
  const refused = await submit(toWebsocket());
  expect([refused.status, issuesOf(refused)]).toEqual([422, ['subscriptions-exceeded']]);
  const [first] = ids;
  const ended = resourceIn('Subscription', await request('portal-a', 'GET', `/Subscription/${first}`));
  const put = (body: object) => request('portal-a', 'PUT', `/Subscription/${first}`, { body });
  expect((await put({ ...ended, status: 'off' })).status).toBe(200);
  expect((await submit(toWebsocket())).status).toBe(201);
  const again = await put({ ...ended, status: 'requested' });
  expect([again.status, issuesOf(again)]).toEqual([422, ['subscriptions-exceeded']]);
});
