import { expect, test } from '@jest/globals';
import { addressesInHosts } from '../../../../core/notifications/subscription/endpoint-policy.ts';

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
])('%s', (name, addresses) => {
  expect(addressesInHosts(hosts, name)).toEqual(addresses);
});
