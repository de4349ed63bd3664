/**
 * The installation that the contract tests speak to. By default it is the embedded one, started by
 * `test/contract/start.ts`; for another, set BOOKING_BASE_URL, MEDPLUM_BASE_URL, CREDENTIALS_KEY (unless its portals have
 * the credentials of Medplum), and for each of PORTAL_A, PORTAL_B, FRONT_DESK and ADMIN `…_CLIENT_ID` and
 * `…_CLIENT_SECRET`, those of portals as they were handed out; or a `…_TOKEN`, and for portals `…_MEDPLUM_TOKEN`, which
 * is the one inside. BOOKING_GATEWAYS may list the FHIR base addresses of several gateways of the installation, separated
 * by commas: requests are spread among them.
 */
import { type CredentialKeys, parseCredentialKeys } from '../../gateway/sealing/credential-keys.ts';
import { isSealedSecret, openSecret } from '../../gateway/sealing/sealed-secret.ts';
import { loadConfig } from '../../scripts/cli/load-config.ts';

/** Who speaks: two requestors, the clinic's staff, the project's administrator, or nobody. */
export type Role = 'portal-a' | 'portal-b' | 'front-desk' | 'admin' | 'nobody';

function required(name: string): string {
  const value = process.env[name];
  if (!value) {
    throw new Error(`Set ${name}: the contract tests need to know which installation to speak to.`);
  }
  return value;
}

/** Public FHIR base address of the service, without a slash at its end. */
export const base = required('BOOKING_BASE_URL');

const gateways = process.env.BOOKING_GATEWAYS?.split(',') ?? [base];
let turn = 0;

/** The FHIR base address to send the next request to. */
export const nextGateway = (): string => gateways[turn++ % gateways.length] ?? base;

/** FHIR base address of the Medplum server behind it, without a slash at its end. */
export const medplumBase = `${required('MEDPLUM_BASE_URL').replace(/\/$/, '')}/fhir/R4`;

/** The configuration of the installation, for its URIs. */
export const config = { ...loadConfig(), baseUrl: base };

/** The keys that credentials of portals are sealed with; `undefined` where they are those of Medplum. */
export const keys: CredentialKeys | undefined = process.env.CREDENTIALS_KEY
  ? parseCredentialKeys(process.env.CREDENTIALS_KEY)
  : undefined;

/** Where a token is good: at the service, or at the Medplum server behind it. */
export type Door = 'service' | 'medplum';

/** The token endpoints. */
export const tokenEndpoints: Readonly<Record<Door, string>> = {
  service: new URL('/oauth2/token', base).href,
  medplum: `${required('MEDPLUM_BASE_URL').replace(/\/$/, '')}/oauth2/token`,
};

/** Logs a client in, with the secret that is good at that door. */
export async function logIn(door: Door, id: string, secret: string): Promise<string> {
  const form = { grant_type: 'client_credentials', client_id: id, client_secret: secret };
  const response = await fetch(tokenEndpoints[door], { method: 'POST', body: new URLSearchParams(form) });
  const text = await response.text();
  const { access_token: token }: { access_token?: string } = response.ok ? JSON.parse(text) : {};
  if (!token) {
    throw new Error(`${tokenEndpoints[door]} gave no token to ${id} (${response.status}): ${text.slice(0, 300)}`);
  }
  return token;
}

const prefixOf = (role: Role): string => role.toUpperCase().replace('-', '_');

const isPortal = (role: Role): boolean => role.startsWith('portal');

async function tokenFor(role: Role, door: Door): Promise<string> {
  const prefix = prefixOf(role);
  const given = process.env[`${prefix}${isPortal(role) && door === 'medplum' ? '_MEDPLUM' : ''}_TOKEN`];
  if (given) {
    return given;
  }
  const [id, secret] = [required(`${prefix}_CLIENT_ID`), required(`${prefix}_CLIENT_SECRET`)];
  if (!isSealedSecret(secret)) {
    return logIn('medplum', id, secret);
  }
  return door === 'service' ? logIn(door, id, secret) : logIn(door, id, (keys && openSecret(keys, id, secret)) ?? '');
}

const tokens = new Map<string, Promise<string>>();

/** The bearer token of a role. */
export function tokenOf(role: Exclude<Role, 'nobody'>, door: Door = 'service'): Promise<string> {
  const token = tokens.get(`${role} ${door}`) ?? tokenFor(role, door);
  tokens.set(`${role} ${door}`, token);
  return token;
}

/** Lets other bearer tokens stand for a role, in this file of tests. */
export function takeRole(role: Role, taken: Readonly<Record<Door, string>>): void {
  tokens.set(`${role} service`, Promise.resolve(taken.service));
  tokens.set(`${role} medplum`, Promise.resolve(taken.medplum));
}
