import ipaddr from 'ipaddr.js';

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
