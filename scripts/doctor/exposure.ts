import { lookup } from 'node:dns/promises';
import { z } from 'zod';
import { parseJson } from '../../core/fhir/json.ts';
import { hostOf, reachOf } from '../../core/notifications/subscription/endpoint-policy.ts';
import { type Check, check, type Installation, ok, type Verdict, warning } from './check.ts';
import { givesSealedTokens, readCredentials } from './credentials.ts';

/** A host by which Medplum is called or calls itself, and the IP addresses that its name has here. */
interface MedplumHost {
  readonly host: string;
  readonly addresses: readonly string[];
}

/**
 * Portals need to reach the gateway alone: Medplum follows chained searches without regard to what the caller may read, and
 * no AccessPolicy can keep it from that. A public address is not yet an error: a firewall may protect it, and sealed
 * credentials are useless there.
 */
export function assessExposure(hosts: readonly MedplumHost[]): Verdict {
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

/** The issuer that Medplum writes into its tokens, if it says so. */
async function readIssuer({ requestAnonymously }: Installation): Promise<string | undefined> {
  const { text } = await requestAnonymously('.well-known/openid-configuration');
  return discoverySchema.safeParse(parseJson(text)).data?.issuer;
}

/** Who issues the tokens that portals read. */
interface TokenIssuer {
  /** The issuer that Medplum writes into its tokens, if it says so. */
  readonly issuer: string | undefined;
  /** Whether portals log in with sealed credentials, and so get the gateway's tokens only. */
  readonly isSealed: boolean;
}

/**
 * Portals read the issuer in every token: it must be the gateway's address, which the discovery documents name as well.
 * Where credentials are sealed, portals never see Medplum's tokens.
 */
export function assessIssuer(
  { issuer, isSealed }: TokenIssuer,
  { config: { baseUrl } }: { config: { readonly baseUrl: string } },
): Verdict {
  const wanted = `${new URL(baseUrl).origin}/`;
  if (isSealed) {
    return ok(`${wanted}: portals get the tokens of the gateway`);
  }
  if (issuer === wanted) {
    return ok(issuer);
  }
  return warning(
    issuer === undefined
      ? 'Medplum does not state the issuer of its tokens'
      : `portals can read the address ${issuer} in their tokens`,
    `Set issuer in Medplum's configuration to ${wanted} (MEDPLUM_ISSUER): docs/operators.md, At the edge.`,
  );
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

async function readTokenIssuer(installation: Installation): Promise<TokenIssuer> {
  const [issuer, credentials] = await Promise.all([readIssuer(installation), readCredentials(installation)]);
  return { issuer, isSealed: givesSealedTokens(credentials) };
}

/** Who else can reach Medplum, and what it reveals about itself. */
export const exposureChecks: readonly Check[] = [
  check("Medplum's address", readHosts, assessExposure),
  check('issuer of tokens', readTokenIssuer, assessIssuer),
];
