import { lookup } from 'node:dns/promises';
import { z } from 'zod';
import { hostOf, reachOf } from '../../core/notifications/subscription/endpoint-policy.ts';
import { parseJson } from '../medplum/http.ts';
import { type Check, check, type Installation, ok, type Verdict, warning } from './check.ts';

/** A host by which Medplum is called or calls itself, and the IP addresses that its name has here. */
export interface MedplumHost {
  readonly host: string;
  readonly addresses: readonly string[];
}

/**
 * Portals must reach the gateway alone: Medplum follows chained searches without regard to what the caller may read, and
 * no AccessPolicy can keep it from that. A public address is not yet a fault, as a firewall may stand before it.
 */
export function judgeExposure(hosts: readonly MedplumHost[]): Verdict {
  const exposed = hosts.filter(({ addresses }) => addresses.some((address) => reachOf(address, []) === 'public'));
  const names = (list: readonly MedplumHost[]): string => list.map(({ host }) => host).join(', ');
  return exposed.length === 0
    ? ok(`Medplum has no public address (${names(hosts)})`)
    : warning(
        `Medplum has a public address (${names(exposed)})`,
        'Let only the gateways and the staff reach it; portals could ask there for what they may not read: docs/operators.md, At the edge.',
      );
}

const discoverySchema = z.object({ issuer: z.url() });

async function readHosts({ credentials, requestAnonymously }: Installation): Promise<readonly MedplumHost[]> {
  const { text } = await requestAnonymously('.well-known/openid-configuration');
  const issuer = discoverySchema.safeParse(parseJson(text)).data?.issuer;
  const urls = [credentials.baseUrl, ...(issuer ? [issuer] : [])];
  const hosts = [...new Set(urls.map((url) => hostOf(new URL(url))))];
  return Promise.all(
    hosts.map(async (host) => {
      const found = await lookup(host, { all: true }).catch(() => []);
      return { host, addresses: found.map(({ address }) => address) };
    }),
  );
}

/** Who else reaches Medplum. */
export const exposureChecks: readonly Check[] = [check("Medplum's address", readHosts, judgeExposure)];
