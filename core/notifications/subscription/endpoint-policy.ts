import ipaddr from 'ipaddr.js';

/** Whether an address lies in one of the networks (CIDR). */
function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, networks: readonly string[]): boolean {
  return networks.some((network) => {
    const [range, length] = ipaddr.parseCIDR(network);
    return address.kind() === range.kind() && address.match(range, length);
  });
}

/** What notifications may do at an address: `public` ones take TLS, in an allowed network it can do without. */
export type Reach = 'public' | 'allowed' | 'forbidden';

/**
 * Whether notifications may be sent to an IP address. Only plain public unicast addresses are; private, loopback,
 * link-local, unique-local, multicast, reserved ones, and those by which IPv6 wraps others, are not, unless the
 * installation allows their network. An IPv4 address that is mapped into IPv6 counts as what it is.
 *
 * @param address - IPv4 or IPv6, as name resolution gives it
 * @param allowed - networks of the installation, CIDR
 */
export function reachOf(address: string, allowed: readonly string[]): Reach {
  if (!ipaddr.isValid(address)) {
    return 'forbidden';
  }
  const parsed = ipaddr.process(address);
  if (isWithin(parsed, allowed)) {
    return 'allowed';
  }
  return parsed.range() === 'unicast' ? 'public' : 'forbidden';
}

/** The host of a URL as name resolution takes it: an IPv6 address without its brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/**
 * Reads the address of an endpoint as far as it can be judged without resolving its name.
 *
 * @returns the URL, or a sentence that says why notifications are not sent there
 */
export function parseEndpoint(endpoint: string): URL | string {
  if (!URL.canParse(endpoint)) {
    return `'${endpoint}' is no absolute URL.`;
  }
  const url = new URL(endpoint);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') {
    return `The endpoint must be an https URL, not ${url.protocol}.`;
  }
  return url.username || url.password ? 'The endpoint must not carry a user or password; use channel.header.' : url;
}

/**
 * Why an endpoint may not be used, given the addresses that its name leads to: all of them must be allowed.
 *
 * @param addresses - of the host; empty if it has none
 * @returns a sentence, or `undefined` if it may be used
 */
export function endpointProblem(
  url: URL,
  addresses: readonly string[],
  allowed: readonly string[],
): string | undefined {
  const reaches = addresses.map((address) => reachOf(address, allowed));
  if (reaches.includes('forbidden')) {
    return `${url.hostname} leads into a network that notifications are not sent to.`;
  }
  const isPlain = url.protocol === 'http:';
  return isPlain && !(reaches.length > 0 && reaches.every((reach) => reach === 'allowed'))
    ? 'The endpoint must be an https URL.'
    : undefined;
}
