import { expect, it } from '@jest/globals';
import { succeeded } from '../fixtures.ts';
import { submit, subscribed, subscription, turnsTo } from './fixtures.ts';
import { focusIn, listen, numbersIn, parameterIn, typeOf } from './listener.ts';
import './stand-ins.ts';

it('a handshake is sent; answered 2xx, the Subscription is active', async () => {
  const listener = await listen(202);
  const { id } = await subscribed(listener);
  expect(listener.received.map(({ bundle }) => typeOf(bundle))).toEqual(['handshake']);
  const bundle = listener.received[0]?.bundle ?? { resourceType: 'Bundle', type: 'history' };
  expect([numbersIn(bundle), focusIn(bundle)]).toEqual([[], []]);
  expect(parameterIn(bundle, 'status')?.valueCode).toBe('requested');
  expect(parameterIn(bundle, 'events-since-subscription-start')?.valueString).toBe('0');
  expect(parameterIn(bundle, 'subscription')?.valueReference?.reference).toMatch(new RegExp(`Subscription/${id}$`));
  await listener.close();
});

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
