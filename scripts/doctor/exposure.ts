import { lookup } from 'node:dns/promises';
import { z } from 'zod';
import { parseJson } from '../../core/fhir/resource.ts';
import { hostOf, reachOf } from '../../core/notifications/subscription/endpoint-policy.ts';
import { type Check, check, type DoctorResult, type Installation, ok, warning } from './check.ts';

interface MedplumHost {
  readonly host: string;
  readonly addresses: readonly string[];
}

/**
 * Only the gateway should be reachable for portals: Medplum ignores the caller's rights in chained searches, and no
 * AccessPolicy can prevent that. A public address is not yet an error: a firewall may protect it, and sealed
 * credentials are rejected there.
 */
export function assessExposure(hosts: readonly MedplumHost[]): DoctorResult {
  const exposed = hosts.filter(({ addresses }) => addresses.some((address) => reachOf(address, []) === 'public'));
  const names = (list: readonly MedplumHost[]): string => list.map(({ host }) => host).join(', ');
  return exposed.length === 0
    ? ok(`Medplum has no public address (${names(hosts)})`)
    : warning(
        `Medplum has a public address (${names(exposed)})`,
        'Allow access from the gateways and the staff only: portals whose credentials are not sealed could find out data of others there. See docs/operators.md, At the edge.',
      );
}

const discoverySchema = z.object({ issuer: z.url() });

async function readIssuer({ requestAnonymously }: Installation): Promise<string | undefined> {
  const { text } = await requestAnonymously('.well-known/openid-configuration');
  return discoverySchema.safeParse(parseJson(text)).data?.issuer;
}

async function readHosts(installation: Installation): Promise<readonly MedplumHost[]> {
  const { credentials } = installation;
  const issuer = await readIssuer(installation);
  const urls = [credentials.baseUrl, ...(issuer ? [issuer] : [])];
  const hosts = [...new Set(urls.map((url) => hostOf(new URL(url))))];
  return Promise.all(
    hosts.map(async (host) => {
      const found = await lookup(host, { all: true }).catch(() => []);
      return { host, addresses: found.map(({ address }) => address) };
    }),
  );
}

export const exposureChecks: readonly Check[] = [check("Medplum's address", readHosts, assessExposure)];
