import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import {
  addressesInHosts,
  endpointProblem,
  hostOf,
  parseEndpoint,
  reachOf,
} from '../../../../core/notifications/subscription/endpoint-policy.ts';

const loopback = ['127.0.0.0/8', '::1/128'];

describe('an IP address', () => {
  const forbidden = `
    10.0.0.1 172.16.0.1 172.31.255.255 192.168.0.1 127.0.0.1 127.255.255.254 0.0.0.0 169.254.169.254
    100.64.0.1 192.0.2.1 198.18.0.1 224.0.0.1 255.255.255.255 :: ::1 fe80::1 fc00::1 fdff::1 ff02::1
    ::ffff:10.0.0.1 ::ffff:7f00:1 64:ff9b::7f00:1 2002:7f00:1::1 2001:db8::1 ::8.8.8.8 ::808:808
    ::ffff:0:8.8.8.8 64:ff9b::8.8.8.8 64:ff9b:1::8.8.8.8 2002:808:808::1 2001:0:808:808::1 2001:20::1
    2001:100::1 2001:1ff:ffff::1 2001:2::1 2001:db8:ffff::1 2002::1 3fff:fff::1 3fff::1 100::1 fec0::1
    5f00::1 4000::1`;
  test.each(['', 'not an address', ...forbidden.trim().split(/\s+/)])('%s is forbidden', (address) => {
    expect(reachOf(address, [])).toBe('forbidden');
  });

  test.each(['93.184.216.34', '8.8.8.8', '2606:2800:220:1::1', '::ffff:8.8.8.8'])('%s is public', (address) => {
    expect(reachOf(address, [])).toBe('public');
  });

  test('of a private network is forbidden however it is written', () => {
    const octet = fc.nat(255);
    void fc.assert(
      fc.property(octet, octet, octet, (b, c, d) => {
        const number = 10 * 2 ** 24 + b * 2 ** 16 + c * 2 ** 8 + d;
        const spellings = [
          `10.${b}.${c}.${d}`,
          String(number),
          `0x${number.toString(16)}`,
          `[::ffff:10.${b}.${c}.${d}]`,
        ];
        const hosts = spellings.map((one) => hostOf(new URL(`https://${one}/`)));
        expect(hosts.map((host) => reachOf(host, loopback))).toEqual([
          'forbidden',
          'forbidden',
          'forbidden',
          'forbidden',
        ]);
      }),
    );
  });
});

describe('an endpoint', () => {
  const https = new URL('https://portal.example.org/');
  const http = new URL('http://portal.example.org/');
  test.each<[string, URL, string[], string[], boolean]>([
    ['https to a public address', https, ['8.8.8.8'], [], true],
    ['http to a public address', http, ['8.8.8.8'], loopback, false],
    ['http to an allowed address', http, ['127.0.0.1', '::1'], loopback, true],
    ['http to an allowed and a public address', http, ['127.0.0.1', '8.8.8.8'], loopback, false],
    ['https to a public and a private address', https, ['8.8.8.8', '10.0.0.1'], loopback, false],
    ['https to a name that leads nowhere', https, [], [], true],
    ['http to a name that leads nowhere', http, [], loopback, false],
  ])('%s', (_, url, addresses, allowed, isGood) => {
    expect(endpointProblem(url, addresses, allowed) === undefined).toBe(isGood);
  });

  test.each(['ftp://a.example/', 'Bot/1', 'https://', 'https://user:pass@a.example/', 'javascript:alert(1)'])(
    '%s: none',
    (text) => {
      expect(typeof parseEndpoint(text)).toBe('string');
    },
  );
});

const hosts = `127.0.0.1 localhost
# 10.0.0.1 portal.example
10.0.0.2\tportal.example Portal # the portal
fd00::2 portal.example
nonsense portal.example
  10.0.0.3   spaced.example  \t other  #x
`;

test.each<[string, string[]]>([
  ['portal.example', ['10.0.0.2', 'fd00::2']],
  ['PORTAL', ['10.0.0.2']],
  ['portal.example.', ['10.0.0.2', 'fd00::2']],
  ['localhost', ['127.0.0.1', '::1']],
  ['a.localhost', ['127.0.0.1', '::1']],
  ['spaced.example', ['10.0.0.3']],
  ['other', ['10.0.0.3']],
  ['x', []],
  ['', []],
  ['other.example', []],
  ['#', []],
])('the hosts file gives the addresses of %s', (name, addresses) => {
  expect(addressesInHosts(hosts, name)).toEqual(addresses);
});
