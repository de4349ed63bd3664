import ipaddr from 'ipaddr.js';
import { quoted } from '../../fhir/outcome/outcome.ts';

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, networks: readonly string[]): boolean {
  return networks.some((network) => {
    const [range, length] = ipaddr.parseCIDR(network);
    return address.kind() === range.kind() && address.match(range, length);
  });
}

/** The kind of an address: `public` ones need TLS, addresses in an allowed network do not. */
type Reach = 'public' | 'allowed' | 'forbidden';

/** The publicly routed part of IPv6; the rest is reserved or local. */
const GLOBAL_UNICAST = ['2000::/3'];

/**
 * Whether an address is public and does not represent another one. The library knows the ranges for special purposes:
 * protocol assignments (Teredo among them), 6to4, documentation. Some of them carry an IPv4 address, which a relay
 * would reach even if it is private.
 * @see https://www.iana.org/assignments/iana-ipv6-special-registry
 */
function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') {
    return false;
  }
  return address.kind() === 'ipv4' || isWithin(address, GLOBAL_UNICAST);
}

/** An IPv6 address without IPv4 notation, which ipaddr.js always takes for a mapped address. */
function withoutDots(address: string): string {
  const url = `http://[${address}]/`;
  return address.includes(':') && URL.canParse(url) ? hostOf(new URL(url)) : address;
}

/**
 * Whether notifications may be sent to an IP address. Only public unicast addresses count as public. Private, loopback,
 * link-local, unique-local, multicast and reserved ones do not, nor do IPv6 addresses that carry an IPv4 address
 * (IPv4-compatible, NAT64, 6to4, Teredo), unless the installation allows their network (CIDR). An IPv4 address mapped
 * into IPv6 counts as the IPv4 address.
 */
export function reachOf(address: string, allowed: readonly string[]): Reach {
  const plain = withoutDots(address);
  if (!ipaddr.isValid(plain)) {
    return 'forbidden';
  }
  const parsed = ipaddr.process(plain);
  if (isWithin(parsed, allowed)) {
    return 'allowed';
  }
  return isPublic(parsed) ? 'public' : 'forbidden';
}

/** The host of a URL for name resolution: an IPv6 address without brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/**
 * The addresses of a name in the text of a hosts file; for `localhost` always the loopback addresses.
 * @see https://www.rfc-editor.org/rfc/rfc6761#section-6.3
 */
export function addressesInHosts(hosts: string, host: string): string[] {
  const name = host.toLowerCase().replace(/\.$/, '');
  if (name === 'localhost' || name.endsWith('.localhost')) {
    return ['127.0.0.1', '::1'];
  }
  return hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    return ipaddr.isValid(address) && names.some((one) => one.toLowerCase() === name) ? [address] : [];
  });
}

const MAX_ENDPOINT_LENGTH = 2_000;

/** Checks the address of an endpoint without resolving its name; returns the URL or the reason of a refusal. */
export function parseEndpoint(endpoint: string): URL | string {
  if (endpoint.length > MAX_ENDPOINT_LENGTH) {
    return `The endpoint can have at most ${MAX_ENDPOINT_LENGTH} characters.`;
  }
  if (!URL.canParse(endpoint)) {
    return `The endpoint must be an absolute URL, not ${quoted(endpoint)}.`;
  }
  const url = new URL(endpoint);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return `The endpoint must be an https URL, not ${url.protocol}.`;
  }
  return url.username || url.password ? 'The endpoint must not contain a user or password; use channel.header.' : url;
}

/** Checks an endpoint by its resolved addresses, all of which must be allowed; returns the reason of a refusal. */
export function endpointProblem(
  url: URL,
  addresses: readonly string[],
  allowed: readonly string[],
): string | undefined {
  const reaches = addresses.map((address) => reachOf(address, allowed));
  if (reaches.includes('forbidden')) {
    return `${url.hostname} is in a network to which no notifications are sent.`;
  }
  const isPlain = url.protocol === 'http:';
  return isPlain && !(reaches.length > 0 && reaches.every((reach) => reach === 'allowed'))
    ? 'The endpoint must be an https URL.'
    : undefined;
}
