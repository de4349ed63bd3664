import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { resolveEndpoint } from '../../../bots/lib/notifications/delivery/resolve-endpoint.ts';

/** A name server that never answers. */
let silent: Socket;
let asked = 0;

beforeAll(async () => {
  silent = createSocket('udp4', () => {
    asked += 1;
  });
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve));
});
afterAll(() => void silent.close());

function resolver(): Resolver {
  const one = new Resolver({ timeout: 60_000, tries: 1 });
  one.setServers([`127.0.0.1:${silent.address().port}`]);
  return one;
}

it('a name server that does not answer is given up and delays nobody', async () => {
  const url = new URL('https://portal.example/');
  const destinations = await Promise.all(Array.from({ length: 30 }, () => resolveEndpoint(url, 100, [], resolver())));
  expect(asked).toBeGreaterThan(0);
  expect(destinations).toEqual(
    destinations.map(() => ({ problem: expect.stringContaining('portal.example'), isUnknown: true })),
  );
});

it('an address needs no name server', async () => {
  expect(await resolveEndpoint(new URL('https://8.8.8.8/'), 100, [], resolver())).toEqual({
    addresses: [{ address: '8.8.8.8', family: 4 }],
  });
});
