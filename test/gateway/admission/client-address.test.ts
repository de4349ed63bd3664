import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { clientAddress, trustedProxies } from '../../../gateway/admission/client-address.ts';
import { addressGroup, addressNetwork } from '../../../packages/web/address-group.ts';
import { proxiesFrom } from '../../../scripts/gateway/settings.ts';
import { gatewayTo } from '../fake-medplum.ts';

describe('limits count an address', () => {
  test.each([
    ['192.0.2.1', '192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64', '2001:db8:1::/48'],
    ['::1', '0:0:0:0::/64', '0:0:0::/48'],
    ['unknown', 'unknown', 'unknown'],
  ])('%s as %s, and of %s', (address, group, network) => {
    expect([addressGroup(address), addressNetwork(address)]).toEqual([group, network]);
  });

  test('a network of IPv6 has some shares, not one for each of its 65,536 parts', async () => {
    const app = gatewayTo({ url: 'http://127.0.0.1:1' }, {}, { trustProxy: proxiesFrom({ TRUST_PROXY: '1' }) });
    const statuses: number[] = [];
    for (let part = 0; part < 12; part++) {
      for (let count = 0; count < 100; count++) {
        const headers = { authorization: `Bearer x${part}.${count}`, 'x-forwarded-for': `2001:db8:1:${part}::1` };
        statuses.push((await app.inject({ url: '/fhir/R4/Slot', headers })).statusCode);
      }
    }
    expect(statuses.indexOf(429)).toBe(8 * 120);
  });
});

describe('X-Forwarded-For is believed', () => {
  test.each([
    ['from nobody by default', '', '127.0.0.1'],
    ['from one proxy', '1', '10.0.0.2'],
    ['from one proxy, once written true', 'true', '10.0.0.2'],
    ['from two proxies', '2', '203.0.113.9'],
    ['from proxies of a network', '127.0.0.0/8, 10.0.0.0/8', '203.0.113.9'],
    ['from no other network', '192.0.2.0/24', '127.0.0.1'],
  ])('%s', async (_, setting, expected) => {
    const app = gatewayTo({ url: 'http://127.0.0.1:1' }, {}, { trustProxy: proxiesFrom({ TRUST_PROXY: setting }) });
    const seen: string[] = [];
    app.addHook('onRequest', async ({ ip }) => void seen.push(ip));
    await app.inject({ url: '/healthz', headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.9, 10.0.0.2' } });
    expect(seen).toEqual([expected]);
  });
});

describe('a websocket comes from', () => {
  const from = (remoteAddress: string | undefined, proxies: number | string[]) => {
    const headers = { 'x-forwarded-for': '198.51.100.1, 203.0.113.9' };
    return clientAddress({ socket: { remoteAddress }, headers } as unknown as IncomingMessage, trustedProxies(proxies));
  };

  test.each<[string | undefined, number | string[], string]>([
    ['10.0.0.2', 0, '10.0.0.2'],
    ['10.0.0.2', 1, '203.0.113.9'],
    ['10.0.0.2', 2, '198.51.100.1'],
    ['10.0.0.2', ['10.0.0.0/8'], '203.0.113.9'],
    ['192.0.2.1', ['10.0.0.0/8'], '192.0.2.1'],
    [undefined, 2, ''],
  ])('%s behind the proxies %j: %s', (remoteAddress, proxies, expected) => {
    expect(from(remoteAddress, proxies)).toBe(expected);
  });
});
