import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { endpointProblem, hostOf } from '../../../core/notifications/subscription/endpoint-policy.ts';
import { config } from '../config.ts';

/** Where a name leads to: its addresses, or why notifications are not sent there. */
export type Destination =
  | { readonly addresses: readonly { readonly address: string; readonly family: number }[] }
  | { readonly problem: string; readonly isUnknown: boolean };

/** Resolves the host of an endpoint and checks every address that it has. */
export async function resolveEndpoint(url: URL): Promise<Destination> {
  const host = hostOf(url);
  const family = isIP(host);
  const addresses =
    family > 0 ? [{ address: host, family }] : await lookup(host, { all: true, verbatim: true }).catch(() => []);
  const all = addresses.map(({ address }) => address);
  const problem = endpointProblem(url, all, config.notifications.allowedNetworks);
  if (problem) {
    return { problem, isUnknown: false };
  }
  return all.length > 0 ? { addresses } : { problem: `The name ${url.hostname} is not known.`, isUnknown: true };
}
