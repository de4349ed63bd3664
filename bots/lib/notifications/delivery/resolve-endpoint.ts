import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { clearTimeout, setTimeout } from 'node:timers';
import {
  addressesInHosts,
  endpointProblem,
  hostOf,
} from '../../../../core/notifications/subscription/endpoint-policy.ts';

interface Address {
  readonly address: string;
  readonly family: number;
}

/** The addresses of a host name, or the reason why nothing is sent there. */
type Destination =
  | { readonly addresses: readonly [Address, ...Address[]] }
  | { readonly problem: string; readonly isUnknown: boolean };

/** How long name servers may take, in milliseconds, if the caller allows that much. */
const NAME_LIMIT = 2_000;

const HOSTS_FILE = '/etc/hosts';

/**
 * Asks the name servers for the addresses of a name. `dns.lookup` would take one of the four threads that the whole
 * server has for names, files and ciphers, for as long as no name server answers; this takes only a socket.
 */
async function askNameServers(host: string, limit: number, resolver: Resolver): Promise<string[]> {
  const timer = setTimeout(() => resolver.cancel(), limit);
  const none = (): string[] => [];
  try {
    const found = await Promise.all([resolver.resolve4(host).catch(none), resolver.resolve6(host).catch(none)]);
    return found.flat();
  } finally {
    clearTimeout(timer);
  }
}

async function addressesOf(host: string, limit: number, resolver: Resolver): Promise<string[]> {
  if (isIP(host) > 0) {
    return [host];
  }
  const known = addressesInHosts(await readFile(HOSTS_FILE, 'utf8').catch(() => ''), host);
  return known.length > 0 ? known : askNameServers(host, limit, resolver);
}

/**
 * Resolves the host of an endpoint and checks every address that it has.
 * @param limit - milliseconds that this may take
 * @param allowed - networks of the installation, CIDR
 * @param resolver - asks the name servers; by default those of the system
 */
export async function resolveEndpoint(
  url: URL,
  limit: number,
  allowed: readonly string[],
  resolver = new Resolver(),
): Promise<Destination> {
  const addresses = await addressesOf(hostOf(url), Math.min(limit, NAME_LIMIT), resolver);
  const problem = endpointProblem(url, addresses, allowed);
  if (problem) {
    return { problem, isUnknown: false };
  }
  const [first, ...others] = addresses.map((address) => ({ address, family: isIP(address) }));
  return first
    ? { addresses: [first, ...others] }
    : { problem: `The name ${url.hostname} cannot be resolved, or no name server answered in time.`, isUnknown: true };
}
