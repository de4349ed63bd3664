import type { IncomingMessage } from 'node:http';
import proxyAddr from '@fastify/proxy-addr';

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
