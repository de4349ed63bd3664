import { expect, it } from '@jest/globals';
import { succeeded } from '../fixtures.ts';
import { submit, subscription, turnsTo } from './fixtures.ts';
import { listen } from './listener.ts';
import './stand-ins.ts';

it.each([302, 400, 404, 500])('answered %i, it is in error, with the reason', async (status) => {
  const listener = await listen((response) =>
    response.writeHead(status, { location: `${listener.url}/elsewhere` }).end(),
  );
  const { id } = succeeded('Subscription', await submit(subscription(listener)));
  const { error } = await turnsTo('error', id);
  expect(error).toContain(String(status));
  expect(listener.received.map(({ path }) => path)).toEqual(['/notifications']);
  await listener.close();
});

it('nobody answers: error, with the reason', async () => {
  const listener = await listen();
  await listener.close();
  const { id } = succeeded('Subscription', await submit(subscription(listener)));
  expect((await turnsTo('error', id)).error).toContain('ECONNREFUSED');
});

it('no answer in the time that the Subscription gives: error', async () => {
  const listener = await listen(() => undefined);
  const { id, status } = succeeded('Subscription', await submit(subscription(listener, { timeout: 1 })));
  expect(status).toBe('requested');
  expect((await turnsTo('error', id)).error).toContain('1 s');
  await listener.close();
});
