import { expect, it } from '@jest/globals';
import { until } from '../../lib/until.ts';
import { issuesOf, request, resourceIn } from '../http.ts';
import { config } from '../installation.ts';
import { submit, toWebsocket } from './fixtures.ts';
import './stand-ins.ts';

/** Submits a Subscription; one that collides with a handshake of the same subscriber is told to try again. */
const added = () =>
  until(
    () => submit(toWebsocket()),
    ({ status }) => status !== 412,
  );

it('one subscriber has only so many Subscriptions: 422, until one is ended', async () => {
  const { maxSubscriptions } = config.notifications;
  const ids: string[] = [];
  for (let count = 0; count < maxSubscriptions; count++) {
    ids.push(resourceIn('Subscription', await added()).id ?? '');
  }
  const refused = await added();
  expect([refused.status, issuesOf(refused)]).toEqual([422, ['subscriptions-exceeded']]);
  const [first] = ids;
  const ended = resourceIn('Subscription', await request('portal-a', 'GET', `/Subscription/${first}`));
  const put = (body: object) => request('portal-a', 'PUT', `/Subscription/${first}`, { body });
  expect((await put({ ...ended, status: 'off' })).status).toBe(200);
  expect((await added()).status).toBe(201);
  const again = await put({ ...ended, status: 'requested' });
  expect([again.status, issuesOf(again)]).toEqual([422, ['subscriptions-exceeded']]);
});
