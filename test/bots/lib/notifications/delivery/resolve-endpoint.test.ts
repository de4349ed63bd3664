import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { resolveEndpoint } from '../../../../../bots/lib/notifications/delivery/resolve-endpoint.ts';
import { withNameServer } from './name-server.ts';

const server = withNameServer();

/** Resolves the host of an endpoint; gives its addresses, or why there are none. */
const resolve = (url: string, { limit = 5_000, allowed = [] as string[], resolver = server.resolver() } = {}) =>
  resolveEndpoint(new URL(url), limit, allowed, resolver);

const portal = 'https://portal.example/';
const unknown = {
  problem: 'The name portal.example cannot be resolved, or no name server answered in time.',
  isUnknown: true,
};
const [v4, v6] = [
  { address: '8.8.8.8', family: 4 },
  { address: '2001:4860:4860::8888', family: 6 },
];
const records = { A: [[8, 8, 8, 8]], AAAA: [[0x20, 1, 0x48, 0x60, 0x48, 0x60, 0, 0, 0, 0, 0, 0, 0, 0, 0x88, 0x88]] };

describe('an address', () => {
  it('needs no name server', async () => {
    expect(await resolve('https://8.8.8.8/')).toEqual({ addresses: [v4] });
    expect(await resolve('https://[2001:4860:4860::8888]/')).toEqual({ addresses: [v6] });
  });

  it('must be in a network to which notifications are sent', async () => {
    const problem = '10.1.2.3 is in a network to which no notifications are sent.';
    expect(await resolve('http://10.1.2.3/')).toEqual({ problem, isUnknown: false });
    expect(await resolve('http://10.1.2.3/', { allowed: ['10.0.0.0/8'] })).toEqual({
      addresses: [{ address: '10.1.2.3', family: 4 }],
    });
  });
});

describe('a name', () => {
  const loopback = [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ];

  it('of this machine needs no name server', async () => {
    expect(await resolve('http://localhost/', { allowed: ['127.0.0.0/8', '::1/128'] })).toEqual({
      addresses: loopback,
    });
  });

  const [address = '', name = ''] =
    readFileSync('/etc/hosts', 'utf8')
      .split('\n')
      .map((line) => line.replace(/#.*/, '').trim().split(/\s+/))
      .find(([one, other]) => one?.startsWith('1') && other && !other.includes('localhost')) ?? [];
  (name ? it : it.skip)('that the machine knows needs no name server', async () => {
    const addresses = expect.arrayContaining([{ address, family: 4 }]);
    expect(await resolve(`http://${name}/`, { allowed: ['0.0.0.0/0', '::/0'] })).toEqual({ addresses });
  });

  it('has addresses of both kinds', async () => {
    server.answer = (type) => ({ addresses: records[type] });
    expect(await resolve(portal)).toEqual({ addresses: [v4, v6] });
  });

  it.each<['A' | 'AAAA', object]>([
    ['A', v4],
    ['AAAA', v6],
  ])('may have addresses of one kind: %s', async (kind, address) => {
    server.answer = (type) => ({ addresses: type === kind ? records[type] : [] });
    expect(await resolve(portal)).toEqual({ addresses: [address] });
  });

  it('must have no address to which no notifications are sent', async () => {
    server.answer = (type) => ({ addresses: type === 'A' ? [...records.A, [192, 168, 0, 1]] : [] });
    const problem = 'portal.example is in a network to which no notifications are sent.';
    expect(await resolve(portal)).toEqual({ problem, isUnknown: false });
  });

  it('without an address is unknown', async () => {
    server.answer = () => ({ addresses: [] });
    expect(await resolve(portal)).toEqual(unknown);
  });

  it('is asked for no longer than there is time', async () => {
    server.answer = (type) => ({ addresses: records[type], after: 700 });
    expect(await resolve(portal, { limit: 200 })).toEqual(unknown);
    expect(await resolve(portal, { limit: 4_000 })).toEqual({ addresses: [v4, v6] });
  });

  it('that was found in time does not disturb the next one', async () => {
    const resolver = server.resolver();
    server.answer = (type) => ({ addresses: records[type] });
    expect(await resolve(portal, { limit: 300, resolver })).toEqual({ addresses: [v4, v6] });
    server.answer = (type) => ({ addresses: records[type], after: 500 });
    expect(await resolve('https://other.example/', { resolver })).toEqual({ addresses: [v4, v6] });
  });

  it('of which a name server says nothing is given up and delays nobody', async () => {
    const all = await Promise.all(Array.from({ length: 30 }, () => resolve(portal, { limit: 100 })));
    expect(all).toEqual(all.map(() => unknown));
  });
});
