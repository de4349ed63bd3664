import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';
import ipaddr from 'ipaddr.js';

/** Whether a proxy is trusted, given its address and the number of proxies between it and the gateway. */
export type TrustProxy = (address: string, hop: number) => boolean;

/** The trusted proxies: none, a number of hops, or those in these networks. */
export type TrustedProxies = number | readonly string[];

/**
 * Makes the rule that decides which entries of `X-Forwarded-For` are trusted.
 *
 * @param proxies - number of proxies in front of the gateway, or their addresses and networks (`10.0.0.0/8`, `loopback`)
 * @throws TypeError naming the entry that is not an address
 */
export function trustedProxies(proxies: TrustedProxies): TrustProxy {
  return typeof proxies === 'number' ? (_address, hop) => hop < proxies : proxyAddr.compile([...proxies]);
}

/** The address of a client according to the trusted proxies. */
export function clientAddress(request: IncomingMessage, trust: TrustProxy): string {
  return request.socket.remoteAddress === undefined ? '' : proxyAddr(request, trust);
}

/**
 * The address by which limits count: one IPv4 address, or the /64 network of an IPv6 address, because a client that has
 * one of its addresses has all of them.
 *
 * @param address - as text; text that is not an address is a group of its own
 */
export function addressGroup(address: string): string {
  if (!ipaddr.isValid(address)) {
    return address;
  }
  const parsed = ipaddr.process(address);
  if (!(parsed instanceof ipaddr.IPv6)) {
    return parsed.toString();
  }
  return `${parsed.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
