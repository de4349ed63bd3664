/**
 * The installation that the contract tests speak to. By default it is the embedded one, started by
 * `test/contract/start.ts`; for another, set BOOKING_BASE_URL, MEDPLUM_BASE_URL, and for each of PORTAL_A, PORTAL_B,
 * FRONT_DESK and ADMIN either a `…_TOKEN` or `…_CLIENT_ID` and `…_CLIENT_SECRET`. BOOKING_GATEWAYS may list the FHIR base
 * addresses of several gateways of the installation, separated by commas: requests are spread among them.
 */
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

const tokens = new Map<Role, Promise<string>>();

async function login(prefix: string): Promise<string> {
  const response = await fetch(`${required('MEDPLUM_BASE_URL').replace(/\/$/, '')}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: required(`${prefix}_CLIENT_ID`),
      client_secret: required(`${prefix}_CLIENT_SECRET`),
    }),
  });
  const { access_token: token } = (await response.json()) as { access_token?: string };
  return token ?? '';
}

/** The bearer token of a role. */
export function tokenOf(role: Exclude<Role, 'nobody'>): Promise<string> {
  const prefix = role.toUpperCase().replace('-', '_');
  const given = process.env[`${prefix}_TOKEN`];
  const token = tokens.get(role) ?? (given ? Promise.resolve(given) : login(prefix));
  tokens.set(role, token);
  return token;
}

/** Lets another bearer token stand for a role, in this file of tests. */
export function takeRole(role: Role, token: string): void {
  tokens.set(role, Promise.resolve(token));
}
