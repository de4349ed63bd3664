import ipaddr from 'ipaddr.js';

/** Addresses that limits count together. */
export interface AddressGroup {
  readonly name: string;
  /** Quota in multiples of the quota of one client. */
  readonly times: number;
}

/** Quota of a /48 in multiples of a /64: it has 65,536 of them, and costs no more. */
export const PER_NETWORK = 8;

/**
 * The groups by which limits count an address, the smallest first: an IPv4 address; the /64 network of an IPv6 address,
 * because a client with one of its addresses has all of them; the /48, which one client can have, too. A text that is
 * not an address is a group of its own.
 */
export function addressGroups(address: string): readonly [AddressGroup, ...AddressGroup[]] {
  const parsed = ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
  if (!(parsed instanceof ipaddr.IPv6)) {
    return [{ name: parsed?.toString() ?? address, times: 1 }];
  }
  const network = (bits: number): string =>
    `${parsed.parts
      .slice(0, bits / 16)
      .map((part) => part.toString(16))
      .join(':')}::/${bits}`;
  return [
    { name: network(64), times: 1 },
    { name: network(48), times: PER_NETWORK },
  ];
}

/** The name of the smallest group of an address. */
export const addressGroup = (address: string): string => addressGroups(address)[0].name;

/** The name of the largest group of an address. */
export const addressNetwork = (address: string): string => addressGroups(address).at(-1)?.name ?? address;
